"""Show a forecaster's attention weights: a figure, and records per epoch for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import window_labels
from attnlab.tasks.shown.attention_by_epoch import (
    attention_by_epoch,
    attention_by_run,
    by_epoch_or_best,
)
from attnlab.tasks.shown.run_figures import read_attention, result_line, run_title
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

_MOST_WINDOWS, _MOST_HEADS = 8, 8
_LAG_STEPS = (1, 2, 3, 4, 6, 12, 24, 48, 60, 120, 240, 480, 1200)
_COARSEST, _FINEST = 16, 64  # fewest and most cells per side of a map on a page
_LAGS = "Columns: steps before the target, the newest at the right."


# Figure


def attention_figure(
    weights: np.ndarray,
    history: np.ndarray,
    labels: Sequence[str],
    metrics: Mapping[str, Any],
    ahead: np.ndarray | None = None,
) -> Figure:
    """Draw the attention weights of some test windows.

    With one query per window: the window that varies most, with its weights; a map with a row per
    window and head; the mean weight of each lag. With many queries: a map of queries by memory per
    head, averaged over windows, and the mean weight of each lag.

    Args:
        weights: (N, H, T, S), before dropout.
        history: (N, S) in natural units, newest last.
        labels: the time or index of each window's first target.
        metrics: the run's.
        ahead: (T,) the first step that each query of a decoder forecasts; None: self-attention,
            whose queries are the history's steps.
    """
    weights, history = weights[:_MOST_WINDOWS], history[:_MOST_WINDOWS]
    if weights.shape[2] == 1:
        return _one_query(weights[:, :, 0], history, labels[:_MOST_WINDOWS], metrics)
    return _many_queries(weights, metrics, ahead)


def _one_query(
    weights: np.ndarray, history: np.ndarray, labels: Sequence[str], metrics: Mapping[str, Any]
) -> Figure:
    windows, heads, steps = weights.shape
    most = int(np.ptp(history, axis=1).argmax())  # a flat history would show nothing
    name = f"history before {labels[most]} ({metrics.get('units', '')})"
    example = Strips([Strip(name, history[most], weights[most].mean(axis=0))], "")
    middles = np.arange(windows) * heads + (heads - 1) / 2
    rows = weights.reshape(1, windows * heads, steps)
    y = Axis("forecast for", list(zip(middles.tolist(), labels, strict=True)))
    heat = Maps([], rows, y=y, together=heads)
    lags = _lags_chart(weights.mean(axis=(0, 1)), "target")
    shown = f"{windows} test windows" + (f", a row for each of {heads} heads" if heads > 1 else "")
    middle = min(max(0.16 * windows * heads, 1.6), 4.2)
    return figure(
        f"{run_title(metrics)}: attention",
        f"{shown}   {result_line(metrics, KIND)}",
        [[example], [heat], [lags]],
        (9, middle + 3.4),
        (1.5, middle, 1.3),
    )


def _lags_chart(mean: np.ndarray, end: str) -> Curves:
    """Draw the mean weight of each memory position, labelled by its lag."""
    steps = len(mean)
    equal = f"dashed: equal weights, 1/{steps}"
    return Curves(
        equal,
        f"steps before the {end}",
        "mean weight",
        range(steps),
        [Curve("", mean, BLUE, form="bars")],
        marks=[Mark(y=1 / steps, colour=INK, dashes="--")],
        legend="none",
        x_limits=(-0.5, steps - 0.5),
        x_ticks=_lag_ticks(steps, most=12),
    )


def _many_queries(
    weights: np.ndarray, metrics: Mapping[str, Any], ahead: np.ndarray | None
) -> Figure:
    windows, all_heads, _, steps = weights.shape
    end = "target" if ahead is None else "forecast"
    maps = _head_maps(weights[:, :_MOST_HEADS], ahead)
    heads = len(maps.weights)
    lines = math.ceil(heads / maps.across)
    shown = f"mean of {windows} test windows"
    if all_heads > heads:
        shown += f", {heads} of {all_heads} heads"
    grids = [
        Grid([[maps]], height=2.5 * lines),
        Grid([[_lags_chart(weights.mean(axis=(0, 1, 2)), end)]], height=1.7),
    ]
    subtitle = f"{shown}   {result_line(metrics, KIND)}"
    return Figure(f"{run_title(metrics)}: attention", subtitle, grids, (9, 2.5 * lines + 2.3))


def _head_maps(weights: np.ndarray, ahead: Sequence[int] | np.ndarray | None) -> Maps:
    """Draw a map of queries by memory for each head, averaged over the windows."""
    _, heads, queries, steps = weights.shape
    end = "target" if ahead is None else "forecast"
    x = Axis(f"memory, steps before the {end}", _lag_ticks(steps, most=5))
    if ahead is None:
        y = Axis("query, steps before the target", _lag_ticks(queries, most=5))
    else:
        places = range(0, queries, math.ceil(queries / 6))
        y = Axis("query, its first step ahead", [(place, str(ahead[place])) for place in places])
    names = [f"head {number + 1}" for number in range(heads)] if heads > 1 else []
    return Maps(names, weights.mean(axis=0), x, y)


def _lag_ticks(steps: int, most: int) -> list[tuple[float, str]]:
    """Label positions 0 .. S-1 by their lags S .. 1, at multiples of a round number."""
    every = next((step for step in _LAG_STEPS if steps / step <= most), steps)
    return [(steps - lag, str(lag)) for lag in range(every, steps + 1, every)]


# A page


class _Learned(NamedTuple):
    """A run's attention weights at each epoch."""

    epochs: list[int]
    weights: np.ndarray  # (E, N, H, T, S)
    history: np.ndarray  # (N, S) in natural units
    labels: list[str]  # of windows
    ahead: Sequence[int] | None  # first step that each query of a decoder forecasts

    @property
    def end(self) -> str:
        """Return what lags are counted from; several queries of a decoder differ in targets."""
        return "target" if self.ahead is None or len(self.ahead) == 1 else "forecast"


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run that attends."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    learned, problems = by_epoch_or_best(run, _by_epoch, _best)
    frames = [_frame(learned, weights, run.room) for weights in learned.weights]
    over = _over_epochs(learned) if len(learned.epochs) > 1 else None
    slider = Slider(run.epochs(learned.epochs), frames, over)
    return [slider, *problems, *run.problems()]


