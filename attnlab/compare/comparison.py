"""Groups of runs held against each other: means over seeds, differences to a reference, in words.

Every statement is about seeds that both sides have. What only looks like a difference between
groups because something else differs too is said by `runs.doubts`.
"""

from __future__ import annotations

import statistics as plain
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from numpy.typing import ArrayLike

from attnlab.compare.grouping import Choice, TaskGroups, choose
from attnlab.compare.metrics import Amount, Quantity
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
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.declaration import ItemTest

ENOUGH_SEEDS = 5
LEVEL = 0.05
_WIDE_SPAN = 30


@dataclass(frozen=True)
class Options(Choice):
    """How runs are compared."""

    # whether tests over test items that take long are made, as the paired bootstrap of translations
    # does; None where they take seconds
    bootstrap: bool | None = None
    # whether intervals and verdicts are to hold however often one looks; see `sequential`
    sequential: bool = False
    # with `sequential`: how large differences don't matter; see `Amount.parse`
    margin: str | None = None


@dataclass(frozen=True)
class GroupResult:
    """What a group amounts to."""

    group: Group  # its runs
    interval: Interval  # mean over seeds and its interval, in the metric's units
    best: float  # of all seeds
    worst: float  # of all seeds
    # mean over seeds of what is gained on the best baseline; None where undefined
    skill: float | None
    parameters: tuple[int, int] | None  # smallest and largest number of parameters
    seconds_per_epoch: float | None  # mean over seeds of the run's median epoch
    # to the reference, or with `geometric` the ratio; None of the reference itself
    difference: Difference | None = None
    # its mean and the reference's over the seeds that both have; None without such seeds
    shared_means: tuple[float, float] | None = None
    # the paired test's p value, corrected over the table: by Holm, of sequential ones by Bonferroni
    p_corrected: float | None = None
    # the test over test items, of the shared seeds; None where there is none
    item_test: ItemTest | None = None
    verdict: str = ""  # better, worse, ... in words; empty of the reference


@dataclass(frozen=True)
class Comparison:
    """The groups of one task."""

    task: str  # its name
    # the name of the data, where runs of the task have several, and values of the keys `within`
    data: str | None
    # the compared keys: those asked for, and others in which runs differ that agree in these
    by: tuple[str, ...]
    asked: int  # how many of them, the first ones, were asked for
    metric: Quantity  # what is compared
    units: str  # of the metric; empty where it has none
    geometric: bool  # whether means are geometric and differences ratios
    # the best group first; in the order of keys where no way is better
    results: tuple[GroupResult, ...]
    # the label of the group that the others are held against; None for a lone group
    reference: str | None
    # the baseline that the skill is about; None where runs name several or none
    baseline: str | None
    sequential: bool = False  # whether intervals and verdicts hold however often one looks
    # how large differences, or logarithms of ratios, don't matter; None where all do
    margin: float | None = None
    notes: list[str] = field(default_factory=list)  # what to know for reading it
    warnings: list[str] = field(default_factory=list)  # what makes it doubtful

    @property
    def name(self) -> str:
        """The task's, with the data's where there are several."""
        return f"{self.task} {self.data}" if self.data else self.task

    @property
    def reference_group(self) -> Group | None:
        """The group that the others are held against; None for a lone group."""
        return next((group for group in self.groups if group.label == self.reference), None)

    @property
    def reference_name(self) -> str | None:
        """What a sentence calls that group."""
        return self.reference_group.name if self.reference_group else None

    @property
    def groups(self) -> list[Group]:
        """The groups in the order of the results."""
        return [result.group for result in self.results]

    @property
    def differences(self) -> list[GroupResult]:
        """The results that are held against the reference."""
        return [result for result in self.results if result.difference is not None]

    @property
    def item_test(self) -> ItemTest | None:
        """The first test over test items, for what all of them have in common."""
        return next((each.item_test for each in self.results if each.item_test), None)


class Comparisons(NamedTuple):
    """A comparison for each task and its data, and sentences about runs that are in none."""

    tasks: list[Comparison]
    left_out: list[str]


def compare(entries: Sequence[ListedRun], options: Options | None = None) -> Comparisons:
    """Compare runs.

    The entries, at least one, have the oldest first; those that aren't completed are counted.

    Raises:
        RequestError: No run is completed, or a key, a metric or the reference isn't known.
    """
    options = options or Options()
    if options.margin is not None:
        if not options.sequential:
            raise RequestError(
                f"--margin: expected together with --sequential, got {options.margin!r}."
            )
        Amount.parse("--margin", options.margin)
    tasks, left_out = choose(entries, options)
    return Comparisons([_compare_task(each, options) for each in tasks], left_out)


def _compare_task(task: TaskGroups, options: Options) -> Comparison:
    metric, reference, notes = task.metric, task.reference, [*task.notes]
    results = [_result(group, metric, options) for group in task.groups]
    if reference is not None:
        results, missing = _against(results, reference, metric, options)
        notes += missing
    if _span_decades(task.groups) and not options.geometric and metric.direction < 0:
        notes.append("values of one group span decades: --geometric averages their logarithms")
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
        margin=_margin(reference, options) if reference else None,
        results=tuple(sorted(results, key=lambda each: -metric.direction * each.interval.mean)),
        reference=reference.label if reference else None,
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        notes=notes,
        warnings=[*task.warnings],
    )


def _span_decades(groups: Sequence[Group]) -> bool:
    values = [group.values.values() for group in groups]
    return any(0 < _WIDE_SPAN * min(each) < max(each) for each in values)


def _result(group: Group, metric: Quantity, options: Options) -> GroupResult:
    """What a group amounts to by itself."""
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
        # the median of the epochs, which compiling in the first one doesn't move
        seconds_per_epoch=_mean([plain.median(s) if s else None for s in seconds]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return plain.fmean(known) if known and len(known) == len(values) else None


def _against(
    results: list[GroupResult], reference: Group, metric: Quantity, options: Options
) -> tuple[list[GroupResult], list[str]]:
    """The results with what they gain or lose over the reference, and why tests are missing."""
    others = [each for each in results if each.group is not reference]
    groups = [each.group for each in others]
    pairs = []
    for group in groups:
        seeds = group.shared_seeds(reference)
        own, base = ([side.values[seed] for seed in seeds] for side in (group, reference))
        pairs.append((own, base))
    if options.sequential:
        higher_is_better = metric.direction > 0 if metric.direction else None
        margin = _margin(reference, options)
        judged = judge(pairs, margin, higher_is_better, options.geometric)
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
    """Average both sides of some pairs."""
    own, base = pair
    if not own:
        return None
    return mean_interval(own, geometric).mean, mean_interval(base, geometric).mean


def _margin(reference: Group, options: Options) -> float | None:
    if options.margin is None:
        return None
    mean = plain.fmean(reference.values.values())
    return Amount.parse("--margin", options.margin).at(mean, options.geometric)


def _judged_once(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], direction: int, geometric: bool
) -> list[Judged]:
    """Judge comparisons by the paired t test, for seeds whose number was fixed before."""
    differences = [paired_difference(*pair, geometric) for pair in pairs]
    corrected = holm([difference.p for difference in differences])
    nothing = 1.0 if geometric else 0.0
    return [
        Judged(difference, p, _verdict(difference, p, direction, nothing))
        for difference, p in zip(differences, corrected, strict=True)
    ]


def _verdict(difference: Difference, p: float | None, direction: int, nothing: float) -> str:
    """In words; a p value says nothing below five seeds, where one run decides."""
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
