"""The runs that a page shows in detail: one per group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attnlab.compare.comparison import Comparison, GroupResult
from attnlab.compare.runs import RunRecord
from attnlab.views.records import Epochs

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
        self.run, self.metrics, self._record = record.run, record.metrics, record

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
