"""Translation: sentences of one language into another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import Kind, Progress, Report
from attnlab.tasks.translation.corpora.corpus import Corpus
from attnlab.tasks.translation.kind import KIND
from attnlab.tasks.translation.text.prepared import PreparedCorpus, TextSettings, prepare
from attnlab.tasks.translation.text.tokenizers import END, START, Tokenizer

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.translation.sentences import SentenceTranslator

_FILE = "text.json"
_TOKENIZERS = {side: f"{side}_tokenizer.json" for side in ("source", "target")}


@dataclass(frozen=True)
class TranslationData:
    """A corpus as the runner sees it; see `TaskData`."""

    prepared: PreparedCorpus
    name: str
    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the corpus and of how its text was cut."""
        return self.prepared.digest

    def counts(self) -> dict[str, int]:
        """Pairs by part."""
        return {name: len(part.source) for name, part in self.prepared.parts.items()}

    def describe(self) -> dict[str, Any]:
        """What preparing the corpus counted."""
        return self.prepared.statistics


class Translate:
    """Translate a corpus's sentences by an encoder and a decoder.

    Attributes:
        name: `translate`.
        monitor: the validation metric that chooses the best epoch, and its direction.
        source_tokenizer: cuts what is translated.
        target_tokenizer: cuts translations; the same object where the vocabulary is shared.

    Args:
        corpus: the pairs.
        cache: folder of downloads and prepared corpora.
        tokenizer: `word`, `char` or `bpe`.
        vocabulary: most entries of a vocabulary.
        shared_vocabulary: one for both languages.
        min_count: rarer words are unknown.
        lowercase: lower-case everything.
        clean: `none`, or `book` as the seed book cleans its pairs.
        max_length: tokens of a sentence; the end of longer ones is cut off.
        label_smoothing: of the training loss.
        monitor: what chooses the best epoch.
        score_every: epochs between two translations of the validation part.
        score_sentences: how many of its sentences are translated then; None: all.
        beam: hypotheses kept when a part is translated.
        length_penalty: alpha of the beam search.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "translate"

    def __init__(
        self,
        *,
        corpus: Corpus,
        cache: Path,
        tokenizer: str = "word",
        vocabulary: int = 8000,
        shared_vocabulary: bool = False,
        min_count: int = 1,
        lowercase: bool = False,
        clean: str = "none",
        max_length: int = 100,
        label_smoothing: float = 0.1,
        monitor: str = "val_bleu",
        score_every: int = 1,
        score_sentences: int | None = 500,
        beam: int = 1,
        length_penalty: float = 0.6,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.text = TextSettings(
            tokenizer=tokenizer,
            vocabulary=vocabulary,
            shared_vocabulary=shared_vocabulary,
            min_count=min_count,
            lowercase=lowercase,
            clean=clean,
            max_length=max_length,
        )
        self.monitor = (monitor, "min" if monitor == "val_loss" else "max")
        self.label_smoothing = label_smoothing
        self.score_every, self.score_sentences = score_every, score_sentences
        self.beam, self.length_penalty = beam, length_penalty
        self._prepared: PreparedCorpus | None = None
        self._tokenizers: tuple[Tokenizer, Tokenizer] | None = None
        self._longest = (0, 0)

    def load(self, seed: int = 0, progress: Progress | None = None) -> TranslationData:
        """Find the corpus, cut it into tokens (once, cached), and divide it.

        Args:
            seed: decides which pairs are in which part, where the corpus has no own parts.
            progress: told how far it is.

        Raises:
            RequestError: the corpus is missing, damaged or too small.
        """
        self.corpus.open(self.cache, progress)
        self._prepared = prepare(
            self.corpus, self.text, seed=seed, cache=self.cache, progress=progress
        )
        prepared = self._prepared
        self._tokenizers = (prepared.source_tokenizer, prepared.target_tokenizer)
        train = prepared.parts["train"]
        self._longest = (int(train.source.lengths.max()), int(train.target.lengths.max()))
        return TranslationData(prepared, self.corpus.name, self.corpus.origin)

    @property
    def prepared(self) -> PreparedCorpus:
        """The corpus in tokens.

        Raises:
            RuntimeError: `load` was not called.
        """
        if self._prepared is None:
            raise RuntimeError("Translate: call load() first")
        return self._prepared

    @property
    def source_tokenizer(self) -> Tokenizer:  # noqa: D102
        return self._both_tokenizers()[0]

    @property
    def target_tokenizer(self) -> Tokenizer:  # noqa: D102
        return self._both_tokenizers()[1]

    def _both_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        if self._tokenizers is None:
            raise RuntimeError("Translate: call load() or load_from() first")
        return self._tokenizers

    @property
    def longest_source(self) -> int:
        """Tokens of the longest source trained on, END included."""
        return self._longest[0]

    def build(self, attention: Callable[[], Attention], model: Option) -> keras.Model:
        """The translator, its weights drawn; with the corpus at hand it knows how often words are.

        Args:
            attention: makes one mechanism; called for each place that wants one.
            model: `rnn` or `transformer`, and its settings.

        Raises:
            RequestError: there is no such model, or its parts don't fit.
        """
        from attnlab.tasks.translation.models.build import build_translator

        made = build_translator(
            model.name,
            model.settings,
            attention,
            source_size=self.source_tokenizer.size,
            target_size=self.target_tokenizer.size,
            shared=self.text.shared_vocabulary,
            max_source=self._longest[0],
            max_target=self._longest[1],
        )
        if self._prepared is not None:
            counts = self._prepared.parts["train"].target.counts(self.target_tokenizer.size)
            counts[START] = 0  # begins each row and is never written
            made.expect(counts)
        return made

    def translator(
        self, model: keras.Model, *, beam: int | None = None, n_best: int = 1
    ) -> SentenceTranslator:
        """What turns sentences into translations by a model.

        Args:
            model: what `build` gave.
            beam: hypotheses kept; None takes the task's.
            n_best: translations of each sentence.
        """
        from attnlab.tasks.translation.sentences import SentenceTranslator

        return SentenceTranslator(
            model,
            self.source_tokenizer,
            self.target_tokenizer,
            clean=self.text.clean,
            lowercase=self.text.lowercase,
            longest=self.longest_source,
            beam=self.beam if beam is None else beam,
            n_best=n_best,
            length_penalty=self.length_penalty,
        )

    def evaluate(self, model: keras.Model, part: str = "test", beam: int | None = None) -> Report:
        """Translate one part of the corpus and score it beside the baselines.

        Args:
            model: what `build` gave, trained.
            part: its name.
            beam: hypotheses kept; None takes the task's.

        Raises:
            RequestError: the corpus has no such part.
        """
        from attnlab.tasks.translation.report import report

        if part not in self.prepared.parts:
            parts = ", ".join(self.prepared.parts)
            raise RequestError(f"--part: expected one of {parts}, got {part}.")
        return report(self, model, part, self.beam if beam is None else beam)

    def serve(self, model: keras.Model, inputs: Any) -> np.ndarray:
        """Translate sentences: (N,) or a column of N, to (N,)."""
        lines = [str(line) for line in np.asarray(inputs).reshape(-1)]
        translated = self.translator(model).translate(lines)
        return np.array([best[0].text for best in translated], dtype=object)

    def save(self, folder: Path) -> None:
        """Write the tokenizers, and what the lengths and the text's treatment were."""
        for side, tokenizer in zip(_TOKENIZERS, self._both_tokenizers(), strict=True):
            if side == "source" or not self.text.shared_vocabulary:
                tokenizer.save(folder / _TOKENIZERS[side])
        content = {
            "text": asdict(self.text),
            "longest": self._longest,
            "languages": [self.corpus.source_language, self.corpus.target_language],
            "statistics": self.prepared.statistics,
        }
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (folder / _FILE).write_text(text, encoding="utf-8")

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote; then sentences can be translated without the corpus.

        Raises:
            RequestError: a file is missing, damaged, or of other settings.
        """
        path = folder / _FILE
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            saved, longest = content["text"], tuple(map(int, content["longest"]))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{path}: expected what a run saves, but: {error!r}") from error
        if saved != asdict(self.text) or len(longest) != 2:
            raise RequestError(
                f"{path}: expected the text settings {asdict(self.text)}, got {saved}"
            )
        source = Tokenizer.load(folder / _TOKENIZERS["source"])
        shared = self.text.shared_vocabulary
        target = source if shared else Tokenizer.load(folder / _TOKENIZERS["target"])
        self._tokenizers, self._longest = (source, target), longest


def longest_source(model: keras.Model) -> int | None:
    """The most source tokens that a model can take; None where any length will do."""
    limits = [limit for limit in (model.fixed_length, model.max_positions) if limit]
    return min(limits, default=None)


def sources_for(model: keras.Model, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Source rows as a model can take them: where it has a longest length, the rest is cut off."""
    most = longest_source(model)
    if most is None:
        return list(rows)
    return [row if len(row) <= most else np.append(row[: most - 1], END) for row in rows]


def served_example(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An input of the model that MLflow serves, one sentence, and an output, its translation."""
    sentence = {"values": [""], "dtype": "object"}
    return sentence, sentence
