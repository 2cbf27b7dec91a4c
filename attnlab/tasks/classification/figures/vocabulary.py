"""A map of the vocabulary: which words speak for which class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from attnlab.figures.style import BLUE, ORANGE
from attnlab.figures.word_map import word_map

# Okabe and Ito (2008), as the style has them.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GREY = 0.8


def vocabulary_figure(
    vectors: np.ndarray,
    words: Sequence[str],
    shares: np.ndarray,
    classes: Sequence[str],
    *,
    title: str,
) -> Figure:
    """Words at their places in the plane of their vectors (N, D); see `word_map`.

    A word has the colour of its likeliest class, the greyer the less it says: `shares` (N, C) are
    the probabilities of the classes of a text that has this word alone.
    """
    colours = _colours(len(classes))
    sure = (shares.max(axis=1) - 1 / len(classes)) / (1 - 1 / len(classes))
    own = np.array(colours)[shares.argmax(axis=1)]
    mixed = _GREY + np.sqrt(sure)[:, None] * (own - _GREY)
    legend = dict(zip(classes, colours, strict=True))
    return word_map(vectors, words, title=title, colours=list(mixed), legend=legend)


def _colours(count: int) -> list[tuple[float, float, float]]:
    """A colour for each class."""
    if count <= len(_COLOURS):
        return [to_rgb(colour) for colour in _COLOURS[:count]]
    return [colormaps["turbo"](place)[:3] for place in np.linspace(0.05, 0.95, count)]
