"""The tokens of a text: arrays in memory, or files of the cache if the text is long."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import read_json, write_json
from attnlab.records.prepared import checked_digest, prepared
from attnlab.tasks.declaration import Progress
from attnlab.tasks.language.data import Stream
from attnlab.tasks.language.text.vocabulary import TextVocabulary, fit, token_blocks
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
        progress: is told the number of bytes read.

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
            found = [*token_blocks(tokenizer, text, self._where)]
            none = b"", np.zeros(0, np.uint8), np.zeros(0, np.uint8)
            blocks, ids, sizes = zip(*(found or [none]), strict=True)
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
        for name, text in self.raw.items():
            part = _PartFiles(folder, name)
            done += part.counts["bytes"]
            blocks = token_blocks(tokenizer, text, self._where, first=part.counts["blocks"])
            for block, ids, sizes in blocks:
                tokens = vocabulary.tokens(ids)
                part.add(block, tokens, sizes, self._corpus.words(block), UNKNOWN in ids)
                done += len(block)
                self._progress(done, total, "encoding")
            has_unknown = has_unknown or part.counts["unknown"]
        self._corpus.check_unchanged()
        write_json(folder / _PARTS, {"parts": [*self.raw], "has_unknown": has_unknown})


class _PartFiles:
    """The growing files of a part's tokens, and of their sizes in bytes.

    `counts` says what is complete: a killed process may have written more.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._counts = folder / f"{name}.json"
        self._paths = [folder / f"{name}.tokens", folder / f"{name}.sizes"]
        self.counts: dict[str, Any] = {
            **{"blocks": 0, "bytes": 0, "words": 0, "tokens": 0, "unknown": False},
            "types": ["|u1", "|u1"],
        }
        with suppress(RequestError):
            known = read_json(self._counts)
            widths = [known["tokens"] * np.dtype(each).itemsize for each in known["types"]]
            sizes = [path.stat().st_size if path.exists() else 0 for path in self._paths]
            if all(size >= width for size, width in zip(sizes, widths, strict=True)):
                self.counts = known
        for path, each in zip(self._paths, self.counts["types"], strict=True):
            with open(path, "ab") as file:
                file.truncate(self.counts["tokens"] * np.dtype(each).itemsize)

    def add(
        self, block: bytes, tokens: np.ndarray, sizes: np.ndarray, words: int, unknown: bool
    ) -> None:
        """Add the N tokens of a block, and their sizes; raises `OSError`."""
        arrays = tokens, sizes
        for path, array in zip(self._paths, arrays, strict=True):
            with open(path, "ab") as file:
                file.write(array.tobytes())
                os.fsync(file.fileno())
        self.counts = {
            "blocks": self.counts["blocks"] + 1,
            "bytes": self.counts["bytes"] + len(block),
            "words": self.counts["words"] + words,
            "tokens": self.counts["tokens"] + len(tokens),
            "unknown": self.counts["unknown"] or unknown,
            "types": [array.dtype.str for array in arrays],
        }
        write_json(self._counts, self.counts)


def _opened(folder: Path) -> Streams:
    """Open the files of `Reading`; raise `RequestError` if one is damaged."""
    checked_digest(folder)
    found = read_json(folder / _PARTS)
    vocabulary = TextVocabulary(Tokenizer.load(folder / _TOKENIZER), found["has_unknown"])
    return Streams(vocabulary, {name: _stream(folder, name) for name in found["parts"]})


def _stream(folder: Path, name: str) -> Stream:
    counts = read_json(folder / f"{name}.json")
    arrays = [
        np.memmap(folder / f"{name}.{kind}", dtype, "r") if counts["tokens"] else np.zeros(0, dtype)
        for kind, dtype in zip(("tokens", "sizes"), counts["types"], strict=True)
    ]
    return Stream(*arrays, counts["words"], counts["bytes"])
