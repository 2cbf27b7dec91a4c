"""Show a forecaster's recorded attention weights: a figure, and records per epoch for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import Arrays, read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.shown.attention_by_epoch import attention_by_run
from attnlab.tasks.shown.run_figures import result_line, run_title
from attnlab.views.records import (
    BLUE,
    INK,
    Axis,
    Curve,
    Curves,
    Figure,
    Frame,
    Grid,
    Maps,
    Mark,
    Record,
    Slider,
    Strip,
    Strips,
    figure,
)

_LAG_STEPS = (1, 2, 3, 4, 6, 12, 24, 48, 60, 120, 240, 480, 1200)


def attention_figure(example: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw the recorded attention weights of one epoch; see `ForecastLearner.examples`.

    With one query per window: the window that varies most, with its weights; a map with a row per
    window and head; the mean weight of each lag. With many queries: a map of queries by memory per
    head, averaged over windows, and the mean weight of each lag.
    """
    weights, history = example["weights"].astype(float), example["history"]
    (windows, _), (_, heads, queries, steps) = history.shape, weights.shape
    lags = _lags_chart(example["lags"], _end(example))
    title, result = f"{run_title(metrics)}: attention", result_line(metrics, KIND)
    if queries > 1:
        maps = _head_maps(example)
        height = 2.5 * math.ceil(heads / maps.across)
        grids = [Grid([[maps]], height=height), Grid([[lags]], height=1.7)]
        subtitle = f"mean of {windows} test windows   {result}"
        return Figure(title, subtitle, grids, (9, height + 2.3))
    labels = example["labels"].tolist()
    most = int(np.ptp(history, axis=1).argmax())  # a flat history would show nothing
    name = f"history before {labels[most]} ({metrics.get('units', '')})"
    strips = Strips([Strip(name, history[most], weights[most, :, 0].mean(axis=0))], "")
    middles = np.arange(windows) * heads + (heads - 1) / 2
    y = Axis("forecast for", list(zip(middles.tolist(), labels, strict=True)))
    rows = Maps([], weights.reshape(1, windows * heads, steps), y=y, together=heads)
    shown = f"{windows} test windows" + (f", a row for each of {heads} heads" if heads > 1 else "")
    middle = min(max(0.16 * windows * heads, 1.6), 4.2)
    size, heights = (9, middle + 3.4), (1.5, middle, 1.3)
    return figure(title, f"{shown}   {result}", [[strips], [rows], [lags]], size, heights)


def _end(example: Arrays) -> str:
    """Return what lags are counted from; several queries of a decoder differ in targets."""
    return "target" if len(example.get("ahead", ())) < 2 else "forecast"


def _lags_chart(mean: np.ndarray, end: str) -> Curves:
    """Draw the mean weight of each memory position, labelled by its lag."""
    steps = len(mean)
    return Curves(
        f"dashed: equal weights, 1/{steps}",
        f"steps before the {end}",
        "mean weight",
        range(steps),
        [Curve("", mean, BLUE, form="bars")],
        marks=[Mark(y=1 / steps, colour=INK, dashes="--")],
        legend="none",
        x_limits=(-0.5, steps - 0.5),
        x_ticks=_lag_ticks(steps, steps, most=12),
    )


def _head_maps(example: Arrays) -> Maps:
    """Draw a map of queries by memory for each head, averaged over the windows."""
    weights = np.nan_to_num(example["weights"][0].astype(float))
    (heads, rows, columns), steps = weights.shape, example["history"].shape[1]
    ends = (f"{steps} before", "1")
    x = Axis(f"memory, steps before the {_end(example)}", _lag_ticks(steps, columns, most=5), ends)
    y = Axis("query, steps before the target", _lag_ticks(steps, rows, most=5), ends)
    if "ahead" in example:
        ahead = example["ahead"].tolist()
        places = range(0, len(ahead), math.ceil(len(ahead) / 6))
        ticks = [(place * rows / len(ahead), str(ahead[place])) for place in places]
        y = Axis("query, its first step ahead", ticks, (str(ahead[0]), str(ahead[-1])))
    names = [f"head {number + 1}" for number in range(heads)] if heads > 1 else ["all queries"]
    return Maps(names, weights, x, y)


def _lag_ticks(steps: int, cells: int, most: int) -> list[tuple[float, str]]:
    """Label `cells` for the lags S .. 1 of S steps, at multiples of a round number."""
    every = next((step for step in _LAG_STEPS if steps / step <= most), steps)
    return [((steps - lag) * cells / steps, str(lag)) for lag in range(every, steps + 1, every)]


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run that attends."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    recorded = read_attention(run.run)
    if recorded is None:
        raise RequestError(f"{run.run.name} has no attention.npz.")
    examples = [recorded.at(epoch) for epoch in recorded.epochs]
    over = None
    if len(examples) > 1:
        lags = np.stack([example["lags"] for example in examples])
        ends = (f"{lags.shape[1]} steps before the {_end(examples[0])}", "1")
        rows = [(float(n), f"epoch {epoch}") for n, epoch in enumerate(recorded.epochs)]
        title = "Mean weight by epoch: from the first (top) to the last"
        over = Maps([title], lags[None], Axis("", (), ends), Axis("", rows))
    return [Slider(run.epochs(recorded.epochs), [_frame(example) for example in examples], over)]


def _frame(example: Arrays) -> list[Frame]:
    """Return the records of one epoch."""
    weights = np.nan_to_num(example["weights"].astype(float))
    windows, heads, queries, steps = weights.shape
    if queries > 1:
        return [_head_maps(example)]
    mean = weights.mean(axis=(1, 2))
    strips = [
        Strip(f"before {label}", history, values)
        for label, history, values in zip(example["labels"], example["history"], mean, strict=True)
    ]
    of_heads = f" Means of {heads} heads." if heads > 1 else ""
    lags = f"Columns: steps before the target, the newest at the right.{of_heads}"
    records: list[Frame] = [Strips(strips, lags)]
    if heads > 1:
        memory = f"memory, steps before the target; mean of {windows} test windows"
        x = Axis(memory, (), (f"{steps} before", "1"))
        y = Axis("heads", (), ("head 1", f"head {heads}"))
        records.append(Maps(["heads"], weights.mean(axis=0)[None, :, 0], x, y))
    return records
