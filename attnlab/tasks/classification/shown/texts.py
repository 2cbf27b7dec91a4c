"""The attention of a classifier on words: a figure, and a slider over the epochs for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import Arrays, read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.task import word_weights
from attnlab.tasks.shown.attention_by_epoch import fitting, map_names, mean_and_heads
from attnlab.tasks.shown.run_figures import run_title
from attnlab.text.unknown import UNNAMED
from attnlab.views.records import Figure, Record, ShadedText, ShadedWords, Slider, Text, figure

_NOTE = (
    "The darker a word, the larger its weight, a mean over the queries of self-attention; the "
    "darkest has the largest weight of its text. Point at the predicted class, or reach it by Tab, "
    "to read the largest weights. Dotted: another class than at the previous epoch."
)


def attention_figure(arrays: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention on the words of texts, wrongly classified ones first.

    Weights are means over heads and over queries without padding.

    Args:
        arrays: `weights` (N, H, T, S); `tokens` (N, S), "" for padding; `prediction` (N,), names of
            classes; if the classes are known also `label` (N,), and `index` (N,), rows of
            predictions.csv.
        metrics: metrics.json of the run.
    """
    subtitle = "mean over heads and queries; darkest: the largest weight of a text"
    texts = sorted(_shaded_texts(arrays), key=lambda text: text.is_right)
    title = f"{run_title(metrics)}: attention on words"
    return figure(title, subtitle, [[ShadedWords(texts)]])


def attention_slider(run: ReportedRun) -> list[Record]:
    """Return a note and a slider over the recorded epochs of a run.

    Raises:
        RequestError: the run has no attention.npz of words.
    """
    recorded = read_attention(run.run)
    if recorded is None or "tokens" not in recorded.final():
        raise RequestError(f"{run.run.name}: it has no attention.npz of words.")
    frames = fitting([_shaded_texts(recorded.at(epoch)) for epoch in recorded.epochs], run.room)
    maps = map_names(recorded.final()["weights"].shape[1], len(frames[0][0].weights))
    records = [[ShadedWords(texts, maps)] for texts in frames]
    return [Text(_NOTE, "note"), Slider(run.epochs(recorded.epochs), records)]


def _shaded_texts(arrays: Arrays) -> list[ShadedText]:
    is_word = arrays["tokens"] != ""
    weights = word_weights(np.nan_to_num(np.asarray(arrays["weights"], np.float64)), is_word)
    return [
        ShadedText(
            arrays["tokens"][row][is_word[row]].tolist(),
            mean_and_heads(weights[row][:, is_word[row]]),
            str(arrays["prediction"][row]),
            str(arrays["label"][row]) if "label" in arrays else None,
            f"test text {arrays['index'][row]}" if "index" in arrays else "",
            notes=UNNAMED,
        )
        for row in range(len(weights))
    ]
