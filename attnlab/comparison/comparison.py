"""Compare groups of runs: means over seeds, differences to a reference group, verdicts.

Each difference uses only the seeds that both groups have. `runs.doubts` warns if groups also differ
in other settings, data, versions or machines.
"""

from __future__ import annotations

import statistics as plain
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from numpy.typing import ArrayLike

from attnlab.comparison.grouping import Choice, TaskGroups, choose
from attnlab.comparison.runs import Group
from attnlab.comparison.sequential import ALPHA, Judged, in_words, judge, sequential_interval
from attnlab.comparison.statistics import (
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
class Comparison(TaskGroups):
    """The comparison of one task's groups, which are in the order of the results."""

    # the best group first; in the order of keys if the metric has no better direction
    results: tuple[GroupResult, ...]
    baseline: str | None  # the baseline of the skill; None if runs have several or none
    sequential: bool  # whether intervals and verdicts stay valid however often one looks

    @property
    def reference_name(self) -> str | None:
        """The reference group's name, for sentences."""
        return self.reference.name if self.reference else None

    @property
    def differences(self) -> list[GroupResult]:
        """The results that have a difference: all except the reference's."""
        return [result for result in self.results if result.difference is not None]

    @property
    def item_test(self) -> ItemTest | None:
        """The first test over test items, for its name and method, which all tests share."""
        return next((result.item_test for result in self.results if result.item_test), None)


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
    return Comparisons([_compare_task(task, options) for task in tasks], left_out)


def _compare_task(task: TaskGroups, options: Options) -> Comparison:
    metric, notes = task.metric, task.notes
    results = [_result(group, task, options) for group in task.groups]
    if task.reference is not None:
        results, missing = _compare_with_reference(results, task, task.reference, options)
        notes = (*notes, *missing)
    place = {group.key: number for number, group in enumerate(task.groups)}
    results.sort(key=lambda r: (-metric.direction * r.interval.mean, place[r.group.key]))
    baselines = {metric.best_baseline(record.metrics) for record in task.records}
    groups = tuple(result.group for result in results)
    return Comparison(
        **{**vars(task), "groups": groups, "notes": notes},
        results=tuple(results),
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        sequential=options.sequential,
    )


def _result(group: Group, task: TaskGroups, options: Options) -> GroupResult:
    """Compute a group's results, without its difference to the reference."""
    interval_of = sequential_interval if options.sequential else mean_interval
    metric, values = task.metric, list(group.values.values())
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
    """Average values; None if one is missing."""
    numbers = [value for value in values if value is not None]
    return plain.fmean(numbers) if numbers and len(numbers) == len(values) else None


def _compare_with_reference(
    results: list[GroupResult], task: TaskGroups, reference: Group, options: Options
) -> tuple[list[GroupResult], list[str]]:
    """Add the differences to the reference; also return notes on missing tests."""
    others = [result for result in results if result.group is not reference]
    pairs = []
    for result in others:
        seeds = result.group.shared_seeds(reference)
        own, base = ([side.values[s] for s in seeds] for side in (result.group, reference))
        pairs.append((own, base))
    judge_all = judge if options.sequential else judge_once
    judged = judge_all(pairs, task.metric.direction, options.geometric)
    tests, notes = item_tests([o.group for o in others], reference, task.metric, options.bootstrap)
    compared = [
        replace(
            result,
            difference=difference,
            shared_means=_means(*pair, options.geometric) if pair[0] else None,
            p_corrected=p,
            item_test=test,
            verdict=verdict,
        )
        for result, pair, (difference, p, verdict), test in zip(
            others, pairs, judged, tests, strict=True
        )
    ]
    return [*compared, *(result for result in results if result.group is reference)], notes


def judge_once(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], direction: int, geometric: bool
) -> list[Judged]:
    """Judge comparisons by paired t tests, which assume a number of seeds fixed in advance."""
    differences = [paired_difference(*pair, geometric) for pair in pairs]
    corrected = holm([difference.p for difference in differences])
    return [
        Judged(difference, p, _verdict(difference, p, direction, 1.0 if geometric else 0.0))
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
    return "no evidence" if p >= ALPHA else in_words(difference.mean > nothing, direction)


def _means(own: list[float], base: list[float], geometric: bool) -> tuple[float, float]:
    return mean_interval(own, geometric).mean, mean_interval(base, geometric).mean
