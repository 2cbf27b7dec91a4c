"""Views of language models and masked words: learning, lengths, answers, samples, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.declaration import Kind
from attnlab.tasks.language.kind import KIND, MASKED_WORDS
from attnlab.tasks.shown.attention_by_epoch import (
    attention_by_run,
    map_names,
    mean_and_heads,
    recorded_attention,
    records_by_run,
)
from attnlab.tasks.shown.item_tables import (
    Cells,
    items_table,
    mean_of,
    of_same_items,
)
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Curve,
    Curves,
    Figure,
    Mark,
    Record,
    Slider,
    Table,
    Text,
    figure,
)

_PANELS = {
    "loss (nats per token)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (bits per byte)": {"val_bits_per_byte": ("validation", BLUE)},
    "validation (share of right answers)": {"val_accuracy": ("answers", BLUE)},
}
_NAMES = ("tokens that are looked at", "", "token that looks")
_NOTE = "Each row is a token; columns are the tokens that it looks at. ↵ is a line break."
_START_NOTE = (
    "The first 8 tokens of each text are those of the test part; the model drew the others."
)


# Figures


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name; see `Views`."""
    result = result_line(metrics, _kind(metrics), "loss")
    learning = learning_figure(run.history.read(), metrics, _PANELS, result)
    panels = [_with_baselines(panel, metrics) for panel in learning.grids[0].rows[0]]
    drawn = {"loss.png": figure(learning.title, learning.subtitle, [panels], learning.size)}
    if lengths := metrics.get("by_length"):
        title = f"{run_title(metrics)}: results by length"
        curves = [
            Curve("answers", lengths["accuracy"], form="line and dots"),
            Curve("rows without a fault", lengths["whole_rows"], ORANGE, form="line and dots"),
        ]
        chart = _length_chart(lengths["length"], curves, lengths)
        drawn["length.png"] = figure(title, result, [[chart]], (7.0, 4.0))
    recorded = read_attention(run)
    if recorded and "weights" in (final := recorded.final()):
        title = f"{run_title(metrics)}: attention of the last layer"
        labels = final["tokens"].tolist()
        drawn["attention.png"] = text_figure(final["weights"][None], labels, title)
    return drawn


def _kind(metrics: Mapping[str, Any]) -> Kind:
    return MASKED_WORDS if metrics["task"] == MASKED_WORDS.name else KIND


def _with_baselines(panel: Record, metrics: Mapping[str, Any]) -> Record:
    """Return a panel of learning curves with the baselines' test values as lines."""
    if not isinstance(panel, Curves):
        return panel
    metric = "accuracy" if "right answers" in panel.y_label else "bits_per_byte"
    if metric not in metrics["test"] or "loss" in panel.y_label:
        return panel
    marks = [
        Mark(
            y=scores[metric], label=f"{name} (test) {scores[metric]:.3g}", colour=GREY, dashes="--"
        )
        for name, scores in metrics["baselines"].items()
        if scores.get(metric) is not None
    ]
    return replace(panel, marks=[*panel.marks, *marks])


def _length_chart(
    lengths: Sequence[int], curves: Sequence[Curve], by_length: Mapping[str, Any]
) -> Curves:
    """Return curves over lengths, with a line at the longest one of train."""
    pairs = zip(by_length["length"], by_length["longer"], strict=True)
    first = next((length for length, longer in pairs if longer), 0)
    marks = [Mark(x=first - 0.5, label="longer than in train", dashes="--")] if first else []
    axes = "length of a row", "share of right answers"
    return Curves("", *axes, lengths, curves, marks=marks, y_limits=(0.0, 1.02))


def text_figure(weights: np.ndarray, labels: Sequence[str], title: str) -> Figure:
    """Draw where each token of a text looks: weights (L, H, T, T), a row of maps per layer."""
    layers, heads, *size = weights.shape
    item = AttentionMap(labels, labels, weights.reshape(-1, *size).astype(np.float64))
    names = [f"head {number}" for number in range(1, heads + 1)]
    maps = AttentionMaps([item], names, _NAMES, layers=layers)
    return figure(title, "rows: tokens; columns: those that they look at", [[maps]])


# On a page


def length_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return the accuracy by length of all runs of tasks with rows of several lengths."""
    tables = [(run, run.metrics["by_length"]) for run in runs if "by_length" in run.metrics]
    if not tables:
        return []
    lengths = sorted({length for _, table in tables for length in table["length"]})
    curves = []
    for run, table in tables:
        shares = dict(zip(table["length"], table["accuracy"], strict=True))
        values = [shares.get(length) for length in lengths]
        curves.append(Curve(run.label, values, run.colour, form="line and dots"))
    return [_length_chart(lengths, curves, tables[0][1])]


def answer_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of answers: those with the smallest probability, and some others."""
    runs = [run for run in runs if run.metrics.get("metric") == "accuracy"]
    names = ("text", "answer", "prediction", "right", "p_answer")
    if not runs:
        return []
    tables, texts = of_same_items(runs, _kind(runs[0].metrics), names, names[:2])
    if not tables:
        return texts
    order = np.argsort(mean_of(tables, "p_answer"), kind="stable")
    what = "answers, by the probability p of the right one"
    cells = [
        Cells("prediction", lambda columns, row: str(columns["prediction"][row]), "says {label}"),
        Cells("p", lambda columns, row: f"{columns['p_answer'][row]:.3f}"),
    ]
    return [items_table(tables, order, what, [Cells("text"), Cells("answer")], cells), *texts]


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


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run."""
    return attention_by_run(runs, _maps)


def _maps(run: ReportedRun) -> list[Record]:
    recorded = recorded_attention(run)
    frames = []
    for epoch in recorded.epochs:
        arrays = recorded.at(epoch)
        weights, labels = arrays["weights"].astype(np.float64), arrays["tokens"].tolist()
        maps = mean_and_heads(weights)
        item = AttentionMap(labels, labels, maps)
        frames.append([AttentionMaps([item], map_names(len(weights), len(maps)), _NAMES)])
    return [Text(_NOTE, "note"), Slider(run.epochs(recorded.epochs), frames)]


VIEWS = Views(
    figures,
    {
        "Lengths": length_records,
        "Answers": answer_records,
        "Samples": sample_records,
        "Attention": attention_records,
    },
)
