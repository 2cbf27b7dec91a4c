"""Compute vectors of texts with an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attnlab.encoders.opening import Source
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN, pad_rows

_TOGETHER = 64  # texts per batch


def mean_vectors(source: Source, encoder: Any, texts: Sequence[str]) -> np.ndarray:
    """Return a vector of each text, (N, W): the mean of the encoder's vectors of its tokens.

    START and END are left out. Texts longer than the encoder's rows are cut at the end.
    """
    tokens = source.tokenizer.encode([normalized(text) for text in texts])
    framed = [[START, *(row or [UNKNOWN])[: source.max_length - 2], END] for row in tokens]
    vectors = []
    for start in range(0, len(framed), _TOGETHER):
        rows = pad_rows(framed[start : start + _TOGETHER])
        encoded = np.asarray(encoder(rows, training=False).vectors, np.float64)
        words = ~np.isin(rows, (PAD, START, END))[..., None]
        vectors.append((encoded * words).sum(axis=1) / words.sum(axis=1))
    return np.concatenate(vectors)


def vectors_by(source: Source) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the function that computes vectors of texts with a pretrained encoder.

    Raises:
        RequestError: its weights can't be read.
    """
    encoder = source.make()
    encoder.build((None, source.max_length))
    source.fill(encoder)
    return lambda texts: mean_vectors(source, encoder, texts)
