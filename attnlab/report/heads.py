"""What the attention heads of a run look at: a table of an epoch, a chart over epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attnlab.comparison.charts import curve_columns, curves_chart
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import Task
from attnlab.tasks.kinds import kind_of
from attnlab.tasks.shown.run_figures import run_title
from attnlab.views.records import Curve, Curves, Figure, figure

LEFT = ("on", "layer", "head")  # columns that say which head, on which inputs
Row = Mapping[str, Any]

_REPEATED, _LONGEST = "repeated", 25  # random tokens that are said twice
_CHARTS = {
    "induction": "induction score",
    "share": "entropy / largest entropy",
    "entropy": "entropy (nats)",
}


def head_rows(task: Task, model: Any, part: str, items: int) -> Iterator[dict[str, Any]]:
    """Yield the measures of each head of a model; None for one that is not defined.

    They are measured on items of a part of the data, and, if the model reads one sequence of
    tokens, on as many rows of random tokens said twice.

    Raises:
        RequestError: there is no such part, or the model has no attention to measure.
    """
    from attnlab.attention.head_measures import measured, recorded

    for name, data, tokens in _inputs(task, model, part, items):
        with recorded(model) as found:
            model(data, training=False)
        if not found:
            raise RequestError(
                "RUN: it has no attention layer of attnlab, so there are no heads to measure."
            )
        for layer, looked in found.items():
            measures = measured(looked, tokens)
            for head in range(looked.weights.shape[1]):
                values = {key: float(each[head]) for key, each in measures.items()}
                numbers = {k: None if math.isnan(v) else v for k, v in values.items()}
                yield {"on": name, "layer": layer, "head": head + 1, **numbers}


def _inputs(task: Task, model: Any, part: str, items: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield names, inputs of the model, and their tokens or None."""
    import numpy as np

    from attnlab.text.tokenizers import END

    try:
        inputs, tokens = task.head_inputs(model, part, items)
    except NotImplementedError as error:
        raise RequestError(
            f"RUN: tasks of {task.kind.name} have no inputs to measure heads on."
        ) from error
    yield part, inputs, tokens
    if tokens is not None and tokens.shape[1] > 1 and not model.fixed_length:
        words = np.unique(tokens[tokens > END]) if tokens.max() > END else np.unique(tokens)
        shape = items, min(_LONGEST, tokens.shape[1] // 2)
        half = np.random.default_rng(0).choice(words[words >= 0], shape)
        twice = np.tile(half, 2).astype(inputs.dtype)
        yield _REPEATED, twice, twice


def head_cells(rows: Sequence[Row], left: Sequence[str]) -> tuple[list[str], list[list]]:
    """Return the header and the cells of a table, without measures that no head has."""
    columns = [name for name in rows[0] if name not in left]
    columns = [name for name in columns if any(row[name] is not None for row in rows)]
    numbers = [["-" if row[n] is None else f"{row[n]:.3f}" for n in columns] for row in rows]
    words = [[str(row[name]) for name in left] for row in rows]
    return [*left, *columns], [[*a, *b] for a, b in zip(words, numbers, strict=True)]


def heads_figure(run: RunDirectory, rows: Sequence[Row]) -> Figure:
    """Draw a measure of each head over epochs, above the run's validation metric.

    Args:
        run: the run.
        rows: of `head_rows`, each with its `epoch`.

    Raises:
        RequestError: no measure is defined, or the history can't be read.
    """
    course, kind = _course(rows), kind_of(run.read_task())
    histories = {"validation": [run.history.read()]}
    column = curve_columns(histories, kind.scoring.reported, kind)[-1]
    progress = curves_chart(column, histories, {"validation": 0}, kind)
    charts = [
        replace(course, title="", same_x=True),
        replace(progress, title="", legend="none"),
    ]
    title = f"{run_title(run.status.read())}: what heads do"
    return figure(title, course.title, [[chart] for chart in charts], (8.0, 5.0))


def _course(rows: Sequence[Row]) -> Curves:
    """Return a chart over epochs, a curve per head.

    It shows the induction score, on random tokens if possible; without tokens, how spread out the
    weights are.
    """
    defined = {(row["on"], name) for row in rows for name in _CHARTS if row[name] is not None}
    if not defined:
        raise RequestError("RUN: no measure of its heads is defined.")
    names = [*_CHARTS]
    on, measure = min(defined, key=lambda pair: (names.index(pair[1]), pair[0] != _REPEATED))
    epochs = list(dict.fromkeys(row["epoch"] for row in rows))
    values: dict[str, dict[int, float | None]] = {}
    for row in (row for row in rows if row["on"] == on):
        curve = values.setdefault(f"{row['layer']}, head {row['head']}", {})
        curve[row["epoch"]] = row[measure]
    curves = [
        Curve(label, [by_epoch.get(epoch) for epoch in epochs], number)
        for number, (label, by_epoch) in enumerate(values.items())
    ]
    where = "random tokens said twice" if on == _REPEATED else f"the {on} part"
    title = f"{_CHARTS[measure]} of each head on {where}"
    numbers = [y for curve in curves for y in curve.y if y is not None]
    fits = measure != "entropy" and 0 <= min(numbers) and max(numbers) <= 1
    limits = (0.0, 1.0) if fits else None
    return Curves(title, "epoch", _CHARTS[measure], epochs, curves, y_limits=limits)
