"""Groups of runs held against each other: means over seeds, differences to a reference, in words.

Every statement is about seeds that both sides have. What only looks like a difference between
groups because something else differs too is said by `runs.doubts`.
"""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from attnlab.compare.metrics import Quantity, check_metric
from attnlab.compare.runs import (
    Group,
    RunRecord,
    doubts,
    grouped,
    read_completed,
    splitting_settings,
)
from attnlab.compare.selection import check_keys
from attnlab.compare.statistics import (
    Difference,
    Interval,
    holm,
    item_tests,
    mean_interval,
    paired_difference,
)
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.base import ItemTest
from attnlab.tasks.kinds import known_kind

ENOUGH_SEEDS = 5
LEVEL = 0.05
_WIDE_SPAN = 30
_MOST_NAMED = 5


class NothingToCompare(RequestError):
    """No run is completed, or none has a finite value."""


class Options(NamedTuple):
    """How runs are compared."""

    # config keys whose values make the groups; `attention` means `attention.name`
    by: tuple[str, ...] = ("attention",)
    metric: str | None = None  # see `Quantity.path`; None for each task's reported one
    # the group that others are held against, as its values or `key=value,...`; None for the one
    # without attention, else the one of most seeds
    reference: str | None = None
    geometric: bool = False  # average logarithms: means are geometric and differences are ratios
    # whether tests over test items that take long are made, as the paired bootstrap of translations
    # does; None where they take seconds
    bootstrap: bool | None = None


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
    p_holm: float | None = None  # the paired test's p value, corrected over the table
    # the test over test items, of the shared seeds; None where there is none
    item_test: ItemTest | None = None
    verdict: str = ""  # better, worse, ... in words; empty of the reference


@dataclass(frozen=True)
class Comparison:
    """The groups of one task."""

    task: str  # its name
    data: str | None  # the name of the data, where runs of the task have several
    # the compared keys: those asked for, and others in which runs differ that agree in these
    by: tuple[str, ...]
    metric: Quantity  # what is compared
    units: str  # of the metric; empty where it has none
    geometric: bool  # whether means are geometric and differences ratios
    # the best group first; in the order of keys where no way is better
    results: tuple[GroupResult, ...]
    # the label of the group that the others are held against; None for a lone group
    reference: str | None
    # the baseline that the skill is about; None where runs name several or none
    baseline: str | None
    notes: list[str] = field(default_factory=list)  # what to know for reading it
    warnings: list[str] = field(default_factory=list)  # what makes it doubtful

    @property
    def name(self) -> str:
        """The task's, with the data's where there are several."""
        return f"{self.task} {self.data}" if self.data else self.task

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
    found = read_completed(entries)
    states = ", ".join(f"{count} {state}" for state, count in found.states.items())
    if not found.records:
        damaged = f"{len(found.damaged)} damaged ({found.damaged[0]})" if found.damaged else ""
        there = ", ".join(filter(None, (states, damaged)))
        raise NothingToCompare(f"--runs: expected completed runs, but there are only {there}.")
    check_keys("--by", options.by, [record.settings for record in found.records])
    if "seed" in options.by:
        raise RequestError("--by: expected keys other than seed, which groups are averaged over.")
    if options.metric:
        check_metric(options.metric, [record.metrics for record in found.records])
    left_out = ([f"not completed: {states}"] if states else []) + _some(found.damaged)
    by_task: dict[tuple[str, str], list[RunRecord]] = {}
    for record in found.records:
        by_task.setdefault((record.task, record.data), []).append(record)
    compared = []
    for (task, data), records in sorted(by_task.items()):
        metric = Quantity.of(options.metric, records[-1].metrics, known_kind(task))
        is_one_of_several = sum(name == task for name, _ in by_task) > 1
        if any(_has_value(record, metric) for record in records):
            comparison = _compare_task(task, records, metric, options)
            compared.append(replace(comparison, data=data if is_one_of_several else None))
        else:
            left_out.append(f"{task}, without a finite {metric.path}")
    if not compared:
        raise NothingToCompare(f"--metric: expected runs with a finite value, got {left_out[-1]}.")
    _check_reference(options.reference, compared)
    return Comparisons(compared, left_out)


