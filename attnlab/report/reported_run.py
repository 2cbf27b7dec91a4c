"""The runs that a page shows in detail: one per group, with its model at each epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnlab.compare.comparison import Comparison, GroupResult
from attnlab.compare.runs import RunRecord
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import Task
from attnlab.views.records import Epochs, Text

if TYPE_CHECKING:
    import keras

    from attnlab.run.loading import TrainedRun

# Bytes of all maps on a page, before base64 makes them larger by a third.
_ROOM = 1_200_000
_MOST = 6  # groups that are shown


def reported_runs(
    comparison: Comparison, colours: Mapping[str, int], share: int = 1
) -> list[MedianRun]:
    """Choose the run with the median result (of two, the lower one) from each of the best groups.

    `share` comparisons share the room on a page.
    """
    results = comparison.results[:_MOST]
    room = _ROOM // (share * len(results))
    labels = [each.group.name for each in results]
    runs = map(_median, results)
    return [
        MedianRun(name, colours[name], run, room) for name, run in zip(labels, runs, strict=True)
    ]


def which_are_reported(comparison: Comparison) -> str:
    """Return a sentence on how runs were chosen; empty if there was no choice."""
    results, groups = comparison.results[:_MOST], len(comparison.results)
    best = "best" if comparison.metric.direction else "first"
    left_out = f" of the {best} {_MOST} of {groups} groups" if groups > _MOST else ""
    if all(each.interval.n == 1 for each in results):
        return f"The runs{left_out} are shown." if left_out else ""
    names = [f"{each.group.name} seed {_median(each).seed}" for each in results]
    return f"The run with the median result{left_out} is shown: {', '.join(names)}."


def _median(result: GroupResult) -> RunRecord:
    values = result.group.values
    middle = sorted(values, key=lambda seed: (values[seed], seed))[(len(values) - 1) // 2]
    return result.group.runs[middle]


class MedianRun:
    """See `tasks.base.ReportedRun`."""

    def __init__(self, label: str, colour: int, record: RunRecord, room: int) -> None:
        self.label, self.colour, self.room = label, colour, room
        self._record = record
        self._damaged: dict[int, str] = {}
        self._has_data = False

    @property
    def run(self) -> RunDirectory:
        """Return the run's folder."""
        return self._record.run

    @property
    def metrics(self) -> Mapping[str, Any]:
        """Return the content of metrics.json."""
        return self._record.metrics

    def task(self) -> Task:
        """Return the run's task as it was saved, without the data."""
        return self._trained.task

    def load_data(self) -> None:
        """Load the data of the run's task."""
        if not self._has_data and not self._trained.load_data(self.run):
            raise RequestError(f"{self.run.name}: the data have changed since it was trained.")
        self._has_data = True

    def models(self, most: int) -> Iterator[tuple[int, keras.Model]]:
        """Yield the run's model with the weights of one epoch after another."""
        from attnlab.run.loading import load_weights

        is_known = False
        for epoch in _spread(self.run.weights_epochs(), self.metrics.get("best_epoch"), most):
            try:
                load_weights(self._trained.model, [self.run.weights_path(epoch)], "weights")
            except RequestError as error:
                self._damaged[epoch] = str(error)
                continue
            yield epoch, self._trained.model
            is_known = True
        if not is_known:
            raise RequestError(f"{self.run.name}: the weights of no epoch can be read.")

    def epochs(self, numbers: Sequence[int]) -> Epochs:
        """Describe epochs for a slider that starts at the best one."""
        history = self._record.history()
        monitor, best = str(self.metrics.get("monitor")), self.metrics.get("best_epoch")
        values = dict(zip(history.get("epoch", []), history.get(monitor, []), strict=False))
        notes = []
        for epoch in numbers:
            value = values.get(epoch, math.nan)
            known = [f"{monitor} {value:.4g}"] if math.isfinite(value) else []
            notes.append(" · ".join([*known, *["best"] * (epoch == best)]))
        first = numbers.index(best) if best in numbers else len(numbers) - 1
        return Epochs(list(numbers), notes, first)

    def problems(self) -> list[Text]:
        """Return warnings about epochs that are left out."""
        from attnlab.run.loading import spans

        trained = range(1, self._record.status.get("epoch", 0) + 1)
        missing = sorted({*trained} - {*self.run.weights_epochs()})
        best = self.metrics.get("best_epoch")
        texts = [f"Epoch {epoch} is missing: {why}" for epoch, why in sorted(self._damaged.items())]
        if missing:
            which = f", {best} (the best) among them" if best in missing else ""
            texts.append(f"Epochs without weights are missing: {spans(missing)}{which}.")
        return [Text(text, "warning") for text in texts]

    @cached_property
    def _trained(self) -> TrainedRun:
        """Return the run's task and model, with the first weights that can be read."""
        from attnlab.run.loading import TrainedRun

        epochs = self.run.weights_epochs()
        for epoch in epochs[:-1]:
            try:
                return TrainedRun.load(self.run, str(epoch))
            except RequestError:
                continue  # `models` says what is wrong with it
        return TrainedRun.load(self.run, "last")


def _spread(saved: Sequence[int], best: int | None, most: int) -> list[int]:
    """Choose up to `most` saved epochs, including the first, the last and the best."""
    if len(saved) <= most:
        return list(saved)
    ends = {saved[0], saved[-1], *(epoch for epoch in saved if epoch == best)}
    inner = max(0, most - len(ends)) + 2
    places = [round(n * (len(saved) - 1) / (inner - 1)) for n in range(inner)]
    return sorted({saved[place] for place in places} | ends)
