"""How attention was learned: where on a few test images each epoch looked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_run import attention_by_run, by_epoch_or_kept
from attnlab.page.parts import Maps, Part, Slider, Text
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.attention_by_epoch import looks_by_epoch
from attnlab.tasks.base import Shown
from attnlab.tasks.classification.kind import KIND

_MOST_HEADS = 8
_FINEST = 32  # cells to a side of a map
_NOTE = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)


class _Looked(NamedTuple):
    """Where the model of each epoch looked."""

    epochs: list[int]
    pixels: np.ndarray  # (N, height, width, channels)
    weights: np.ndarray  # (E, N, 1 + H, rows, columns)
    labels: list[str]  # the class of each image
    said: list[str]  # what it was taken for at the best epoch


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run that attends."""
    return attention_by_run(shown, _run_parts)


def _run_parts(run: Shown) -> list[Part]:
    looked, problems = by_epoch_or_kept(run, _by_epoch, _kept)
    slider = Slider(run.frames(looked.epochs), _maps(looked, run.room))
    return [Text(_NOTE, "note"), slider, *problems, *run.problems()]


def _by_epoch(run: Shown) -> _Looked:
    task: Any = run.task()
    run.load_data()
    test = task.data.parts["test"]
    columns = run.run.read_predictions(KIND.scoring.text_columns)
    if len(columns["label"]) != len(test):
        path = run.run.path / "predictions.csv"
        raise RequestError(f"{path}: expected {len(test)} images, got {len(columns['label'])}.")
    rows = chosen_examples(columns["label"] == columns["prediction"])
    epochs, found = [], []
    for epoch, _, weights in looks_by_epoch(run, test.pixels[rows]):
        epochs.append(epoch)
        found.append(weights)
    labels, said = (columns[name][rows].tolist() for name in ("label", "prediction"))
    return _Looked(epochs, test.pixels[rows], np.stack(found), labels, said)


def _kept(run: Shown) -> _Looked | None:
    """The same of the best epoch alone, as attention.npz has it; None without one."""
    from attnlab.figures.run import read_attention

    kept = read_attention(run.run)
    if kept is None or not {"weights", "pixels", "label", "prediction"} <= kept.keys():
        return None
    labels, said = (kept[name].tolist() for name in ("label", "prediction"))
    best = int(run.metrics.get("best_epoch", 1))
    return _Looked([best], kept["pixels"], kept["weights"][None], labels, said)


def _maps(looked: _Looked, room: int) -> list[Part]:
    """The maps of those images for which there is room, a byte for each cell."""
    weights = np.nan_to_num(looked.weights[:, :, : 1 + _MOST_HEADS])
    epochs, count, heads, rows, columns = weights.shape
    cell = _cell(looked.pixels.shape[1] // rows, max(rows, columns))
    size = epochs * (1 + heads) * rows * columns * cell**2
    names = ["image", "rollout", *(f"head {number}" for number in range(1, heads))]
    parts: list[Part] = []
    for place in range(min(count, max(room // size, 1))):
        label, said = looked.labels[place], looked.said[place]
        picture = _picture(looked.pixels[place], rows * cell, columns * cell)
        own = weights[:, place].repeat(cell, axis=2).repeat(cell, axis=3)
        own = own / np.maximum(own.max(axis=(2, 3), keepdims=True), 1e-12)
        maps = np.concatenate([np.broadcast_to(picture, (epochs, 1, *picture.shape)), own], axis=1)
        title = label if label == said else f"{label}, taken for {said}"
        ends = (("left", "right"), ("the top", "the bottom"))
        parts.append(Maps(names, maps, f"places in an image of {title}", "the same", *ends))
    return parts


def _cell(patch: int, side: int) -> int:
    """How many cells of a map a patch has to a side: a divisor of its pixels."""
    fitting = [n for n in range(1, patch + 1) if patch % n == 0 and n * side <= _FINEST]
    return max(fitting, default=1)


def _picture(pixels: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """An image as a map, (rows, columns) from 0 to 1: the means of its pixels, dark ones large."""
    height, width, _ = pixels.shape
    blocks = pixels.reshape(rows, height // rows, columns, width // columns, -1)
    return 1.0 - blocks.mean(axis=(1, 3, 4)) / 255