def _by_epoch(run: ReportedRun) -> _Learned:
    """Compute the weights of epochs; raises `RequestError` without attention or checkpoints."""
    task: Any = run.task()
    run.load_data()
    test = task.splits.test
    rows = test.spread(_MOST_WINDOWS)
    epochs, found, ahead = [], [], None
    for epoch, model, weights in attention_by_epoch(run, test.history[rows]):
        epochs.append(epoch)
        found.append(weights[:, :_MOST_HEADS])
        ahead = model.ahead
    shown = test.take(rows)
    history = task.report_units(shown.history[:, :, 0], shown)
    labels = [str(time) for time in shown.times[:, 0]]
    if shown.ids is not None:
        labels = [f"{name} {label}" for name, label in zip(shown.ids, labels, strict=True)]
    return _Learned(epochs, np.stack(found), history, labels, ahead)


def _best(run: ReportedRun) -> _Learned | None:
    """Read the weights of the best epoch from attention.npz; None if that file is missing."""
    kept = read_attention(run.run)
    if kept is None or not {"index", "weights", "history"} <= kept.keys():
        return None
    labels = [f"index {at}" for at in kept["index"]]
    with suppress(RequestError, KeyError):
        table = run.run.read_predictions(KIND.scoring.text_columns)
        labels = window_labels(kept["index"], table, kept.get("ids"))
    weights = kept["weights"][None, :, :_MOST_HEADS]
    epochs = [int(run.metrics.get("best_epoch", 1))]
    return _Learned(epochs, weights, kept["history"], labels, kept.get("ahead"))


def _frame(learned: _Learned, weights: np.ndarray, room: int) -> list[Frame]:
    """Return the records of one epoch from its weights (N, H, T, S)."""
    weights = np.nan_to_num(weights)
    _, heads, queries, _ = weights.shape
    found: list[Frame] = []
    if queries == 1:
        labels, mean = learned.labels, weights.mean(axis=(1, 2))
        order = sorted(range(len(labels)), key=lambda n: (len(labels[n]), labels[n]))  # as numbers
        strips = [Strip(f"before {labels[n]}", learned.history[n], mean[n]) for n in order]
        of_heads = f" Means of {heads} heads." if heads > 1 else ""
        found.append(Strips(strips, _LAGS + of_heads))
    if queries > 1 or heads > 1:
        found.append(_maps(learned, weights, room))
    return found


def _over_epochs(learned: _Learned) -> Maps:
    """Draw the mean weight of each lag, with a row per epoch."""
    lags = np.nan_to_num(learned.weights).mean(axis=(1, 2, 3))  # (E, S)
    ends = (f"{lags.shape[1]} steps before the {learned.end}", "1")
    rows = [(float(n), f"epoch {number}") for n, number in enumerate(learned.epochs)]
    title = "Mean weight by epoch: from the first (top) to the last"
    return Maps([title], lags[None], Axis("", (), ends), Axis("", rows))


def _maps(learned: _Learned, weights: np.ndarray, room: int) -> Maps:
    """Draw means over the windows: a row per head for one query, else a map per head."""
    windows, heads, queries, steps = weights.shape
    ends = (f"{steps} before", "1")
    memory = f"memory, steps before the {learned.end}; mean of {windows} test windows"
    x = Axis(memory, (), ends)
    if queries == 1:
        rows = ("head 1", f"head {heads}")
        return Maps(["heads"], weights.mean(axis=0)[None, :, 0], x, Axis("heads", (), rows))
    maps = _head_maps(weights, learned.ahead)
    side = int(np.clip(np.sqrt(room / (len(learned.epochs) * heads)), _COARSEST, _FINEST))
    y = Axis("queries", (), ends)
    if learned.ahead is not None:
        first_steps = (str(learned.ahead[0]), str(learned.ahead[-1]))
        y = Axis("queries, by the first step ahead of each", (), first_steps)
    return Maps(maps.names or ["all queries"], coarser(maps.weights, side), x, y)


def coarser(maps: np.ndarray, most: int) -> np.ndarray:
    """Average neighbouring cells of maps (..., T, S), to at most `most` cells per side."""
    for axis in (-2, -1):
        size = maps.shape[axis]
        parts = np.array_split(np.arange(size), min(size, most))
        maps = np.stack([maps.take(part, axis).mean(axis) for part in parts], axis)
    return maps
