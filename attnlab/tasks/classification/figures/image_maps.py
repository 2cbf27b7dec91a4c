"""Where a Vision Transformer looked: its patches, the brighter the more weight they had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnlab.figures.labels import drawable, label_font
from attnlab.figures.style import BLUE, COLOUR_MAP, GREY, ORANGE, new_figure, run_title

_MOST_HEADS = 8
# Inches.
_CELL, _GAP, _LEFT, _TOP, _NAMES, _BELOW = 1.0, 0.07, 1.45, 0.62, 0.24, 0.1


def image_maps_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Images, the rollout of attention through all layers, and each head of the last layer.

    A row for each image: those that were classified wrongly first. A map's brightest patch is the
    one with the largest weight of that map. Of more than eight heads the first eight are shown.

    Args:
        kept: `weights` (N, 1 + H, rows, columns), the rollout first; `pixels` (N, height, width,
            channels) of bytes; `prediction` (N,), names of classes; of images whose class is known
            also `label` (N,), and `index` (N,), rows of predictions.csv.
        metrics: the run's.
    """
    weights = np.nan_to_num(np.asarray(kept["weights"], np.float64))[:, : 1 + _MOST_HEADS]
    maps, heads = weights.shape[1], kept["weights"].shape[1] - 1
    labels = kept.get("label", kept["prediction"])
    order = np.argsort(labels == kept["prediction"], kind="stable")
    names = ["image", "rollout", *(f"head {number}" for number in range(1, maps))]
    width = max(_LEFT + len(names) * (_CELL + _GAP) + _GAP, 6.6)
    height = _TOP + _NAMES + len(order) * (_CELL + _GAP) + _BELOW
    subtitle = "brightest: the largest weight of a map; heads are those of the last layer"
    subtitle += f", {maps - 1} of {heads}" if heads >= maps else ""
    title = f"{run_title(metrics)}: attention on images"
    figure = new_figure(width, height, title, subtitle, placed=True)
    for place, row in enumerate(order):
        below = _TOP + _NAMES + place * (_CELL + _GAP) + _CELL
        pictures = [kept["pixels"][row], *weights[row]]
        for column, (name, picture) in enumerate(zip(names, pictures, strict=True)):
            left = _LEFT + column * (_CELL + _GAP)
            corner = left / width, 1 - below / height
            axes = figure.add_axes((*corner, _CELL / width, _CELL / height))
            _show(axes, picture)
            if place == 0:
                axes.set_title(name, fontsize=9, pad=4)
            if column == 0:
                _write(axes, kept, row)
    return figure


def _show(axes: Axes, picture: np.ndarray) -> None:
    """An image of bytes, (height, width, channels), or a map of weights, (rows, columns)."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color(GREY)
    axes.spines[:].set_linewidth(0.6)
    style: dict[str, Any] = {"interpolation": "nearest", "aspect": "auto"}
    if picture.ndim == 2:
        axes.imshow(picture, cmap=COLOUR_MAP, vmin=0, vmax=picture.max() or 1, **style)
    elif picture.shape[-1] == 1:
        axes.imshow(picture[..., 0], cmap="gray", vmin=0, vmax=255, **style)
    else:
        axes.imshow(picture, **style)


def _write(axes: Axes, kept: Mapping[str, np.ndarray], row: int) -> None:
    """What an image is, and what it was taken for, at its left."""
    said, lines, colour = drawable(str(kept["prediction"][row]), 16), [], BLUE
    if "label" in kept:
        label = drawable(str(kept["label"][row]), 16)
        wrong = kept["label"][row] != kept["prediction"][row]
        lines = [f"is {label}"] if wrong else []
        colour = ORANGE if wrong else BLUE
    lines = [f"said {said}" if lines else said, *lines]
    lines += [f"(test image {kept['index'][row]})"] if "index" in kept else []
    font = label_font(9)
    axes.text(
        *(-0.08, 0.5, "\n".join(lines)),
        transform=axes.transAxes,
        ha="right",
        va="center",
        color=colour,
        fontproperties=font,
        parse_math=False,
    )


def positions_figure(similarity: np.ndarray, grid: tuple[int, int], title: str) -> Figure:
    """How alike the learned positions of patches are: for each patch a map over all of them.

    As figure 7 (middle) of Dosovitskiy et al. 2021. Of more than 10 rows or columns of patches some
    are shown, at equal distances.

    Args:
        similarity: (N, N) cosines between positions, patches row by row.
        grid: rows and columns of patches, N in all.
        title: of the figure.
    """
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, 10)).astype(int)) for n in grid)
    cell = float(np.clip(6.0 / max(len(rows), len(columns)), 0.6, 1.3))
    size = len(columns) * cell + 2.0, len(rows) * cell + 1.1
    subtitle = "each map: one patch's position against all others, at that patch's place"
    figure = new_figure(max(size[0], 6.0), size[1], title, subtitle)
    panels = figure.subplots(len(rows), len(columns), squeeze=False)
    for row, own in zip(rows, panels, strict=True):
        for column, axes in zip(columns, own, strict=True):
            cosines = similarity[row * grid[1] + column].reshape(grid)
            picture = axes.imshow(cosines, cmap=COLOUR_MAP, vmin=-1, vmax=1, aspect="auto")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, ax=panels, shrink=0.9)
    bar.set_label("cosine", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return figure
