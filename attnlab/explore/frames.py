"""Where an attention layer looked, and which outputs were likely, as records."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

import numpy as np

from attnlab.attention.head_measures import Looked
from attnlab.tasks.predictor import Explored
from attnlab.views.png.figure import picture
from attnlab.views.records import (
    AttentionMap,
    AttentionMaps,
    Frame,
    ImageMap,
    ImageMaps,
    ShadedText,
    ShadedWords,
    Strip,
    Strips,
    Table,
    figure,
    head_maps,
)

_BEST = 4  # outputs that are shown for each choice
_MOST_WORDS = 400  # of a side of a map


class Layer(NamedTuple):
    """An attention layer as a page shows it.

    `rows` and `columns` are places in the model of what is shown: those that aren't padding.
    """

    name: str
    weights: np.ndarray  # (H, rows, columns)
    rows: Sequence[int]
    columns: Sequence[int]
    row_words: Sequence[str]
    column_words: Sequence[str]
    frame: Frame

    def picture(self, form: str) -> bytes:
        """Return the layer as a picture, `png` or `svg`; of a map of words every head."""
        record, size = self.frame, None
        if isinstance(record, AttentionMaps):
            record = head_maps(self.weights[None], self.row_words, self.column_words)
        elif isinstance(record, Strips):
            size = 9.0, 1.5 + 1.5 * len(record.strips)
        return picture(figure(self.name, "", [[record]], size), form)

    def table(self) -> bytes:
        """Return the layer's weights as CSV, a row per head, row and column."""
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["head", "row", "row_word", "column", "column_word", "weight"])
        for (head, row, column), weight in np.ndenumerate(self.weights):
            words = self.row_words[row], self.column_words[column]
            writer.writerow([head + 1, row + 1, words[0], column + 1, words[1], f"{weight:.6g}"])
        return file.getvalue().encode()


def show_layer(name: str, looked: Looked, explored: Explored, sides: tuple[str, str]) -> Layer:
    """Show a layer's weights on a prediction; `sides` are those of `Predictor.sides`."""
    weights = np.nan_to_num(np.asarray(looked.weights[0], np.float64))
    shape = weights.shape[1:]
    (rows, row_words), (columns, column_words) = (
        _shown(explored.words.get(side), size) for side, size in zip(sides, shape, strict=True)
    )
    weights = weights[:, rows][:, :, columns]
    heads = len(weights)
    names, maps = [""], weights
    if heads > 1:
        names = [f"mean of {heads} heads", *(f"head {number + 1}" for number in range(heads))]
        maps = np.concatenate([weights.mean(axis=0, keepdims=True), weights])
    frame: Frame
    if explored.image is not None and explored.grid is not None:
        # The first query, the class token, looks at the patches after its own place.
        places = maps[:, 0, -int(np.prod(explored.grid)) :]
        by_place = places.reshape(-1, *explored.grid)
        frame = ImageMaps([ImageMap(explored.image, by_place, explored.output)], names)
        return Layer(name, weights, [], [], row_words, column_words, frame)
    if len(rows) > 1:
        looking = AttentionMap(row_words, column_words, maps)
        lines = (sides[1] or "memory", "", sides[0] or "query")
        itself = ("looked at", "", "looks")  # a sequence looks at itself
        frame = AttentionMaps([looking], names, itself if sides[0] == sides[1] else lines)
    elif explored.values is not None and len(explored.values) == len(columns):
        pairs = zip(names, maps[:, 0], strict=True)
        frame = Strips([Strip(label or "values", explored.values, row) for label, row in pairs])
    else:
        text = ShadedText(column_words, maps[:, 0], explored.output)
        frame = ShadedWords([text], names, (sides[1] or "memory", "", "output"))
    positions = [looked.positions[row] for row in rows]
    return Layer(name, weights, positions, columns, row_words, column_words, frame)


def _shown(words: Sequence[str] | None, size: int) -> tuple[list[int], list[str]]:
    """Return the places that are shown of a side, and their words; without words, numbers."""
    words = [str(number + 1) for number in range(size)] if words is None else words
    places = [place for place, word in enumerate(words) if word][:_MOST_WORDS]
    return places, [words[place] for place in places]


def log_shares(logits: np.ndarray) -> np.ndarray:
    """Return the logarithms of softmax(logits) over the last axis."""
    from scipy.special import log_softmax

    return log_softmax(np.asarray(logits, np.float64), axis=-1)


def chosen_shares(logits: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the log probabilities of the chosen outputs, NaN where none was chosen."""
    numbers = np.maximum(chosen, 0)[..., None]
    shares = np.take_along_axis(log_shares(logits), numbers, axis=-1)[..., 0]
    return np.where(chosen >= 0, shares, np.nan)


def likely_outputs(explored: Explored, logits: np.ndarray) -> Table | None:
    """Return a table of the chosen outputs with their probabilities and the next-best ones."""
    if explored.chosen is None or explored.names is None:
        return None
    rows, shares = [], np.exp(log_shares(logits))
    for place in map(tuple, np.argwhere(explored.chosen >= 0)):
        number, share = int(explored.chosen[place]), shares[place]
        others = [int(n) for n in np.argsort(-share, kind="stable")[: _BEST + 1] if n != number]
        name, *names = explored.names([number, *others[:_BEST]])
        next_best = [f"{other} {share[n]:.3f}" for other, n in zip(names, others, strict=False)]
        rows.append([name, f"{share[number]:.3f}", *next_best, *[""] * (_BEST - len(next_best))])
    filled = max((sum(map(bool, row)) for row in rows), default=2)
    header = ["output", "probability", *(f"other {n}" for n in range(1, _BEST + 1))][:filled]
    return Table("", header, [row[:filled] for row in rows], words=1)
