"""Extractive question answering: find the words of a text that answer a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.encoders.opening import require_known
from attnlab.errors import RequestError
from attnlab.tasks.answering.corpora import Question, QuestionCorpus, RightAnswer
from attnlab.tasks.answering.data import QuestionPart, cut_question, cut_text, make_part
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.spans import PredictedAnswer, best_answers
from attnlab.tasks.base import Report, TaskData, require_part
from attnlab.tasks.data.corpus import digest_of
from attnlab.tasks.data.division import divide
from attnlab.tasks.kinds import Kind, Progress
from attnlab.tasks.text_task import TextTask
from attnlab.text.cleaning import text_key

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.answering.models import Reader

_TOGETHER = 256  # batch size of predictions


class Answer(TextTask):
    """Find the answers to a corpus's questions in their texts.

    The settings are those of conf/task/answer.yaml; `cache` is the folder of downloads.

    Attributes:
        nullable: whether the corpus has questions without an answer, so that a model may give none.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "answer"
    served = ({"question": "Who met the sailor?", "text": "Anna met the sailor at noon."}, "Anna")
    monitor: ClassVar[tuple[str, str]] = ("val_f1", "max")
    data: TaskData
    question_places: int = 3  # Q, END included; `load` sets it
    text_places: int = 5  # P
    nullable: bool

    _file = "reading.json"

    def __init__(
        self,
        *,
        corpus: QuestionCorpus,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 20_000,
        min_count: int = 1,
        lowercase: bool = True,
        max_question: int = 64,
        max_length: int = 384,
        stride: int = 128,
        max_answer: int = 30,
        encoder: str | None = None,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.max_answer, self.encoder = max_answer, encoder
        self.text = {
            "tokenizer": tokenizer,
            "vocabulary": vocabulary,
            "min_count": min_count,
            "lowercase": lowercase,
            "max_question": max_question,
            "max_length": max_length,
            "stride": stride,
        }

    def load(self, seed: int = 0, progress: Progress | None = None) -> TaskData:
        """Find the corpus, split it by the seed, and tokenize its questions and texts."""
        self.corpus.open(self.cache, progress)
        key = lru_cache(maxsize=1)(partial(text_key, ignore_case=self.ignores_case(seed)))
        corpus_parts = divide(self.corpus, seed, lambda question: key(question.text))
        train = corpus_parts["train"]
        unique = dict.fromkeys(item.text for item in train)
        self.find_tokenizer([*(item.question for item in train), *unique])
        asked = [question for questions in corpus_parts.values() for question in questions]
        unique_texts = dict.fromkeys(question.text for question in asked)
        texts = {text: cut_text(self.tokenizer, text) for text in unique_texts}
        tokens = {item.question: cut_question(self.tokenizer, item.question) for item in asked}
        longest = max(len(text.tokens) for text in texts.values())
        self.question_places = 1 + min(max(map(len, tokens.values())), self.text["max_question"])
        self.text_places = min(longest, self.text["max_length"])
        decisive = [self.corpus.digest(), self.text, seed]
        if self.source:
            require_known([text.tokens for text in texts.values()], self.source)
            most = self.source.max_length  # with START, the last END, and at least half for a text
            self.question_places = min(self.question_places, most // 2)
            self.text_places = min(self.text_places, most - self.question_places - 2)
            decisive += [self.tokenizer.vocabulary, self.text_places]
        notes = [*self.corpus.notes]
        if cut := sum(len(tokens[item.question]) >= self.question_places for item in asked):
            notes.append(f"The end of {cut:,} of the {len(asked):,} questions was cut off.")
        sizes = {**self._sizes, "stride": self.text["stride"]}
        parts = {
            name: make_part(questions, tokens, texts, **sizes)
            for name, questions in corpus_parts.items()
        }
        self.nullable = not all(question.answers for question in asked)
        self.data = TaskData(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=digest_of(decisive),
            longest=1 + self.question_places + self.text_places,
            parts=parts,
            notes=notes,
        )
        return self.data

    @property
    def _sizes(self) -> dict[str, int]:
        return {"question_places": self.question_places, "text_places": self.text_places}

    def build(self, attention: Callable[..., Attention], model: Option) -> Reader:
        """Build the reader: rows (B, 1 + Q + P) to logits (B, 2, 1 + P)."""
        places = 1 + self.question_places + self.text_places
        return self.make_model(attention, model, (None, places), **self._sizes)

    @staticmethod
    def loss(target: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Return the mean of the cross entropies of start and end in nats, (B,).

        `target` (B, 2) has the first and last place of the answer, in logits (B, 2, 1 + P).
        """
        import tensorflow as tf

        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits), axis=-1
        )

    def mean_loss(self, logits: np.ndarray, part: QuestionPart) -> float:
        """Return the mean loss over the windows of a part."""
        return float(np.mean(np.asarray(self.loss(part.rows.targets, logits), np.float64)))

    def evaluate(self, model: keras.Model, part: str = "test") -> Report:  # noqa: D102
        require_part(self.data.parts, part)
        return self.report(self._predict(model, self.data.parts[part]), part)

    @staticmethod
    def _predict(model: keras.Model, part: QuestionPart) -> np.ndarray:
        return model.predict(part.rows.tokens, batch_size=_TOGETHER, verbose=0)

    def report(self, logits: np.ndarray, part: str = "test") -> Report:
        """Score the answers of one part, from its logits (W, 2, 1 + P), and the baselines."""
        from attnlab.tasks.answering.report import build_report

        questions = self.data.parts[part]
        predicted = self.predicted_answers(logits, questions)
        return build_report(self.data, part, predicted, self.mean_loss(logits, questions))

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.data.parts, part)
        return self.data.parts[part].rows.tokens[:count], None

    def predicted_answers(self, logits: np.ndarray, part: QuestionPart) -> list[PredictedAnswer]:
        """Return the best answer to each question, from the logits (W, 2, 1 + P) of its windows."""
        return best_answers(logits, part, longest=self.max_answer, nullable=self.nullable)

    def part_of(self, questions: Sequence[Question]) -> QuestionPart:
        """Return questions about any texts as a part."""
        tokens = {item.question: cut_question(self.tokenizer, item.question) for item in questions}
        texts = {item.text: cut_text(self.tokenizer, item.text) for item in questions}
        return make_part(questions, tokens, texts, stride=self.text["stride"], **self._sizes)

    def answer(self, model: keras.Model, question: str, text: str) -> PredictedAnswer:
        """Return the answer to a question about any text; neither may be empty."""
        for name, words in {"question": question, "text": text}.items():
            if not words.strip():
                raise RequestError(f"{name}: expected words, got none.")
        part = self.part_of([Question("", question, text, ())])
        (answer,) = self.predicted_answers(self._predict(model, part), part)
        return answer

    def attention_on(
        self, model: keras.Model, question: str, text: str
    ) -> dict[str, np.ndarray] | None:
        """Return `attention_on_questions` around the predicted answer."""
        from attnlab.tasks.answering.report import attention_on_questions

        predicted = self.answer(model, question, text)
        places = () if predicted.start is None else (RightAnswer(predicted.start, predicted.text),)
        part = self.part_of([Question("", question, text, places)])
        return attention_on_questions(
            part, [predicted], self.question_places, self.words, model.attention_weights
        )

    def serve(self, model: keras.Model, inputs: Any = None) -> np.ndarray:
        """Answer N pairs of question and text, (N, 2) or a table of two columns; returns (N,)."""
        pairs = np.asarray([] if inputs is None else inputs, dtype=object)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise RequestError(
                "inputs: expected pairs of a question and a text, (N, 2), got "
                f"{'none' if inputs is None else pairs.shape}."
            )
        answers = [self.answer(model, str(question), str(text)).text for question, text in pairs]
        return np.array(answers, dtype=object)

    def save(self, folder: Path) -> None:  # noqa: D102
        self.save_text(folder, **self._sizes, nullable=self.nullable)

    def load_from(self, folder: Path) -> None:  # noqa: D102
        def sizes(content: Mapping[str, Any]) -> tuple[bool, int, int]:
            places = int(content["question_places"]), int(content["text_places"])
            return bool(content["nullable"]), *places

        self.nullable, self.question_places, self.text_places = self.read_text(folder, sizes)
