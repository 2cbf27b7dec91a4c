"""A map of the vocabulary: which words suggest which class."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.shown import run_figures
from attnlab.tasks.shown.run_figures import run_title
from attnlab.views.records import Figure

# Okabe and Ito (2008), as figures have them.
_COLOURS = ("0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9")
_GREY = 0.8


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """The map of a classifier's most frequent words, by file name.

    Raises:
        RequestError: its encoder is a preset, whose embeddings can't be read.
    """
    task, ids = trained.task, trained.task.tokenizer.most_frequent(words)
    figure = vocabulary_figure(
        _embeddings(trained.model)[ids.start : ids.stop],
        [task.tokenizer.pieces([token])[0] for token in ids],
        task.shares_of(trained.model, np.array(ids)[:, None]),
        task.classes,
        title=f"{run_title(trained.config.names)}: vocabulary, epoch {trained.epoch}",
    )
    return {"vocabulary.png": figure}


def _embeddings(model: Any) -> np.ndarray:
    """The vectors of all tokens (V, D), of the model or of the encoder that a run trained."""
    encoder = getattr(model, "encoder", None)
    embedding: Any = getattr(model, "embedding", getattr(encoder, "embedding", None))
    if not hasattr(embedding, "embeddings"):
        raise RequestError("RUN: expected a run with embeddings that can be read, got a preset's.")
    return embedding.embeddings.numpy()


def vocabulary_figure(
    vectors: np.ndarray,
    words: Sequence[str],
    shares: np.ndarray,
    classes: Sequence[str],
    *,
    title: str,
) -> Figure:
    """Words at their places in the plane of their vectors (N, D).

    A word has the colour of its likeliest class, the greyer the less it says: `shares` (N, C) are
    the probabilities of the classes of a text that has this word alone.
    """
    colours = _colours(len(classes))
    sure = (shares.max(axis=1) - 1 / len(classes)) / (1 - 1 / len(classes))
    own = np.array(colours)[shares.argmax(axis=1)]
    mixed = _GREY + np.sqrt(sure)[:, None] * (own - _GREY)
    legend = dict(zip(classes, colours, strict=True))
    points = [(float(red), float(green), float(blue)) for red, green, blue in mixed]
    return run_figures.vocabulary_figure(vectors, words, title=title, colours=points, legend=legend)


def _colours(count: int) -> list[tuple[float, float, float]]:
    """A colour for each class."""
    if count <= len(_COLOURS):
        known = [bytes.fromhex(colour) for colour in _COLOURS[:count]]
        return [(red / 255, green / 255, blue / 255) for red, green, blue in known]
    return [colorsys.hsv_to_rgb(0.9 * place / count, 0.85, 0.8) for place in range(count)]
