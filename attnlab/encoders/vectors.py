"""Compute vectors of texts with an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnlab.encoders.source import Encoder, Source
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, Tokenizer

_TOGETHER = 64  # texts per batch


def mean_vectors(
    encoder: Encoder, tokenizer: Tokenizer, most: int | None, texts: Sequence[str]
) -> np.ndarray:
    """Return a vector of each text, (N, W): the mean of the encoder's vectors of its tokens.

    START and END are left out. Texts of more than `most` - 2 tokens are cut at the end.
    """
    limit = None if most is None else most - 2
    found = []
    for start in range(0, len(texts), _TOGETHER):
        cut = tokenizer.encode([normalized(text) for text in texts[start : start + _TOGETHER]])
        rows = [(row or [UNKNOWN])[:limit] for row in cut]
        width = max(map(len, rows)) + 2
        tokens = np.full((len(rows), width), PAD, np.int32)
        for line, row in zip(tokens, rows, strict=True):
            line[: len(row) + 2] = [START, *row, END]
        vectors = np.asarray(encoder(tokens, training=False).vectors, np.float64)
        words = ~np.isin(tokens, (PAD, START, END))[..., None]
        found.append((vectors * words).sum(axis=1) / words.sum(axis=1))
    return np.concatenate(found)


def vectors_by(source: Source) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the function that computes vectors of texts with a pretrained encoder.

    Raises:
        RequestError: its weights can't be read.
    """
    encoder = source.make()
    encoder.build((None, source.most or 8))
    source.fill(encoder)
    return lambda texts: mean_vectors(encoder, source.tokenizer, source.most, texts)
