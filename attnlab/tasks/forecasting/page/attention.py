"""How attention was learned: the weights on a few test windows at epoch after epoch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_run import attention_by_run, by_epoch_or_kept
from attnlab.page.parts import Course, Frames, Maps, Part, Slider, Strip, Strips
from attnlab.tasks.attention_by_epoch import looks_by_epoch
from attnlab.tasks.base import Shown
from attnlab.tasks.forecasting.kind import KIND
from attnlab.tasks.forecasting.report import window_labels

_WINDOWS, _MOST_HEADS = 8, 8
_COARSEST, _FINEST = 16, 64  # positions beside each other of a map of queries against memory
_LAGS = "Columns: steps before the target, the newest at the right."


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run that attends."""
    return attention_by_run(shown, _run_parts)


class _Looks(NamedTuple):
    """Where a run looked."""

    epochs: list[int]
    weights: np.ndarray  # (E, N, H, T, S)
    history: np.ndarray  # (N, S) in natural units
    labels: list[str]  # of windows
    ahead: Sequence[int] | None  # of a decoder's queries the first step that each forecasts

    @property
    def end(self) -> str:
        """From where lags are counted: several queries of a decoder have targets of their own."""
        return "target" if self.ahead is None or len(self.ahead) == 1 else "forecast"


def _run_parts(run: Shown) -> list[Part]:
    looks, problems = by_epoch_or_kept(run, _by_epoch, _kept)
    parts = _moving(run.frames(looks.epochs), looks, run.room)
    return [*parts, *problems, *run.problems()]


def _by_epoch(run: Shown) -> _Looks:
    """Of every epoch, or of some; raises `RequestError` where nothing attends or can be read."""
    task = run.task()
    run.load_data()
    test = task.splits.test  # type: ignore[attr-defined]
    rows = test.spread(_WINDOWS)
    epochs, found, ahead = [], [], None
    for epoch, model, weights in looks_by_epoch(run, test.history[rows]):
        epochs.append(epoch)
        found.append(weights[:, :_MOST_HEADS])
        ahead = model.ahead
    shown = test.take(rows)
    history = task.report_units(shown.history[:, :, 0], shown)  # type: ignore[attr-defined]
    labels = [str(time) for time in shown.times[:, 0]]
    if shown.ids is not None:
        labels = [f"{name} {label}" for name, label in zip(shown.ids, labels, strict=True)]
    return _Looks(epochs, np.stack(found), history, labels, ahead)


def _kept(run: Shown) -> _Looks | None:
    """The same of the best epoch alone, as attention.npz has it; None without one."""
    from attnlab.figures.run import read_attention

    kept = read_attention(run.run)
    if kept is None or not {"index", "weights", "history"} <= kept.keys():
        return None
    labels = [f"index {at}" for at in kept["index"]]
    with suppress(RequestError, KeyError):
        table = run.run.read_predictions(KIND.scoring.text_columns)
        labels = window_labels(kept["index"], table, kept.get("ids"))
    weights = kept["weights"][None, :, :_MOST_HEADS]
    epochs = [int(run.metrics.get("best_epoch", 1))]
    return _Looks(epochs, weights, kept["history"], labels, kept.get("ahead"))


def _moving(frames: Frames, looks: _Looks, room: int) -> list[Part]:
    """The slider, and what moves with it."""
    _, weights, history, labels, _ = looks
    _, _, heads, queries, steps = weights.shape
    lags = np.nan_to_num(weights).mean(axis=(1, 2, 3))  # (E, S)
    ends = (f"{steps} steps before the {looks.end}", "1")
    names = [f"epoch {epoch}" for epoch in frames.epochs]
    title = "Mean weight by epoch: from the first (above) to the last"
    parts: list[Part] = []
    if queries == 1:
        order = sorted(range(len(labels)), key=lambda n: (len(labels[n]), labels[n]))  # as numbers
        rows = [Strip(f"before {labels[n]}", history[n].tolist()) for n in order]
        one = weights.mean(axis=(2, 3))[:, order]
        parts.append(Strips(rows, one, _LAGS + _of_heads(heads)))
    if len(frames.epochs) > 1:
        parts.append(Course(title, lags, "", ends, names))
    if queries > 1 or heads > 1:
        parts.append(_maps(looks, room))
    return [Slider(frames, parts)]


def _maps(looks: _Looks, room: int) -> Maps:
    """Means over the windows: of one query a row for each head, else a map for each head."""
    epochs, windows, heads, queries, steps = looks.weights.shape
    mean = looks.weights.mean(axis=1)  # (E, H, T, S)
    ends = (f"{steps} before", "1")
    memory = f"memory, steps before the {looks.end}; mean of {windows} test windows"
    if queries == 1:
        rows = ("head 1", f"head {heads}")
        return Maps(["heads"], mean[:, None, :, 0], memory, "heads", ends, rows)
    names = [f"head {n + 1}" for n in range(heads)] if heads > 1 else ["all queries"]
    side = int(np.clip(np.sqrt(room / (epochs * heads)), _COARSEST, _FINEST))
    label, rows = "queries", ends
    if looks.ahead is not None:
        label = "queries, by the first step ahead of each"
        rows = (str(looks.ahead[0]), str(looks.ahead[-1]))
    return Maps(names, _coarser(mean, side), memory, label, ends, rows)


def _coarser(maps: np.ndarray, most: int) -> np.ndarray:
    """Maps (..., T, S) of at most so many cells a side, the means of those beside each other."""
    for axis in (-2, -1):
        size = maps.shape[axis]
        parts = np.array_split(np.arange(size), min(size, most))
        maps = np.stack([maps.take(part, axis).mean(axis) for part in parts], axis)
    return maps


def _of_heads(heads: int) -> str:
    return f" Means of {heads} heads." if heads > 1 else ""
