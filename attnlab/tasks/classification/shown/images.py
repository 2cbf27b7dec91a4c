"""The attention of a Vision Transformer on images: a figure, and a slider for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import Arrays, read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.run_figures import run_title
from attnlab.views.records import Figure, ImageMap, ImageMaps, Record, Slider, Text, figure

_MOST_HEADS = 8
_CELLS = 32**2  # least cells of a map on a page
_NOTE = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)


def attention_figure(arrays: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw images, the rollout of attention through all layers, and the heads of the last layer.

    Each image has a row; wrongly classified ones come first. The brightest patch of a map has its
    largest weight. With more than eight heads only the first eight are shown.

    Args:
        arrays: `weights` (N, 1 + H, rows, columns), the rollout first; `pixels` (N, height, width,
            channels) of bytes; `prediction` (N,), names of classes; if the classes are known also
            `label` (N,), and `index` (N,), rows of predictions.csv.
        metrics: metrics.json of the run.
    """
    heads = arrays["weights"].shape[1] - 1
    subtitle = "brightest: the largest weight of a map; heads are those of the last layer"
    subtitle += f", {_MOST_HEADS} of {heads}" if heads > _MOST_HEADS else ""
    images = sorted(_image_maps(arrays), key=lambda image: image.is_right)
    title = f"{run_title(metrics)}: attention on images"
    return figure(title, subtitle, [[ImageMaps(images, _names(images[0]))]])


def attention_slider(run: ReportedRun) -> list[Record]:
    """Return a note and a slider over the recorded epochs of a run.

    Raises:
        RequestError: the run has no attention.npz of images.
    """
    recorded = read_attention(run.run)
    if recorded is None or "pixels" not in recorded.final():
        raise RequestError(f"{run.run.name}: it has no attention.npz of images.")
    frames = [_image_maps(recorded.at(epoch)) for epoch in recorded.epochs]
    first = frames[0][0]
    # A page also has the image at each epoch.
    size = len(frames) * (1 + len(first.weights)) * max(first.weights[0].size, _CELLS)
    count = max(run.room // size, 1)
    records = [[ImageMaps(images[:count], _names(first))] for images in frames]
    return [Text(_NOTE, "note"), Slider(run.epochs(recorded.epochs), records)]


def _names(image: ImageMap) -> list[str]:
    return ["rollout", *(f"head {number}" for number in range(1, len(image.weights)))]


def _image_maps(arrays: Arrays) -> list[ImageMap]:
    weights = np.nan_to_num(np.asarray(arrays["weights"], np.float32)[:, : 1 + _MOST_HEADS])
    return [
        ImageMap(
            arrays["pixels"][row],
            weights[row],
            str(arrays["prediction"][row]),
            str(arrays["label"][row]) if "label" in arrays else None,
            f"test image {arrays['index'][row]}" if "index" in arrays else "",
        )
        for row in range(len(weights))
    ]
