"""Compare groups of runs: means over seeds, differences to a reference group, verdicts.

Each difference uses only the seeds that both groups have. `runs.doubts` warns if groups also differ
in other settings, data, versions or machines.
"""

from __future__ import annotations

import statistics as plain
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from numpy.typing import ArrayLike

from attnlab.compare.grouping import Choice, TaskGroups, choose
from attnlab.compare.metrics import Quantity
from attnlab.compare.runs import Group
from attnlab.compare.sequential import Judged, judge, sequential_interval
from attnlab.compare.statistics import (
    Difference,
    Interval,
    holm,
    item_tests,
    mean_interval,
    paired_difference,
    within,
)
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.declaration import ItemTest

ENOUGH_SEEDS = 5
LEVEL = 0.05
_WIDE_SPAN = 30


@dataclass(frozen=True)
class Options(Choice):
    """How runs are compared."""

    # whether to run slow tests over test items, such as the paired bootstrap of translations; None
    # to run them if they take only seconds
    bootstrap: bool | None = None
    # whether intervals and verdicts stay valid however often one looks; see `sequential`
    sequential: bool = False


@dataclass(frozen=True)
class GroupResult:
    """The results of a group."""

    group: Group  # its runs
    interval: Interval  # mean over seeds and its interval, in the metric's units
    best: float  # value of the best seed
    worst: float  # value of the worst seed
    # mean over seeds of the share of the best baseline's error that is removed; None if undefined
    skill: float | None
    parameters: tuple[int, int] | None  # smallest and largest number of parameters
    seconds_per_epoch: float | None  # mean over seeds of the run's median epoch
    # difference to the reference, or with `geometric` the ratio; None for the reference itself
    difference: Difference | None = None
    # means of the group and of the reference over the shared seeds; None without shared seeds
    shared_means: tuple[float, float] | None = None
    # the paired test's p value, corrected for the number of tests: Holm, or Bonferroni (sequential)
    p_corrected: float | None = None
    # the test over test items on the shared seeds; None if there is none
    item_test: ItemTest | None = None
    verdict: str = ""  # better, worse, ...; empty for the reference


@dataclass(frozen=True)
class Comparison:
    """The comparison of one task's groups; for the first fields see `grouping.TaskGroups`."""

    task: str
    data: str | None
    by: tuple[str, ...]
    asked: int
    metric: Quantity
    units: str
    geometric: bool  # whether means are geometric and differences ratios
    # the best group first; in the order of keys if the metric has no better direction
    results: tuple[GroupResult, ...]
    reference: str | None  # label of the reference group; None if there is only one group
    baseline: str | None  # the baseline of the skill; None if runs have several or none
    sequential: bool = False  # whether intervals and verdicts stay valid however often one looks
    notes: list[str] = field(default_factory=list)  # how to read the results
    warnings: list[str] = field(default_factory=list)  # reasons to doubt the results

    @property
    def name(self) -> str:
        """The task's name, with `data` if there is any."""
        return f"{self.task} {self.data}" if self.data else self.task

    @property
    def reference_group(self) -> Group | None:
        """The group that the others are compared with; None if there is only one group."""
        return next((group for group in self.groups if group.label == self.reference), None)

    @property
    def reference_name(self) -> str | None:
        """The reference group's name, for sentences."""
        return self.reference_group.name if self.reference_group else None

    @property
    def groups(self) -> list[Group]:
        """The groups in the order of the results."""
        return [result.group for result in self.results]

    @property
    def differences(self) -> list[GroupResult]:
        """The results that have a difference: all except the reference's."""
        return [result for result in self.results if result.difference is not None]

    @property
    def item_test(self) -> ItemTest | None:
        """The first test over test items, for its name and method, which all tests share."""
        return next((each.item_test for each in self.results if each.item_test), None)


class Comparisons(NamedTuple):
    """A comparison for each task and data, and sentences about the runs that are in none."""

    tasks: list[Comparison]
    left_out: list[str]


def compare(entries: Sequence[ListedRun], options: Options | None = None) -> Comparisons:
    """Compare runs.

    Args:
        entries: At least one run, the oldest first. Only completed runs are compared.
        options: How to compare them.

    Raises:
        RequestError: No run is completed, or a key, a metric or the reference is unknown.
    """
    options = options or Options()
    tasks, left_out = choose(entries, options)
    return Comparisons([_compare_task(each, options) for each in tasks], left_out)


