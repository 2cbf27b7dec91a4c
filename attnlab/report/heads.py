"""What the attention heads of a run look at: a table of an epoch, a chart over epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnlab.comparison.charts import curve_columns, curves_chart
from attnlab.comparison.metrics import reported_metric
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import Task
from attnlab.tasks.kinds import kind_of
from attnlab.tasks.shown.run_figures import run_title
from attnlab.text.tokenizers import END
from attnlab.views.records import Curve, Curves, Figure, figure

LEFT = ("epoch", "on", "layer", "head")  # columns that say which head, on which inputs
Row = Mapping[str, Any]

_TEST = "test"
_REPEATED, _LONGEST = "repeated", 25  # random tokens that are said twice
# Measures in words; the first that a model has is drawn.
_NAMES = {"induction": "induction score", "share": "entropy / largest entropy"}


def head_rows(task: Task, model: Any, items: int) -> Iterator[dict[str, Any]]:
    """Yield the measures of each head of a model; None for one that is not defined.

    They are measured on test items, and, if the model reads one sequence of tokens, on as many rows
    of random tokens said twice.

    Raises:
        RequestError: the model has no attention to measure.
    """
    from attnlab.attention.head_measures import measure_heads, record_attention

    data, tokens = task.head_inputs(model, _TEST, items)
    inputs = [(_TEST, data, tokens)]
    if tokens is not None and tokens.shape[1] > 1 and not model.fixed_length:
        words = np.unique(tokens[tokens > END]) if tokens.max() > END else np.unique(tokens)
        shape = items, min(_LONGEST, tokens.shape[1] // 2)
        half = np.random.default_rng(0).choice(words[words >= 0], shape)
        twice = np.tile(half, 2).astype(data.dtype)
        inputs.append((_REPEATED, twice, twice))
    for name, data, tokens in inputs:
        with record_attention(model) as layers:
            model(data, training=False)
        if not layers:
            raise RequestError(
                "RUN: it has no attention layer of attnlab, so there are no heads to measure."
            )
        for layer, recording in layers.items():
            measures = measure_heads(recording, tokens)
            for head in range(recording.weights.shape[1]):
                numbers = {key: float(values[head]) for key, values in measures.items()}
                defined = {k: None if math.isnan(v) else v for k, v in numbers.items()}
                yield {"on": name, "layer": layer, "head": head + 1, **defined}


def head_cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells of a table, without measures that no head has."""
    header = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return header, [[_cell(row[name]) for name in header] for row in rows]


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)


def heads_figure(run: RunDirectory, rows: Sequence[Row], measure: str | None = None) -> Figure:
    """Draw a measure of each head over epochs, above the run's validation metric.

    Args:
        run: the run.
        rows: of `head_rows`, each with its `epoch`.
        measure: a column of the rows; None: the induction score, else how spread out weights are.

    Raises:
        RequestError: no head has the measure, or the history can't be read.
    """
    course, kind, status = _course(rows, measure), kind_of(run.read_task()), run.status.read()
    histories = {"validation": [run.history.read()]}
    metric = reported_metric(run.read_metrics() if status["state"] == "completed" else {}, kind)
    column = curve_columns(histories, metric, kind)[-1]
    progress = curves_chart(column, histories, {"validation": 0}, kind)
    charts = [replace(course, title="", same_x=True), replace(progress, title="", legend="none")]
    title = f"{run_title(status)}: what heads do"
    return figure(title, course.title, [[chart] for chart in charts], (8.0, 5.0))


def _course(rows: Sequence[Row], measure: str | None = None) -> Curves:
    """Return a chart of a measure over epochs, a curve per head; on random tokens if possible."""
    columns = [name for name in head_cells(rows)[0] if name not in LEFT]
    measure = measure or next((name for name in (*_NAMES, *columns) if name in columns), "any")
    if measure not in columns:
        names = ", ".join(columns) or "none"
        raise RequestError(f"--measure={measure}: the measures of these heads are: {names}.")
    defined = {row["on"] for row in rows if row[measure] is not None}
    on = _REPEATED if _REPEATED in defined else _TEST
    by_head: dict[str, list[float | None]] = {}
    for row in rows:
        if row["on"] == on:
            values = by_head.setdefault(f"{row['layer']}, head {row['head']}", [])
            values.append(row[measure])
    curves = [Curve(label, by_head[label], number) for number, label in enumerate(by_head)]
    where = "random tokens said twice" if on == _REPEATED else "the test part"
    epochs, name = list(dict.fromkeys(row["epoch"] for row in rows)), _NAMES.get(measure, measure)
    title = f"{name} of each head on {where}"
    return Curves(title, "epoch", name, epochs, curves)
