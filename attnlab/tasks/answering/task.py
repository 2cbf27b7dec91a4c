"""Extractive question answering: find the words of a text that answer a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.encoders.opening import open_source, require_known
from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora.corpus import Asked, Corpus, divided
from attnlab.tasks.answering.data import AskedPart, AskedTexts
from attnlab.tasks.answering.encoding import Cut, cut_question, cut_text, make_rows
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.spans import PredictedAnswer, Span, best_spans
from attnlab.tasks.base import Report, require_part
from attnlab.tasks.declaration import Kind, Progress
from attnlab.tasks.models import build_model
from attnlab.tasks.text_corpus import digest_of
from attnlab.tasks.text_task import TextTask
from attnlab.text.tokenizers import PAD, UNKNOWN

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.answering.models.reader import Reader

_TOGETHER = 256  # batch size of predictions


class Answer(TextTask):
    """Find the answers to a corpus's questions in their texts.

    Attributes:
        monitor: the validation metric that selects the best epoch, and its direction.
        data: the tokenized corpus, set by `load`.
        nullable: whether the corpus has questions without an answer, so that a model may give none.

    The settings are those of conf/task/answer.yaml; `cache` is the folder of downloads.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "answer"
    monitor: ClassVar[tuple[str, str]] = ("val_f1", "max")
    data: AskedTexts
    question_places: int  # Q, END included
    text_places: int  # P
    nullable: bool

    _file = "reading.json"

    def __init__(
        self,
        *,
        corpus: Corpus,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 20_000,
        min_count: int = 1,
        lowercase: bool = True,
        max_question: int = 64,
        max_length: int = 384,
        stride: int = 128,
        max_answer: int = 30,
        null_threshold: float = 0.0,
        encoder: str | None = None,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.max_answer, self.null_threshold = max_answer, null_threshold
        self.encoder = encoder
        self.text = {
            "tokenizer": tokenizer,
            "vocabulary": vocabulary,
            "min_count": min_count,
            "lowercase": lowercase,
            "max_question": max_question,
            "max_length": max_length,
            "stride": stride,
        }

    def load(self, seed: int = 0, progress: Progress | None = None) -> AskedTexts:
        """Find the corpus, split it by the seed, and tokenize its questions and texts.

        Raises:
            RequestError: the corpus is missing, damaged or too small.
        """
        self.corpus.open(self.cache, progress)
        parts = divided(self.corpus, seed, ignore_case=self.ignores_case(seed))
        train = parts["train"]
        known = [*(each.question for each in train), *dict.fromkeys(each.text for each in train)]
        self.find_tokenizer(known, seed)
        asked = [each for part in parts.values() for each in part]
        questions = [cut_question(self.tokenizer, each.question) for each in asked]
        texts = self._cut_texts(asked, progress)
        if self.source:
            require_known([text.tokens for text in texts.values()], self.source)
        self.question_places = 1 + min(max(map(len, questions)), self.text["max_question"])
        longest = max(len(text.tokens) for text in texts.values())
        self.text_places = min(longest, self.text["max_length"], self._most_text())
        decisive = [self.corpus.digest(), self.text, seed]
        if self.source:
            decisive += [self.tokenizer.vocabulary, self.text_places]
        cut = iter(questions)
        made = {name: self._part(part, cut, texts) for name, part in parts.items()}
        most = min(self.max_answer, self.text_places)
        self.data = AskedTexts(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of(decisive),
            parts=made,
            cut=sum(len(each) >= self.question_places for each in questions),
            said=self.corpus.notes,
            left_out=self.corpus.left_out,
            inexpressible={name: part.inexpressible(most) for name, part in made.items()},
        )
        self.nullable = self.data.nullable
        return self.data

    def _most_text(self) -> int:
        """Return the most tokens of a text that fit into the encoder with the longest question."""
        if not self.source or not self.source.most:
            return self.text["max_length"]
        most = self.source.most - self.question_places - 2  # START and the last END
        if most < 2:
            raise RequestError(
                f"task.max_question: expected at most {self.source.most - 5}, which leaves room "
                f"for a text in the {self.source.most} places of {self.source.path}, got "
                f"{self.text['max_question']}."
            )
        return most

    def _cut_texts(self, asked: Sequence[Asked], progress: Progress | None) -> dict[str, Cut]:
        """Tokenize each text once, since several questions are about it."""
        texts = dict.fromkeys(each.text for each in asked)
        found = {}
        for done, text in enumerate(texts):
            found[text] = cut_text(self.tokenizer, text)
            if progress and done % _TOGETHER == 0:
                progress(done, len(texts), "texts in tokens")
        return found

    def _part(
        self, asked: Sequence[Asked], questions: Iterator[list[int]], texts: Mapping[str, Cut]
    ) -> AskedPart:
        own = [texts[each.text] for each in asked]
        places = [
            text.holding(each.answers[0].start, each.answers[0].end) if each.answers else None
            for each, text in zip(asked, own, strict=True)
        ]
        tokens = [next(questions) for _ in asked]
        return AskedPart(asked, own, self._rows(tokens, own, places))

    def _rows(self, questions: Any, texts: Any, answers: Any) -> Any:
        return make_rows(questions, texts, answers, stride=self.text["stride"], **self._places)

    @property
    def _places(self) -> dict[str, int]:
        return {"question_places": self.question_places, "text_places": self.text_places}

    def build(self, attention: Callable[..., Attention], model: Option) -> Reader:
        """Build the reader with random weights: rows (B, 1 + Q + P) to logits (B, 2, 1 + P).

        Raises:
            RequestError: there is no such model for this task, or its parts don't fit.
        """
        given = {"vocabulary": self.tokenizer.size, "source": self.source}
        return self.begun(self._build(attention, model, **given, **self._places))

    def check(self, attention: Callable[..., Attention], model: Option) -> None:
        """Raise the errors of `build` that don't depend on the corpus."""
        source = open_source(self.encoder) if self.encoder else None
        sizes = {"vocabulary": 8, "question_places": 3, "text_places": 5}
        self._build(attention, model, **sizes, source=source)

    def _build(self, attention: Callable[..., Attention], model: Option, **sizes: Any) -> Reader:
        shape = (None, 1 + sizes["question_places"] + sizes["text_places"])
        classes = self.kind.models.classes
        return build_model(classes, model.name, model.settings, attention, shape, **sizes)

    @staticmethod
    def loss(target: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Return the mean of the cross entropies of start and end in nats, (B,).

        Args:
            target: (B, 2) first and last place of the answer.
            logits: (B, 2, 1 + P).
        """
        import tensorflow as tf

        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits), axis=-1
        )

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:
        """Answer the questions of a part, and score the answers and the baselines.

        Raises:
            RequestError: the run has no such part.
        """
        require_part(self.data.parts, part)
        rows = self.data.parts[part].rows
        return self.report(model.predict(rows.tokens, batch_size=_TOGETHER, verbose=0), part)

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        return self.data.parts[part].rows.tokens[:count], None

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the answers of one part, from its logits (W, 2, 1 + P), and the baselines."""
        from attnlab.tasks.answering.report import build_report

        return build_report(self.data, part, self.said(logits, part), self.loss_of(logits, part))

    def loss_of(self, logits: np.ndarray, part: str) -> float:
        """Return the mean loss over the windows of a part."""
        targets = self.data.parts[part].rows.targets
        return float(np.mean(np.asarray(self.loss(targets, logits), np.float64)))

    def said(self, logits: np.ndarray, part: str) -> list[PredictedAnswer]:
        """Return the best answer to each question of a part, from its logits (W, 2, 1 + P)."""
        own = self.data.parts[part]
        lengths = [len(text.tokens) for text in own.texts]
        found = best_spans(logits, own.rows, lengths, **self._finding)
        texts = zip(own.questions, own.texts, found, strict=True)
        return [_said(asked.text, text, spans[0]) for asked, text, spans in texts]

    @property
    def _finding(self) -> dict[str, Any]:
        threshold = self.null_threshold if self.nullable else None
        return {"longest": self.max_answer, "threshold": threshold}

    def answer(
        self, model: keras.Model, question: str, text: str, count: int = 1
    ) -> list[PredictedAnswer]:
        """Return different answers to a question about any text, the best one first.

        Raises:
            RequestError: question or text is empty.
        """
        for name, given in {"question": question, "text": text}.items():
            if not given.strip():
                raise RequestError(f"{name}: expected words, got none.")
        cut = cut_text(self.tokenizer, text)
        rows = self._rows([cut_question(self.tokenizer, question)], [cut], [None])
        logits = model.predict(rows.tokens, batch_size=_TOGETHER, verbose=0)
        # Different spans of tokens can have the same characters: a word may have several tokens.
        most = count
        while True:
            (spans,) = best_spans(logits, rows, [len(cut.tokens)], count=most, **self._finding)
            found: dict[tuple[int | None, int | None], PredictedAnswer] = {}
            for span in spans:
                said = _said(text, cut, span)
                found.setdefault((said.start, said.end), said)
            if len(found) >= count or len(spans) < most:
                return list(found.values())[:count]
            most *= 4

    def looked(self, model: keras.Model, question: str, text: str) -> dict[str, np.ndarray] | None:
        """Return the attention of a text's words on a question; see `examples.looked_at`.

        A text with several windows is represented by the window of the best answer. None if the
        model has no attention. The result has neither `right` nor `index`.
        """
        from attnlab.tasks.answering.examples import looked_at

        asked = [Asked("", question, text, ())]
        part = self._part(
            asked,
            iter([cut_question(self.tokenizer, question)]),
            {text: cut_text(self.tokenizer, text)},
        )
        said = self.answer(model, question, text)
        kept = looked_at(self, part, said, np.array([0]), model.attend)
        if kept is not None:
            del kept["right"], kept["index"]
        return kept

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """Answer N pairs of question and text, (N, 2) or a table of two columns; returns (N,).

        Raises:
            RequestError: the inputs have another form, or a question or text is empty.
        """
        pairs = np.asarray([] if inputs is None else inputs, dtype=object)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise RequestError(
                "inputs: expected pairs of a question and a text, (N, 2), got "
                f"{'none' if inputs is None else pairs.shape}."
            )
        found = [self.answer(model, str(question), str(text))[0] for question, text in pairs]
        return np.array([said.text for said in found], dtype=object)

    def places_read(self, model: keras.Model) -> int:
        """Return the most tokens of a text that `vectors` reads."""
        return self.text_places

    def vectors(self, model: keras.Model, texts: Sequence[str]) -> np.ndarray:
        """Return a vector per text, (N, W): the mean of the encoder's vectors of its tokens.

        The question is empty. If a text is longer than a window, only its beginning is read.
        """
        cuts = [cut_text(self.tokenizer, text) for text in texts]
        cuts = [Cut((cut.tokens or [UNKNOWN])[: self.text_places], []) for cut in cuts]
        rows = self._rows([[] for _ in cuts], cuts, [None] * len(cuts)).tokens
        found = [
            np.asarray(model.text_vectors(rows[start : start + _TOGETHER]))
            for start in range(0, len(rows), _TOGETHER)
        ]
        vectors = np.concatenate(found).astype(np.float64)
        real = (rows[:, 1 + self.question_places :] != PAD)[..., None]
        return (vectors * real).sum(axis=1) / real.sum(axis=1)

    def save(self, folder: Path) -> None:
        """Write the tokenizer, and the settings and sizes of tokenization."""
        self.save_text(folder, **self._places, nullable=self.nullable)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, so that questions can be answered without the corpus.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """

        def sizes(content: Mapping[str, Any]) -> tuple[bool, int, int]:
            places = int(content["question_places"]), int(content["text_places"])
            return bool(content["nullable"]), *places

        self.nullable, self.question_places, self.text_places = self.read_text(folder, sizes)


def _said(text: str, cut: Cut, span: Span) -> PredictedAnswer:
    if span.tokens is None:
        return PredictedAnswer("", None, None, span.probability)
    start, end = cut.spans[span.tokens[0]][0], cut.spans[span.tokens[1]][1]
    return PredictedAnswer(text[start:end], start, end, span.probability)


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an example input of the served MLflow model, a question and a text, and its output."""
    pair = {"question": "Who met the sailor?", "text": "Anna met the sailor at noon."}
    return {"values": [pair], "dtype": "object"}, {"values": ["Anna"], "dtype": "object"}