def _compare_task(task: TaskGroups, options: Options) -> Comparison:
    metric, reference, notes = task.metric, task.reference, [*task.notes]
    results = [_result(group, metric, options) for group in task.groups]
    if reference is not None:
        results, missing = _against(results, reference, metric, options)
        notes += missing
    if _span_is_wide(task.groups) and not options.geometric and metric.direction < 0:
        notes.append(
            f"values of one group differ by more than a factor of {_WIDE_SPAN}: --geometric "
            "averages their logarithms"
        )
    baselines = {metric.best_baseline(record.metrics) for record in task.records}
    return Comparison(
        task=task.task,
        data=task.data,
        by=task.by,
        asked=task.asked,
        metric=metric,
        units=task.units,
        geometric=options.geometric,
        sequential=options.sequential,
        results=tuple(sorted(results, key=lambda each: -metric.direction * each.interval.mean)),
        reference=reference.label if reference else None,
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        notes=notes,
        warnings=[*task.warnings],
    )


def _span_is_wide(groups: Sequence[Group]) -> bool:
    values = [group.values.values() for group in groups]
    return any(0 < _WIDE_SPAN * min(each) < max(each) for each in values)


def _result(group: Group, metric: Quantity, options: Options) -> GroupResult:
    """Compute a group's results, without its difference to the reference."""
    interval_of = sequential_interval if options.sequential else mean_interval
    values = list(group.values.values())
    ends = sorted(values, reverse=metric.direction > 0)
    runs = list(group.runs.values())
    seconds = [run.history().get("seconds") for run in runs]
    sizes = [size for run in runs if isinstance(size := run.metrics.get("parameters"), int)]
    return GroupResult(
        group=group,
        interval=within(interval_of(values, geometric=options.geometric), metric.bounds),
        best=ends[0],
        worst=ends[-1],
        skill=_mean([metric.skill(run.metrics) for run in runs]),
        parameters=(min(sizes), max(sizes)) if sizes else None,
        # the median, because the first epoch includes compiling
        seconds_per_epoch=_mean([plain.median(s) if s else None for s in seconds]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return plain.fmean(known) if known and len(known) == len(values) else None


def _against(
    results: list[GroupResult], reference: Group, metric: Quantity, options: Options
) -> tuple[list[GroupResult], list[str]]:
    """Add the differences to the reference; also return notes on missing tests."""
    others = [each for each in results if each.group is not reference]
    groups = [each.group for each in others]
    pairs = []
    for group in groups:
        seeds = group.shared_seeds(reference)
        own, base = ([side.values[seed] for seed in seeds] for side in (group, reference))
        pairs.append((own, base))
    if options.sequential:
        higher_is_better = metric.direction > 0 if metric.direction else None
        judged = judge(pairs, higher_is_better, options.geometric)
    else:
        judged = _judged_once(pairs, metric.direction, options.geometric)
    tests, notes = item_tests(groups, reference, metric, options.bootstrap)
    found = {}
    for each, pair, (gain, p, words), test in zip(others, pairs, judged, tests, strict=True):
        means = _means(pair, options.geometric)
        found[each.group.key] = replace(
            each, difference=gain, shared_means=means, p_corrected=p, item_test=test, verdict=words
        )
    return [found.get(each.group.key, each) for each in results], notes


def _means(pair: tuple[list[float], list[float]], geometric: bool) -> tuple[float, float] | None:
    """Return the means of both sides; None without pairs."""
    own, base = pair
    if not own:
        return None
    return mean_interval(own, geometric).mean, mean_interval(base, geometric).mean


def _judged_once(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], direction: int, geometric: bool
) -> list[Judged]:
    """Judge comparisons by paired t tests, which assume a number of seeds fixed in advance."""
    differences = [paired_difference(*pair, geometric) for pair in pairs]
    corrected = holm([difference.p for difference in differences])
    nothing = 1.0 if geometric else 0.0
    return [
        Judged(difference, p, _verdict(difference, p, direction, nothing))
        for difference, p in zip(differences, corrected, strict=True)
    ]


def _verdict(difference: Difference, p: float | None, direction: int, nothing: float) -> str:
    """Return the verdict; below five seeds there is none, because a single run can decide."""
    if difference.n == 0:
        return "no shared seed"
    if difference.n < ENOUGH_SEEDS:
        return "too few seeds"
    if p is None or difference.mean is None:
        return "identical" if difference.mean == nothing else "no spread"
    if p >= LEVEL:
        return "no evidence"
    higher = difference.mean > nothing
    if direction == 0:
        return "higher" if higher else "lower"
    return "better" if higher == (direction > 0) else "worse"
