"""The task `translate`: translate sentences of one language into another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_assets, write_json
from attnlab.tasks.base import Report, Task, TaskData, require_part
from attnlab.tasks.kinds import Kind, Progress
from attnlab.tasks.translation.kind import KIND
from attnlab.tasks.translation.parallel import AlignedFiles, ParallelCorpus
from attnlab.tasks.translation.tokenized import (
    TextSettings,
    TokenizedCorpus,
    Tokenizers,
    load_tokenizers,
    pad_pairs,
    tokenize_corpus,
    tokenize_files,
)
from attnlab.text.tokenizers import START, Tokenizer

if TYPE_CHECKING:
    import keras

    from attnlab.attention.base import Attention
    from attnlab.config.sections import Option
    from attnlab.tasks.translation.models.translator import Translator
    from attnlab.tasks.translation.search import Search
    from attnlab.tasks.translation.sentences import SentenceTranslator

# Vaswani et al. 2017, section 6.1.
_EXTRA_LENGTH = 50
_FILE, _SOURCE, _TARGET = "text.json", "source_tokenizer.json", "target_tokenizer.json"


class Translate(Task):
    """Translate the sentences of a corpus with an encoder and a decoder.

    The settings are those of conf/task/translate.yaml, which include the `TextSettings`.
    """

    kind: ClassVar[Kind] = KIND
    name: ClassVar[str] = "translate"
    served = ("The old dog sleeps.", "Der alte Hund schläft.")
    tokenized: TokenizedCorpus | None = None  # set by `load`
    tokenizers: Tokenizers  # the same object twice if the vocabulary is shared
    longest: tuple[int, ...]  # tokens of the longest training source with END, and target
    extra_length: int = _EXTRA_LENGTH  # most tokens that a translation has more than its source

    def __init__(
        self,
        *,
        corpus: ParallelCorpus,
        cache: Path,
        label_smoothing: float = 0.1,
        monitor: str = "val_bleu",
        score_every: int = 1,
        score_sentences: int | None = 500,
        beam: int = 1,
        length_penalty: float = 0.6,
        copy_unknown: bool = True,
        **text: Any,
    ) -> None:
        self.corpus, self.cache = corpus, Path(cache).expanduser()
        self.text = TextSettings(**text)
        self.monitor = (monitor, "min" if monitor == "val_loss" else "max")
        self.label_smoothing = label_smoothing
        self.score_every, self.score_sentences = score_every, score_sentences
        self.beam, self.length_penalty = beam, length_penalty
        self.copy_unknown = copy_unknown

    def load(self, seed: int = 0, progress: Progress | None = None) -> TaskData:
        """Find the corpus, divide it by the seed, and tokenize it (once; the cache stores it)."""
        self.corpus.open(self.cache, progress)
        self.tokenized = tokenize_corpus(
            self.corpus, self.text, seed=seed, cache=self.cache, progress=progress
        )
        self.tokenizers = self.tokenized.tokenizers
        train = self.tokenized.parts["train"]
        self.longest = int(train.source.lengths.max()), int(train.target.lengths.max())
        longer = int((train.target.lengths - train.source.lengths).max())
        self.extra_length = max(_EXTRA_LENGTH, longer)
        return TaskData(
            name=self.corpus.name,
            source=self.corpus.origin,
            digest=self.tokenized.digest,
            longest=max(self.longest),
            parts=self.tokenized.parts,
            notes=self.tokenized.statistics["notes"],
            details=self.tokenized.statistics,
        )

    def build(self, attention: Callable[..., Attention], model: Option) -> keras.Model:
        """Return a translator with drawn weights; with the corpus its bias is the word shares."""
        sizes = [tokenizer.size for tokenizer in self.tokenizers]
        translator = self._build(attention, model, *sizes, *self.longest)
        if self.tokenized:
            counts = self.tokenized.parts["train"].target.counts(sizes[1])
            counts[START] = 0  # the first token of each row, which the decoder never writes
            translator.expect(counts)
        return translator

    def check(self, attention: Callable[..., Attention], model: Option) -> None:  # noqa: D102
        self._build(attention, model, 8, 8, 1, 1)

    def _build(self, attention: Callable[..., Attention], model: Option, *sizes: int) -> Translator:
        from attnlab.tasks.translation.models.build import build_translator

        names = ("source_size", "target_size", "max_source", "max_target")
        arguments = dict(zip(names, sizes, strict=True), shared=self.text.shared_vocabulary)
        return build_translator(model.name, model.settings, attention, **arguments)

    @property
    def loss(self) -> Callable[[Any, Any], Any]:
        """Cross entropy with label smoothing: (N,) labels and (N, V) logits to (N,)."""
        from attnlab.tasks.translation.program import token_losses

        # Not a method, so that a cached program with this loss doesn't keep the corpus in memory.
        return partial(token_losses, smoothing=self.label_smoothing)

    def search(self, model: keras.Model, beam: int | None = None, n_best: int = 1) -> Search:
        """Return the search by a model; `beam` None is the task's own beam."""
        from attnlab.tasks.translation.search import Search

        return Search(
            model,
            beam=self.beam if beam is None else beam,
            n_best=n_best,
            length_penalty=self.length_penalty,
            extra_length=self.extra_length,
        )

    def translator(self, model: keras.Model, **search: Any) -> SentenceTranslator:
        """Return a translator of sentences; the settings are those of `search`."""
        from attnlab.tasks.translation.sentences import SentenceTranslator

        return SentenceTranslator(self, self.search(model, **search))

    def evaluate(
        self,
        model: keras.Model,
        part: str = "test",
        beam: int | None = None,
        files: Sequence[Path] = (),
        progress: Progress | None = None,
    ) -> Report:
        """Translate a part, and score the translations and the baselines.

        `beam` None is the task's own beam. `files`, one of sources and one of their translations,
        are scored instead of a part; they need no corpus.
        """
        from attnlab.tasks.translation.report import report

        if files:
            with tokenize_files(AlignedFiles(*files), self.text, self.tokenizers) as scored:
                return report(self, model, scored, beam, progress)
        require_part(self.tokenized.parts, part)
        return report(self, model, self.tokenized.parts[part], beam, progress)

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of sources."""
        return self.tokenizers[0]

    def unknown(self, text: str) -> list[str]:
        """Return the words of a source that the vocabulary doesn't have, in order."""
        return self.tokenizer.unknown(self.text.clean_text()(text))

    def is_longer(self, text: str, most: int) -> bool:
        """Return whether a source has more than `most` tokens."""
        return len(self.tokenizer.encode([self.text.clean_text()(text)])[0]) > most

    def head_inputs(  # noqa: D102
        self, model: Any, part: str, count: int
    ) -> tuple[Any, np.ndarray | None]:
        require_part(self.tokenized.parts, part)
        pairs = self.tokenized.parts[part]
        return pad_pairs(model, pairs, np.arange(min(count, len(pairs.source)))), None

    def serve(self, model: keras.Model, inputs: Any = None, beam: int | None = None) -> np.ndarray:
        """Translate sentences, (N,) or (N, 1), to (N,); `beam` None is the task's own beam."""
        if inputs is None:
            raise RequestError("inputs: expected a list of sentences, got none.")
        lines = [str(line) for line in np.asarray(inputs).reshape(-1)]
        translated = self.translator(model, beam=beam).translate(lines)
        return np.array([best[0].text for best in translated], dtype=object)

    def save(self, folder: Path) -> None:
        """Write the tokenizers, the text settings, and the lengths of the training sentences."""
        self.tokenizers[0].save(folder / _SOURCE)
        if not self.text.shared_vocabulary:
            self.tokenizers[1].save(folder / _TARGET)
        content = {
            "text": asdict(self.text),
            "longest": self.longest,
            "extra_length": self.extra_length,
            "statistics": self.tokenized.statistics,
        }
        write_json(folder / _FILE, content)

    def load_from(self, folder: Path) -> None:
        """Read what `save` wrote, which is all that translating needs: no corpus."""

        def read(content: Mapping[str, Any]) -> tuple[Any, tuple[tuple[int, ...], int]]:
            source, target = map(int, content["longest"])
            return content["text"], ((source, target), int(content["extra_length"]))

        self.longest, self.extra_length = read_assets(
            folder / _FILE, read, expected=asdict(self.text), what="the text settings"
        )
        shared = self.text.shared_vocabulary
        self.tokenizers = load_tokenizers(folder / _SOURCE, folder / _TARGET, shared)
