"""How attention changed in training: records of a run's epochs, for pages of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.base import ReportedRun
from attnlab.views.records import (
    AttentionMap,
    Frame,
    ImageMap,
    Record,
    ShadedText,
    Slider,
    Text,
    tabs,
)

if TYPE_CHECKING:
    import keras

_MOST_EPOCHS, _MOST_HEADS = 30, 8
Found = TypeVar("Found")
Item = TypeVar("Item", AttentionMap, ShadedText, ImageMap)


def attention_by_run(
    runs: Sequence[ReportedRun], records: Callable[[ReportedRun], Sequence[Record]]
) -> list[Record]:
    """Return the `records` of each run, or a sentence that says why a run has none."""
    without = [run for run in runs if run.metrics.get("attention") == "none"]
    others = [run for run in runs if run not in without]
    notes = [Text(f"{run.label}: the model has no attention.", "note") for run in without]
    return [*records_by_run(others, records, "The maps", named=len(runs) > 1), *notes]


def records_by_run(
    runs: Sequence[ReportedRun],
    records: Callable[[ReportedRun], Sequence[Record]],
    what: str,
    *,
    named: bool,
) -> Sequence[Record]:
    """Return the `records` of each run; `named`: a single run has a tab, too.

    If those of a run raise `RequestError`, a warning says that `what` is missing.
    """
    choices: dict[str, Sequence[Record]] = {}
    for run in runs:
        try:
            choices[run.label] = records(run)
        except RequestError as error:
            choices[run.label] = [Text(f"{what} are missing: {error}", "warning")]
    return tabs(choices, named=named)


class Learned(NamedTuple):
    """The same items at each epoch, with the weights that the model gave them."""

    epochs: list[int]
    frames: list[list[Any]]  # the items of each epoch
    heads: int


def learned_records(
    run: ReportedRun,
    by_epoch: Callable[[ReportedRun], Learned],
    best: Callable[[ReportedRun], Learned | None],
    record: Callable[[Sequence[Any], Sequence[str]], Frame],
) -> list[Record]:
    """Return a slider over a run's epochs, and warnings about missing ones.

    Args:
        run: the run.
        by_epoch: returns its epochs; raises `RequestError` if weights or data can't be read.
        best: returns only the best epoch, or None; called if `by_epoch` fails.
        record: makes the record of an epoch from its items and the names of their maps.

    Raises:
        RequestError: no epoch is known.
    """
    (epochs, frames, heads), problems = by_epoch_or_best(run, by_epoch, best)
    frames = fitting(frames, run.room)
    names = map_names(heads, len(frames[0][0].weights))
    slider = Slider(run.epochs(epochs), [[record(items, names)] for items in frames])
    return [slider, *problems, *run.problems()]


def by_epoch_or_best(
    run: ReportedRun,
    by_epoch: Callable[[ReportedRun], Found],
    best: Callable[[ReportedRun], Found | None],
) -> tuple[Found, list[Record]]:
    """Return the result of `by_epoch`; if it fails, that of `best` and a warning.

    Raises:
        RequestError: both fail.
    """
    try:
        return by_epoch(run), []
    except RequestError as error:
        found = best(run)
        if found is None:
            raise
        return found, [Text(f"Only the best epoch is known: {error}", "warning")]


def attention_by_epoch(
    run: ReportedRun, items: np.ndarray
) -> Iterator[tuple[int, keras.Model, np.ndarray]]:
    """Yield epochs of a run, the model of each, and its float32 attention weights on some items.

    Raises:
        RequestError: the run has no weights, or no epoch's weights can be read.
    """
    # Reading the run's task has suppressed TensorFlow's notices by now.
    from attnlab.training.steps import compiled

    attend = None
    for epoch, model in run.models(_MOST_EPOCHS):
        attend = attend or compiled(model.attend, jit=False)
        weights = attend(items)
        if weights is None:
            raise RequestError(f"{run.run.name}: its model has no attention weights.")
        yield epoch, model, np.asarray(weights, np.float32)


def mean_and_heads(weights: np.ndarray) -> np.ndarray:
    """Turn weights (H, ...) into maps: the mean of all heads, then each of up to 8 heads."""
    weights = np.nan_to_num(weights)
    mean = weights.mean(axis=0, keepdims=True)
    return np.concatenate([mean, weights]) if 1 < len(weights) <= _MOST_HEADS else mean


def map_names(heads: int, maps: int) -> list[str]:
    """The names of the first `maps` of `mean_and_heads`."""
    mean = f"mean of {heads} heads" if heads > 1 else "weights"
    return [mean, *(f"head {number}" for number in range(1, maps))]


def fitting(frames: Sequence[Sequence[Item]], room: int) -> list[list[Item]]:
    """Shorten epochs until they fit into `room` bytes, one byte per weight.

    First all maps of an item but one are dropped, then items; at least one item remains.
    """
    if sum(item.weights.size for frame in frames for item in frame) > room:
        frames = [[item._replace(weights=item.weights[:1]) for item in frame] for frame in frames]
    columns = zip(*frames, strict=True)
    sizes = np.cumsum([sum(item.weights.size for item in column) for column in columns])
    count = max(int(np.sum(sizes <= room)), 1)
    return [list(frame[:count]) for frame in frames]
