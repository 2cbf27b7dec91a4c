"""Files of token ids, written in blocks of sentences."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.records.files import replacing
from attnlab.records.growing_arrays import GrowingArrays
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer

_CHUNK_ROWS, _CHUNK_LETTERS = 8192, 1 << 21
# Tokens that are counted at once, which limits memory.
_BLOCK = 1 << 20


class Block(NamedTuple):
    """The tokens of consecutive sentences, each with END, and counts."""

    tokens: np.ndarray  # all tokens, the least of uint16 and int32 that holds the vocabulary
    lengths: np.ndarray  # (N,) int32, tokens of each sentence without START and END
    truncated: int  # sentences that lost their end
    unknown: int  # tokens


def encoded(
    texts: Iterable[str], tokenizer: Tokenizer, longest: int | None = None, *, start: bool
) -> Block:
    """Return the tokens of sentences.

    Args:
        texts: the sentences.
        tokenizer: a fitted tokenizer. If its vocabulary has at most 65,536 tokens, an id takes two
            bytes.
        longest: sentences with more tokens lose their end. START and END don't count.
        start: whether START is in front of each sentence.
    """
    before = (START,) if start else ()
    dtype = np.dtype("<u2" if tokenizer.size <= 1 << 16 else "<i4")
    tokens, all_lengths, truncated = [np.zeros(0, dtype)], [np.zeros(0, np.int32)], 0
    for chunk in _chunks(texts):
        whole = tokenizer.encode(chunk)
        rows = [row[:longest] for row in whole]
        truncated += sum(len(row) < len(every) for row, every in zip(rows, whole, strict=True))
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        framed = chain.from_iterable((*before, *row, END) for row in rows)
        tokens.append(np.fromiter(framed, dtype, (lengths + 1 + start).sum()))
        all_lengths.append(lengths)
    ids = np.concatenate(tokens)
    return Block(ids, np.concatenate(all_lengths), truncated, int((ids == UNKNOWN).sum()))


def write_tokens(found: GrowingArrays, path: Path, *, start: bool) -> dict[str, float]:
    """Write the arrays of all `Block`s as `Ragged.open` reads them; file names start with `path`.

    Returns counts, JSON-ready; lengths are without START and END. Raises `OSError`.
    """
    tokens, lengths = found["tokens"], found["lengths"]
    name = Path(f"{path}.tokens.npy")
    with replacing(name) as unfinished, open(unfinished, "wb") as file:
        file.write(_header(tokens.dtype, len(tokens)))
        for at in range(0, len(tokens), _BLOCK):
            file.write(tokens[at : at + _BLOCK].tobytes())
    offsets = np.zeros(len(lengths) + 1, "<i8")
    np.cumsum(lengths + 1 + start, out=offsets[1:])
    with replacing(Path(f"{path}.offsets.npy")) as unfinished:
        np.save(unfinished, offsets)
    return _counts(lengths, found.counts["truncated"], found.counts["unknown"])


def _counts(lengths: np.ndarray, truncated: int, unknown: int) -> dict[str, float]:
    tokens = int(lengths.sum())
    return {
        "tokens": tokens,
        "mean_length": round(tokens / max(len(lengths), 1), 4),
        "max_length": int(lengths.max(initial=0)),
        "truncated": truncated,
        "unknown_rate": round(unknown / max(tokens, 1), 6),
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


def _header(dtype: np.dtype, count: int) -> bytes:
    """Return the header of a .npy file."""
    content = io.BytesIO()
    description = {"descr": dtype.str, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(content, description)
    return content.getvalue()
