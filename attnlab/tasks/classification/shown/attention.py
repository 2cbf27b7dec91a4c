"""The attention of classifiers on words or images: a figure, and a slider over the epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import Arrays, read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.data import word_weights
from attnlab.tasks.shown.attention_by_epoch import (
    attention_by_run,
    fitting,
    map_names,
    mean_and_heads,
)
from attnlab.tasks.shown.run_figures import run_title
from attnlab.text.unknown import UNNAMED
from attnlab.views.records import (
    Figure,
    Frame,
    ImageMap,
    ImageMaps,
    Record,
    ShadedText,
    ShadedWords,
    Slider,
    Text,
    figure,
)

_MOST_HEADS = 8
_CELLS = 32**2  # least cells of an image on a page
_OF_WORDS = (
    "The darker a word, the larger its weight, a mean over the queries of self-attention; the "
    "darkest has the largest weight of its text. Point at the predicted class, or reach it by Tab, "
    "to read the largest weights. Dotted: another class than at the previous epoch."
)
_OF_IMAGES = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)


def attention_figure(arrays: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention on texts or images, wrongly classified ones first.

    Of words, weights are means over heads and over queries without padding. Of an image, the row
    has the rollout through all layers, and at most eight heads of the last layer.

    Args:
        arrays: of texts, `weights` (N, H, T, S) and `tokens` (N, S), "" for padding; of images,
            `weights` (N, 1 + H, rows, columns), the rollout first, and `pixels` (N, height, width,
            channels) of bytes. `prediction` (N,) has names of classes; if the classes are known
            `label` (N,), too, and `index` (N,), rows of predictions.csv.
        metrics: metrics.json of the run.
    """
    if "pixels" in arrays:
        title, heads = "attention on images", arrays["weights"].shape[1] - 1
        subtitle = "brightest: the largest weight of a map; heads are those of the last layer"
        subtitle += f", {_MOST_HEADS} of {heads}" if heads > _MOST_HEADS else ""
        images = sorted(_image_maps(arrays), key=lambda image: image.is_right)
        record: Frame = ImageMaps(images, _image_names(images))
    else:
        title = "attention on words"
        subtitle = "mean over heads and queries; darkest: the largest weight of a text"
        record = ShadedWords(sorted(_shaded_texts(arrays), key=lambda text: text.is_right))
    return figure(f"{run_title(metrics)}: {title}", subtitle, [[record]])


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the recorded epochs for each run with attention."""
    return attention_by_run(runs, _slider)


def _slider(run: ReportedRun) -> list[Record]:
    recorded = read_attention(run.run)
    if recorded is None:
        raise RequestError(f"{run.run.name}: it has no attention.npz.")
    epochs = [recorded.at(epoch) for epoch in recorded.epochs]
    records: list[list[Frame]]
    if "pixels" in epochs[0]:
        frames = [_image_maps(arrays) for arrays in epochs]
        # A page also has the image at each epoch.
        size = len(frames) * sum(max(each.size, _CELLS) for each in frames[0][0].weights)
        count = max(run.room // (size + len(frames) * _CELLS), 1)
        records = [[ImageMaps(images[:count], _image_names(images))] for images in frames]
        note = _OF_IMAGES
    else:
        texts = fitting([_shaded_texts(arrays) for arrays in epochs], run.room)
        names = map_names(epochs[0]["weights"].shape[1], len(texts[0][0].weights))
        records, note = [[ShadedWords(items, names)] for items in texts], _OF_WORDS
    return [Text(note, "note"), Slider(run.epochs(recorded.epochs), records)]


def _image_names(images: Sequence[ImageMap]) -> list[str]:
    return ["rollout", *(f"head {number}" for number in range(1, len(images[0].weights)))]


def _image_maps(arrays: Arrays) -> list[ImageMap]:
    weights = np.nan_to_num(np.asarray(arrays["weights"], np.float32)[:, : 1 + _MOST_HEADS])
    return [
        ImageMap(arrays["pixels"][row], weights[row], *_answer(arrays, row, "image"))
        for row in range(len(weights))
    ]


def _shaded_texts(arrays: Arrays) -> list[ShadedText]:
    is_word = arrays["tokens"] != ""
    weights = word_weights(np.nan_to_num(np.asarray(arrays["weights"], np.float64)), is_word)
    return [
        ShadedText(
            arrays["tokens"][row][is_word[row]].tolist(),
            mean_and_heads(weights[row][:, is_word[row]]),
            *_answer(arrays, row, "text"),
            notes=UNNAMED,
        )
        for row in range(len(weights))
    ]


def _answer(arrays: Arrays, row: int, noun: str) -> tuple[str, str | None, str]:
    """Return the prediction, the label if it is known, and which test item it is."""
    label = str(arrays["label"][row]) if "label" in arrays else None
    which = f"test {noun} {arrays['index'][row]}" if "index" in arrays else ""
    return str(arrays["prediction"][row]), label, which
