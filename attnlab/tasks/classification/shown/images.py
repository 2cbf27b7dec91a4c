"""The attention of a Vision Transformer on images: figures, and records by epoch for a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.shown.items import PREDICTED
from attnlab.tasks.shown.attention_by_epoch import (
    attention_by_epoch,
    attention_by_run,
    by_epoch_or_best,
)
from attnlab.tasks.shown.item_tables import read_items
from attnlab.tasks.shown.run_figures import read_attention, run_title
from attnlab.views.records import (
    Figure,
    ImageMap,
    ImageMaps,
    Maps,
    Record,
    Slider,
    Text,
    figure,
)

_MOST_HEADS = 8
_MOST_POSITIONS = 10  # rows or columns of patches in a figure of positions
_CELLS = 32**2  # most cells of a map on a page
_NOTE = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)
_Frames = tuple[list[int], list[list[ImageMap]]]


def attention_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Draw images, the rollout of attention through all layers, and the heads of the last layer.

    Each image has a row; wrongly classified ones come first. The brightest patch of a map has its
    largest weight. With more than eight heads only the first eight are shown.

    Args:
        kept: `weights` (N, 1 + H, rows, columns), the rollout first; `pixels` (N, height, width,
            channels) of bytes; `prediction` (N,), names of classes; if the classes are known also
            `label` (N,), and `index` (N,), rows of predictions.csv.
        metrics: metrics.json of the run.
    """
    heads = kept["weights"].shape[1] - 1
    items = _kept_images(kept)
    maps = len(items[0].weights)
    labels = kept.get("label", kept["prediction"])
    order = np.argsort(labels == kept["prediction"], kind="stable")
    subtitle = "brightest: the largest weight of a map; heads are those of the last layer"
    subtitle += f", {maps - 1} of {heads}" if heads >= maps else ""
    record = ImageMaps([items[row] for row in order], _names(maps))
    return figure(f"{run_title(metrics)}: attention on images", subtitle, [[record]])


def _names(maps: int) -> list[str]:
    return ["rollout", *(f"head {number}" for number in range(1, maps))]


def _kept_images(kept: Mapping[str, np.ndarray]) -> list[ImageMap]:
    """Return the images of attention.npz."""
    said = kept["prediction"]
    labels: Iterable[Any] = kept["label"] if "label" in kept else [None] * len(said)
    notes = [f"test image {at}" for at in kept["index"]] if "index" in kept else [""] * len(said)
    columns = kept["pixels"], kept["weights"], said, labels, notes
    return [_image(*row) for row in zip(*columns, strict=True)]


def _image(pixels: np.ndarray, weights: np.ndarray, said: Any, label: Any, note: str) -> ImageMap:
    maps = np.nan_to_num(weights[: 1 + _MOST_HEADS])
    return ImageMap(pixels, maps, str(said), None if label is None else str(label), note)


def positions_figure(similarity: np.ndarray, grid: tuple[int, int], title: str) -> Figure:
    """Draw how similar the learned positions of patches are: one map over all patches per patch.

    As figure 7 (middle) of Dosovitskiy et al. 2021. With more than 10 rows or columns of patches,
    10 at equal distances are shown.

    Args:
        similarity: (N, N) cosines between positions, patches row by row.
        grid: the numbers of rows and of columns of patches; their product is N.
        title: title of the figure.
    """
    rows, columns = (
        np.unique(np.linspace(0, n - 1, min(n, _MOST_POSITIONS)).astype(int)) for n in grid
    )
    cell = float(np.clip(6.0 / max(len(rows), len(columns)), 0.6, 1.3))
    chosen = (rows[:, None] * grid[1] + columns).ravel()
    maps = similarity[chosen].reshape(-1, *grid)
    record = Maps([], maps, quantity="cosine", limits=(-1.0, 1.0), across=len(columns))
    subtitle = "each map compares one patch's position with all others; it is at that patch's place"
    size = max(len(columns) * cell + 2.0, 6.0), len(rows) * cell + 1.1
    return figure(title, subtitle, [[record]], size)


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run with attention."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    (epochs, frames), problems = by_epoch_or_best(run, _by_epoch, _best)
    first = frames[0][0].weights
    # A page also has the image at each epoch. A map has at least `_CELLS` cells.
    bytes_each = len(epochs) * (1 + len(first)) * max(first[0].size, _CELLS)
    count = max(run.room // bytes_each, 1)
    names = _names(len(first))
    slider = Slider(run.epochs(epochs), [[ImageMaps(own[:count], names)] for own in frames])
    return [Text(_NOTE, "note"), slider, *problems, *run.problems()]


def _by_epoch(run: ReportedRun) -> _Frames:
    task: Any = run.task()
    run.load_data()
    test = task.data.parts["test"]
    columns = read_items(run, KIND, PREDICTED, len(test), "images")
    rows = chosen_examples(columns["label"] == columns["prediction"])
    pixels = test.pixels[rows]
    labels, said = (columns[name][rows].tolist() for name in ("label", "prediction"))
    epochs, frames = [], []
    for epoch, _, weights in attention_by_epoch(run, pixels):
        parts = zip(pixels, weights, said, labels, [""] * len(rows), strict=True)
        epochs.append(epoch)
        frames.append([_image(*row) for row in parts])
    return epochs, frames


def _best(run: ReportedRun) -> _Frames | None:
    """Return the best epoch from attention.npz; None if there is no such file."""
    kept = read_attention(run.run)
    if kept is None or not {"weights", "pixels", "label", "prediction"} <= kept.keys():
        return None
    return [int(run.metrics.get("best_epoch", 1))], [_kept_images(kept)]
