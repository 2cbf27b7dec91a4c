"""The tokens of a text: arrays in memory, or files of the cache if the text is long."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_json, write_json
from attnlab.records.growing_arrays import GrowingArrays
from attnlab.records.prepared import checked_digest, prepared
from attnlab.records.worker_processes import in_order
from attnlab.tasks.declaration import Progress
from attnlab.tasks.language.data import Stream
from attnlab.tasks.language.text.vocabulary import TextVocabulary, block_tokens, fit
from attnlab.tasks.text_corpus import digest_of
from attnlab.tasks.texts.corpus import Corpus
from attnlab.text.tokenizers import UNKNOWN, Tokenizer

_IN_MEMORY = 1 << 25  # bytes of text whose tokens are cheaper to make than to store
_FORMAT = 1
_TOKENIZER, _PARTS = "tokenizer.json", "parts.json"


class Streams(NamedTuple):
    """The tokens of all parts of a text."""

    vocabulary: TextVocabulary
    parts: dict[str, Stream]


class Reading:
    """Turns an opened corpus into tokens.

    Args:
        corpus: its part `train` fits the tokenizer.
        settings: of the tokenizer: `kind`, `size`, `min_count`.
        progress: gets the number of bytes read, and of all.

    Attributes:
        raw: the text of each part.

    Raises:
        RequestError: the corpus can't be divided.
    """

    def __init__(self, corpus: Corpus, settings: Mapping[str, Any], progress: Progress) -> None:
        self._corpus, self._settings, self._progress = corpus, settings, progress
        self._where = f"data={corpus.name}"
        self.raw = corpus.raw()

    def streams(self, cache: Path) -> Streams:
        """Return the tokens, of a long text in files of a cache, where the next call finds them.

        Raises:
            RequestError: the text isn't UTF-8 and the tokens aren't bytes, a file changed while it
                was read, or the cache can't be written.
        """
        if sum(map(len, self.raw.values())) <= _IN_MEMORY:
            return self._in_memory()
        decisive = digest_of([_FORMAT, self._corpus.digest(), self._settings])
        folder = cache / "prepared" / f"{self._corpus.name}-{decisive[:16]}"
        return prepared(folder, _opened, self._write, "the tokens")

    def _check_text(self) -> None:
        if self._settings["kind"] != "bytes":
            try:
                self._corpus.check_text()
            except RequestError as error:
                raise RequestError(f"{str(error).rstrip('.')}, or task.tokenizer=bytes.") from error

    def _in_memory(self) -> Streams:
        self._check_text()
        tokenizer = fit(self.raw["train"], self._where, **self._settings)
        cut, words = {}, {}
        for name, text in self.raw.items():
            blocks = [*text.blocks()]
            found = [block_tokens(block, tokenizer, self._where) for block in blocks or [b""]]
            ids, sizes = zip(*found, strict=True)
            cut[name] = np.concatenate(ids), np.concatenate(sizes)
            words[name] = sum(map(self._corpus.words, blocks))
        has_unknown = any(UNKNOWN in ids for ids, _ in cut.values())
        vocabulary = TextVocabulary(tokenizer, has_unknown)
        parts = {
            name: Stream(vocabulary.tokens(ids), sizes, words[name], len(self.raw[name]))
            for name, (ids, sizes) in cut.items()
        }
        return Streams(vocabulary, parts)

    def _write(self, folder: Path) -> None:
        """Write the tokens into a folder, which may have those of an interrupted call."""
        path = folder / _TOKENIZER
        if path.exists():
            tokenizer = Tokenizer.load(path)
        else:
            self._progress(0, None, "fitting")
            self._check_text()
            tokenizer = fit(self.raw["train"], self._where, **self._settings)
            tokenizer.save(path)
        # Whether words are unknown is known at the end only; their END comes after UNKNOWN.
        vocabulary = TextVocabulary(tokenizer, has_unknown=True)
        done, total = 0, sum(map(len, self.raw.values()))
        has_unknown = tokenizer.kind == "word"
        encode = partial(block_tokens, tokenizer=tokenizer, where=self._where)
        for name, text in self.raw.items():
            part = GrowingArrays(folder, name)
            done += part.counts["bytes"]
            blocks = islice(text.blocks(), part.blocks, None)
            for block, (ids, sizes) in in_order(encode, blocks):
                part.add(
                    {"tokens": vocabulary.tokens(ids), "sizes": sizes},
                    bytes=len(block),
                    words=self._corpus.words(block),
                    unknown=int(np.count_nonzero(ids == UNKNOWN)),
                )
                done += len(block)
                self._progress(done, total, "encoding")
            has_unknown = has_unknown or part.counts["unknown"] > 0
        self._corpus.check_unchanged()
        write_json(folder / _PARTS, {"parts": [*self.raw], "has_unknown": has_unknown})


def _opened(folder: Path) -> Streams:
    """Open the files of `Reading`; raise `RequestError` if one is damaged."""
    checked_digest(folder)
    found = read_json(folder / _PARTS)
    vocabulary = TextVocabulary(Tokenizer.load(folder / _TOKENIZER), found["has_unknown"])
    return Streams(vocabulary, {name: _stream(folder, name) for name in found["parts"]})


def _stream(folder: Path, name: str) -> Stream:
    part = GrowingArrays(folder, name, read_only=True)
    return Stream(part["tokens"], part["sizes"], part.counts["words"], part.counts["bytes"])
