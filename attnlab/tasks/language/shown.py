"""Views of language models and masked words: learning, samples, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Arrays, Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.language.kind import KIND, MASKED_WORDS
from attnlab.tasks.shown.attention_by_epoch import (
    attention_sliders,
    fitting,
    layer_maps,
    recorded_attention,
    records_by_run,
)
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.views.records import (
    BLUE,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Figure,
    Record,
    Table,
    Text,
    figure,
    head_maps,
)

_PANELS = {
    "loss (nats per token)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (bits per byte)": {"val_bits_per_byte": ("validation", BLUE)},
    "validation (share of right answers)": {"val_accuracy": ("answers", BLUE)},
}
_SHOWN = 48  # most tokens on a map of attention
_NAMES = ("tokens that are looked at", "", "token that looks")
_NOTE = "↵ is a line break."
_START_NOTE = (
    "The first 8 tokens of each text are those of the test part; the model drew the others."
)


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name; see `Views`."""
    kind = MASKED_WORDS if metrics["task"] == MASKED_WORDS.name else KIND
    result = result_line(metrics, kind, "loss")
    drawn = {"loss.png": learning_figure(run.history.read(), metrics, _PANELS, result)}
    recorded = read_attention(run)
    if recorded and "weights" in (final := recorded.final()):
        title = f"{run_title(metrics)}: attention of the last layer"
        labels = final["tokens"].tolist()
        drawn["attention.png"] = text_figure(_by_layer(final)[-1:], labels, title)
    return drawn


def text_figure(weights: np.ndarray, labels: Sequence[str], title: str) -> Figure:
    """Draw where each token of a text looks: weights (L, H, T, T), a map per head."""
    last = [*labels[-_SHOWN:]]
    maps = head_maps(weights[..., -_SHOWN:, -_SHOWN:].astype(np.float64), last, last)
    cut = f"; the last {len(last)} of {len(labels)} tokens" * (len(last) < len(labels))
    return figure(title, f"rows: tokens; columns: those that they look at{cut}", [[maps]])


# On a page


def sample_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return what the model of each run on texts writes, epoch by epoch."""

    def samples(run: ReportedRun) -> list[Record]:
        recorded = recorded_attention(run)
        notes = run.epochs(recorded.epochs).notes
        texts = (" ".join(str(recorded.at(epoch)["sample"]).split()) for epoch in recorded.epochs)
        rows = [[*map(str, row)] for row in zip(recorded.epochs, texts, notes, strict=True)]
        table = Table("", ["epoch", "text", "validation"], rows, words=3, prose=True)
        return [Text(_START_NOTE, "note"), table]

    runs = [run for run in runs if "sample" in run.metrics]
    return [*records_by_run(runs, samples, "Samples")]


def attention_records(runs: Sequence[ReportedRun]) -> Sequence[Record]:
    """Return a slider over the epochs for each run."""
    return attention_sliders(runs, _frames)


def _frames(recorded: Recorded, room: int) -> tuple[str, list[list[AttentionMaps]]]:
    items = []
    for arrays in recorded.by_epoch.values():
        names, maps = layer_maps(_by_layer(arrays), "last layer")
        labels = arrays["tokens"].tolist()
        items.append([AttentionMap(labels, labels, maps)])
    return _NOTE, [[AttentionMaps(shown, names, _NAMES)] for shown in fitting(items, room)]


def _by_layer(arrays: Arrays) -> np.ndarray:
    """Return the recorded weights (L, H, T, T); older files have only those of the last layer."""
    weights = arrays["weights"].astype(np.float64)
    return weights.reshape(-1, *weights.shape[-3:])


VIEWS = Views(
    figures,
    {"Samples": sample_records, "Attention": attention_records},
)
