"""Sentences to rows of tokens in a file, and what is counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from attnlab.tasks.translation.text.ragged import RaggedWriter
from attnlab.tasks.translation.text.tokenizers import END, START, UNKNOWN, Tokenizer

_CHUNK_ROWS, _CHUNK_LETTERS = 8192, 1 << 21


def encode(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    path: Path,
    longest: int | None = None,
    *,
    start: bool,
    report: Callable[[int], None],
) -> dict[str, float]:
    """Write the tokens of some sentences, each with END behind it.

    Args:
        texts: the sentences.
        tokenizer: cuts them.
        path: what the names of the files begin with; see `Ragged.open`.
        longest: most tokens of a sentence without START and END; the end of longer ones is cut off.
        start: whether there is START in front.
        report: told how many sentences more are done.

    Returns:
        Counts, JSON-ready; lengths are without START and END.

    Raises:
        OSError: a file can't be written.
    """
    counts = _Counts()
    with RaggedWriter(path, tokenizer.size) as writer:
        for chunk in _chunks(texts):
            ids, lengths = _flat(tokenizer.encode(chunk))
            ids, kept = _truncated(ids, lengths, longest)
            counts.add(ids, kept, int((kept < lengths).sum()))
            writer.add(*_framed(ids, kept, start=start))
            report(len(chunk))
    return counts.summary()


class _Counts:
    """What is counted of one language of one part."""

    def __init__(self) -> None:
        self.rows = self.tokens = self.unknown = self.truncated = self.longest = 0

    def add(self, ids: np.ndarray, lengths: np.ndarray, cut: int) -> None:
        """Count some more rows, after `cut` of them were cut off."""
        self.rows += len(lengths)
        self.tokens += len(ids)
        self.unknown += int((ids == UNKNOWN).sum())
        self.truncated += cut
        self.longest = max(self.longest, int(lengths.max(initial=0)))

    def summary(self) -> dict[str, float]:
        """The counts, JSON-ready; lengths are without START and END."""
        return {
            "tokens": self.tokens,
            "mean_length": round(self.tokens / max(self.rows, 1), 4),
            "max_length": self.longest,
            "truncated": self.truncated,
            "unknown_rate": round(self.unknown / max(self.tokens, 1), 6),
        }


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    letters = 0
    for text in texts:
        chunk.append(text)
        letters += len(text)
        if len(chunk) == _CHUNK_ROWS or letters > _CHUNK_LETTERS:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk


def _flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    return np.fromiter(chain.from_iterable(rows), np.int32, lengths.sum()), lengths


def _truncated(
    ids: np.ndarray, lengths: np.ndarray, longest: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The first `longest` tokens of each row, and the lengths then."""
    if longest is None or lengths.max(initial=0) <= longest:
        return ids, lengths
    places = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return ids[places < longest], np.minimum(lengths, longest)


def _framed(ids: np.ndarray, lengths: np.ndarray, *, start: bool) -> tuple[np.ndarray, np.ndarray]:
    """Each row with END behind it, and START before it if asked for."""
    framed = lengths + 1 + start
    ends = np.cumsum(framed)
    result = np.empty(int(framed.sum()), np.int32)
    is_token = np.ones(len(result), bool)
    is_token[ends - 1] = False
    result[ends - 1] = END
    if start:
        is_token[ends - framed] = False
        result[ends - framed] = START
    result[is_token] = ids
    return result, framed
