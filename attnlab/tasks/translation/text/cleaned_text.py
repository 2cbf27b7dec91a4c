"""The cleaned pairs of a corpus's parts, in text files that are read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attnlab.tasks.declaration import Progress
from attnlab.tasks.translation.corpora.splitting import DuplicateCounter
from attnlab.tasks.translation.pair import Pair
from attnlab.text.cleaning import cleaner

SIDES = ("source", "target")
# A block ends after so many pairs or bytes.
_BLOCK_PAIRS, _BLOCK_BYTES = 1 << 16, 1 << 23
_REPORT_EVERY = 4096


class CleanedPart(NamedTuple):
    """The text files of one part, a line per pair; JSON-ready."""

    pairs: int
    counts: Mapping[str, int]  # of pairs, of those left out, and of repetitions
    # side, or `links` if the corpus has them -> the byte at which each block starts, and the end
    blocks: Mapping[str, list[int]]


def text_file(folder: Path, part: str, kind: str) -> Path:
    """Return the path of a part's sentences or links."""
    return folder / f"{part}.{kind}.txt"


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that this module wrote."""
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\n")


def lines_between(path: Path, start: int, end: int) -> list[str]:
    """Return the lines between two bytes of a text file."""
    with open(path, "rb") as stream:
        stream.seek(start)
        return stream.read(end - start).decode().split("\n")[:-1]


def shorten(folder: Path, name: str, count: int) -> None:
    """Delete the text of a part after its first `count` pairs; a kill leaves it long or short."""
    for kind in (*SIDES, "links"):
        path = text_file(folder, name, kind)
        if path.exists():
            with open(path, "rb") as stream:
                size = sum(map(len, islice(stream, count)))
            os.truncate(path, size)


def write_cleaned(
    stream: Iterable[tuple[str, Pair]],
    total: int | None,
    clean: str,
    lowercase: bool,
    folder: Path,
    progress: Progress,
) -> dict[str, CleanedPart]:
    """Clean a stream of (part, pair), and write the text of each part.

    Pairs with an empty side are left out, and gold links if cleaning removes words. Raises
    `OSError`, and `RequestError` of the stream.
    """
    cleaned = cleaner(clean, lowercase)
    parts: dict[str, _Writer] = {}
    with ExitStack() as stack:
        for done, (name, pair) in enumerate(stream):
            if name not in parts:
                parts[name] = _Writer(folder, name, clean == "none", stack)
            parts[name].add(Pair(cleaned(pair.source), cleaned(pair.target), pair.links))
            if done % _REPORT_EVERY == 0:
                progress(done, total, "reading")
        for part in parts.values():
            part.finish()
    train = parts["train"].duplicates.sources() if "train" in parts else np.zeros(0, np.uint64)
    sources = np.unique(train)
    return {name: part.result(sources) for name, part in parts.items()}


class _Writer:
    """Writes the cleaned pairs of one part to files, which `stack` closes, and counts them."""

    def __init__(self, folder: Path, name: str, keep_links: bool, stack: ExitStack) -> None:
        self._keep_links = keep_links
        self.pairs = self._empty = self._linked = self._links_left_out = 0
        self.duplicates = DuplicateCounter()
        self._files = {kind: text_file(folder, name, kind) for kind in (*SIDES, "links")}
        self._streams = [stack.enter_context(open(path, "wb")) for path in self._files.values()]
        self._blocks: dict[str, list[int]] = {kind: [0] for kind in self._files}
        self._sizes = [0] * len(self._files)  # bytes written
        self._first = self._since = 0  # of the latest block: its first pair, its bytes

    def add(self, pair: Pair) -> None:
        """Write a pair; if a side is empty, only count it."""
        has_links = pair.links is not None
        self._links_left_out += has_links and not self._keep_links
        if not pair.source or not pair.target:
            self._empty += 1
            return
        links = pair.links if self._keep_links else None
        self.pairs += 1
        self._linked += links is not None
        self.duplicates.add(pair)
        for number, text in enumerate((pair.source, pair.target, links or "")):
            written = self._streams[number].write(f"{text}\n".encode())
            self._sizes[number] += written
            self._since += written
        if self.pairs - self._first >= _BLOCK_PAIRS or self._since >= _BLOCK_BYTES:
            self._end_block()

    def _end_block(self) -> None:
        for starts, size in zip(self._blocks.values(), self._sizes, strict=True):
            starts.append(size)
        self._first, self._since = self.pairs, 0

    def finish(self) -> None:
        """End the last block, and write all to disk."""
        if self.pairs > self._first:
            self._end_block()
        for stream in self._streams:
            stream.flush()
            os.fsync(stream.fileno())

    def result(self, train_sources: np.ndarray) -> CleanedPart:
        """Return the counts and blocks of closed files; `train_sources` are unique hashes."""
        if not self._linked:
            del self._blocks["links"]
            self._files["links"].unlink()
        repeated = self.duplicates.result()
        counts: dict[str, Any] = {
            "pairs": self.pairs,
            "dropped": self._empty,
            "duplicates": repeated.pairs,
            "repeated_sources": self.pairs - repeated.sources,
            "sources_in_train": int(np.isin(self.duplicates.sources(), train_sources).sum()),
        }
        if self._links_left_out:
            counts["links_left_out"] = self._links_left_out
        return CleanedPart(self.pairs, counts, self._blocks)
