"""The runs that a page shows in detail: one per group."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.comparison.comparison import Comparison, GroupResult
from attnlab.comparison.runs import RunRecord
from attnlab.tasks.base import ReportedRun

# Bytes of all maps on a page, before base64 makes them larger by a third.
_ROOM = 1_200_000
_MOST = 6  # groups that are shown


def reported_runs(
    comparison: Comparison, colours: Mapping[str, int], share: int = 1
) -> list[ReportedRun]:
    """Choose the run with the median result (of two, the lower one) from each of the best groups.

    `share` comparisons share the room on a page.
    """
    results = comparison.results[:_MOST]
    room = _ROOM // (share * len(results))
    labels = [each.group.name for each in results]
    runs = map(_median, results)
    return [
        ReportedRun(name, colours[name], run.run, run.metrics, room)
        for name, run in zip(labels, runs, strict=True)
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