def _compare_task(
    task: str, records: list[RunRecord], metric: Quantity, options: Options
) -> Comparison:
    usable = [record for record in records if _has_value(record, metric)]
    splitting = splitting_settings(usable, options.by)
    by = (*options.by, *splitting)
    groups, older = grouped(usable, metric, by)
    all_values = [list(group.values.values()) for group in groups]
    if options.geometric:
        _require_positive(all_values, metric)
    results = [_result(group, metric, options.geometric) for group in groups]
    reference = _reference(groups, options.reference, by)
    notes = [f"left out {_count(older, 'older run')} of the same group and seed"] * bool(older)
    warnings = [*_lacking(records, metric), *_about_splitting(options.by, splitting)]
    if reference is not None and len(groups) > 1:
        results, missing = _against(results, reference, metric, options)
        notes += missing
    elif len(groups) == 1:
        notes.append("there is one group only, so nothing to hold it against")
    else:
        notes.append(f"no group is {options.reference}, so nothing to hold the others against")
    wide = any(0 < _WIDE_SPAN * min(values) < max(values) for values in all_values)
    if wide and not options.geometric and metric.direction < 0:
        notes.append("values of one group span decades: --geometric averages their logarithms")
    baselines = {str(record.metrics.get("best_baseline")) for record in usable}
    has_units = metric.metric is not None and metric.metric.in_units
    return Comparison(
        task=task,
        data=None,
        by=by,
        metric=metric,
        units=str(usable[-1].metrics.get("units", "")) if has_units else "",
        geometric=options.geometric,
        results=tuple(sorted(results, key=lambda each: -metric.direction * each.interval.mean)),
        reference=reference.label if reference and len(groups) > 1 else None,
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        notes=notes,
        warnings=[*warnings, *doubts(groups, by)],
    )


def _require_positive(values: list[list[float]], metric: Quantity) -> None:
    if (least := min(map(min, values))) <= 0:
        raise RequestError(
            f"--geometric: expected values above 0, but {metric.path} is {least:g} in a run."
        )


def _about_splitting(by: tuple[str, ...], splitting: list[str]) -> list[str]:
    if not splitting:
        return []
    return [
        f"runs of the same {', '.join(by)} differ in {', '.join(splitting)}, so they are groups of "
        "their own: see --by and --where"
    ]


def _has_value(record: RunRecord, metric: Quantity) -> bool:
    value = metric.value(record.metrics)
    return value is not None and math.isfinite(value)


def _lacking(records: list[RunRecord], metric: Quantity) -> list[str]:
    """Sentences about runs that have no finite value."""
    return _some(
        [
            f"left out {record.run.name}: it has "
            f"{'no' if metric.value(record.metrics) is None else 'no finite'} {metric.path}"
            for record in records
            if not _has_value(record, metric)
        ]
    )


def _some(lines: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    more = len(lines) - _MOST_NAMED
    return lines[:_MOST_NAMED] + ([f"... and {_count(more, 'other run')}"] if more > 0 else [])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _reference(groups: list[Group], given: str | None, by: tuple[str, ...]) -> Group | None:
    """The group that others are held against; None where the one asked for is of another task.

    Chosen without a look at results: holding all against the best would be picking a winner twice.
    """
    meant = [group for group in groups if given is not None and _is_meant(group, given, by)]
    if given is None:
        meant = [
            group
            for group in groups
            if all(run.setting("attention.name") == "none" for run in group.runs.values())
        ] or groups
    return max(meant, key=lambda group: len(group.runs), default=None)


def _is_meant(group: Group, text: str, by: tuple[str, ...]) -> bool:
    given = _parts(text)
    if all("=" in part for part in given):
        wanted = dict(part.split("=", 1) for part in given)
        own = dict(zip(by, group.key, strict=True))
        return all(own.get(key) == value for key, value in wanted.items())
    return given == _parts(group.label)[: len(given)]


def _parts(label: str) -> list[str]:
    """The values of a label, whether commas or slashes stand between."""
    return [part.strip() for part in label.replace("/", ",").split(",")]


def _check_reference(given: str | None, compared: list[Comparison]) -> None:
    labels = list(dict.fromkeys(group.label for each in compared for group in each.groups))
    if given is None or any(each.reference for each in compared) or len(labels) < 2:
        return
    raise RequestError(
        f"--reference: expected one of the groups {', '.join(labels)}, got {given!r}."
        f"{did_you_mean(given, labels)}"
    )


def _result(group: Group, metric: Quantity, geometric: bool) -> GroupResult:
    """What a group amounts to by itself."""
    values = list(group.values.values())
    ends = sorted(values, reverse=metric.direction > 0)
    runs = list(group.runs.values())
    seconds = [run.history().get("seconds") for run in runs]
    sizes = [size for run in runs if isinstance(size := run.metrics.get("parameters"), int)]
    return GroupResult(
        group=group,
        interval=mean_interval(values, geometric),
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
    shared = [group.shared_seeds(reference) for group in groups]
    differences = [
        paired_difference(
            [group.values[seed] for seed in seeds],
            [reference.values[seed] for seed in seeds],
            options.geometric,
        )
        for group, seeds in zip(groups, shared, strict=True)
    ]
    tests, notes = item_tests(groups, reference, metric, options.bootstrap)
    corrected = holm([difference.p for difference in differences])
    nothing, judged = 1.0 if options.geometric else 0.0, {}
    for each, gain, p, test in zip(others, differences, corrected, tests, strict=True):
        words = _verdict(gain, p, metric.direction, nothing)
        found = replace(each, difference=gain, p_holm=p, item_test=test, verdict=words)
        judged[each.group.key] = found
    return [judged.get(each.group.key, each) for each in results], notes


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
