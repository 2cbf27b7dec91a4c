"""Compare groups of runs: means over seeds, differences to a reference group, verdicts.

Each difference uses only the seeds that both groups have. `runs.doubts` warns if groups also differ
in other settings, data, versions or machines.
"""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attnlab.comparison.metrics import Quantity, check_metric
from attnlab.comparison.runs import (
    Group,
    NothingToCompare,
    RunRecord,
    differing_settings,
    doubts,
    make_groups,
    read_runs,
    split,
)
from attnlab.comparison.selection import check_keys
from attnlab.comparison.statistics import (
    Interval,
    exp_interval,
    item_tests,
    judge,
    sequential_interval,
    t_interval,
    within,
)
from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.declaration import ItemTest
from attnlab.tasks.kinds import known_kind

_MOST_NAMED = 5
# Sections of the configuration that define the problem, not how it is learned.
_QUESTION = ("task", "data")


class NoReference(RequestError):
    """No group is the reference that the user named."""


@dataclass(frozen=True)
class Options:
    """How runs are grouped and compared, and which group is the reference."""

    # config keys by which runs are grouped; `attention` means `attention.name`
    by: tuple[str, ...] = ("attention",)
    within: tuple[str, ...] = ()  # config keys; each of their values gets a comparison of its own
    metric: str | None = None  # see `Quantity.path`; None for the metric that the task reports
    # the first values of the reference group, separated by commas; None for the group without
    # attention, or else the one with most seeds
    reference: str | None = None
    geometric: bool = False  # average logarithms: means are geometric and differences are ratios
    # whether to run slow tests over test items, such as the paired bootstrap of translations; None
    # to run them if they take only seconds
    bootstrap: bool | None = None
    # whether intervals and verdicts stay valid however often one looks; see `sequential`
    sequential: bool = False


@dataclass(frozen=True, eq=False)
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
    # difference to the reference, or with `geometric` the ratio; None for the reference itself, and
    # without shared seeds
    difference: Interval | None = None
    # the paired test's p value, corrected for the number of tests: Holm, or Bonferroni (sequential)
    p_corrected: float | None = None
    # the test over test items on the shared seeds; None if there is none
    item_test: ItemTest | None = None
    verdict: str = ""  # better, worse, ...; empty for the reference


@dataclass(frozen=True, eq=False)
class Comparison:
    """The comparison of the groups of one task on one data set."""

    task: str  # its name
    # the name of the data, values of the keys `within`, and of settings of task and data that
    # differ; None if there are no other groups of the task
    data: str | None
    # the keys by which runs are grouped: those that the user named, then other settings in which
    # runs with equal values of these differ
    by: tuple[str, ...]
    metric: Quantity  # what is compared
    units: str  # of the metric; empty if it has none
    geometric: bool  # whether means are geometric and differences ratios
    sequential: bool  # whether intervals and verdicts stay valid however often one looks
    # the best group first; in the order of keys if the metric has no better direction
    results: tuple[GroupResult, ...]
    # None if there is one group, or if the group that the user named is one of another task
    reference: Group | None
    baseline: str | None  # the baseline of the skill; None if runs have several or none
    notes: tuple[str, ...]  # how to read the results
    warnings: tuple[str, ...]  # reasons to doubt the results

    @property
    def name(self) -> str:
        """The task's name, with `data` if there is any."""
        return f"{self.task} {self.data}" if self.data else self.task

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups in the order of the results."""
        return tuple(result.group for result in self.results)

    @property
    def records(self) -> list[RunRecord]:
        """The runs of all groups."""
        return [record for group in self.groups for record in group.runs.values()]

    @property
    def reference_name(self) -> str | None:
        """The reference group's name, for sentences."""
        return self.reference.name if self.reference else None

    @property
    def differences(self) -> list[GroupResult]:
        """The results that are compared with the reference: all except its own."""
        return [result for result in self.results if result.verdict]

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
    table, left_out = read_runs(entries)
    for option, keys in (("--by", options.by), ("--within", options.within)):
        check_keys(option, keys, [record.settings for record in table["RUN"]])
        if "seed" in keys:
            raise RequestError(f"{option}: leave out seed: groups are averaged over seeds.")
    if options.metric:
        check_metric(options.metric, [record.metrics for record in table["RUN"]])
    tasks = []
    for task, names, apart, runs in _questions(table, options):
        metric = Quantity.of(options.metric, runs["RUN"].iloc[-1].metrics, known_kind(task))
        runs = runs.assign(VALUE=[metric.value(run.metrics) for run in runs["RUN"]])
        runs = runs.astype({"VALUE": float})
        if np.isfinite(runs["VALUE"]).any():
            tasks.append(_compare_task(task, ", ".join(names), apart, runs, metric, options))
        else:
            left_out.append(f"{' '.join([task, *names])}: no run has a finite {metric.path}")
    if not tasks:
        raise NothingToCompare(f"--metric: {left_out[-1]}.")
    labels = sorted({group.label for task in tasks for group in task.groups})
    if options.reference and len(labels) > 1 and not any(task.reference for task in tasks):
        raise NoReference(
            f"--reference: no group is {options.reference!r}. Groups: {', '.join(labels)}."
            f"{did_you_mean(options.reference, labels)}"
        )
    return Comparisons(tasks, left_out)


def _questions(
    table: pd.DataFrame, options: Options
) -> Iterator[tuple[str, list[str], list[str], pd.DataFrame]]:
    """Divide runs by task, data, the keys `within`, and other settings of task and data.

    Errors on different data, or of different horizons, can't be compared. Such settings therefore
    separate runs that agree in all requested keys.

    Yields:
        The task; names of the data, if the task has several, and of settings as `key=value`;
        settings that separate the runs though not requested; and the runs.
    """
    several = table.groupby("TASK")["DATA"].nunique() > 1
    for (task, data), runs in table.groupby(["TASK", "DATA"]):
        keys = [*options.by, *options.within]
        splitting = differing_settings(runs, keys, in_groups=True)
        apart = [key for key in splitting if key.partition(".")[0] in _QUESTION]
        within = [*options.within, *apart]
        for values, part in split(runs, within):
            pairs = zip(within, values, strict=True)
            names = [f"{key.rpartition('.')[2]}={value}" for key, value in pairs]
            yield task, [*([data] if several[task] else []), *names], apart, part


def _compare_task(
    task: str,
    data: str,
    apart: Sequence[str],
    runs: pd.DataFrame,
    metric: Quantity,
    options: Options,
) -> Comparison:
    """Group the runs of one question and compare the groups; see `_questions`."""
    usable = runs[np.isfinite(runs["VALUE"])]
    if options.geometric and (least := usable["VALUE"].min()) <= 0:
        raise RequestError(
            f"--geometric: needs values above 0, but {metric.path} is {least:g} in a run."
        )
    splitting = differing_settings(usable, options.by, in_groups=True)
    by = (*options.by, *splitting)
    groups = make_groups(usable, by)
    reference = _reference(groups, options.reference) if len(groups) > 1 else None
    judged, missing_tests = {}, list[str]()
    if reference is not None:
        others = [group for group in groups if group is not reference]
        pairs = [group.pairs(reference) for group in others]
        verdicts = judge(pairs, metric.direction, options.geometric, options.sequential)
        tests, missing_tests = item_tests(others, reference, metric, options.bootstrap)
        judged = {
            group.key: {**verdict._asdict(), "item_test": test}
            for group, verdict, test in zip(others, verdicts, tests, strict=True)
        }
    results = [_result(group, metric, options, judged.get(group.key, {})) for group in groups]
    results.sort(key=lambda result: -metric.direction * result.interval.mean)
    notes, warnings = [], []
    if older := len(usable) - sum(len(group.rows) for group in groups):
        number = "1 older run" if older == 1 else f"{older} older runs"
        notes.append(f"left out {number} of the same group and seed")
    if apart:
        notes.append(
            f"runs that differ in {', '.join(apart)} are compared separately; "
            f"--by {','.join(apart)} groups them"
        )
    if len(groups) == 1:
        notes.append("there is only one group, so there is nothing to compare it with")
    elif reference is None:
        notes.append(f"no group is {in_prose(str(options.reference))}, so there is no reference")
    unusable = [run.run.name for run in runs["RUN"].drop(usable.index)]
    if unusable:
        names = ", ".join(unusable[:_MOST_NAMED]) + ", ..." * (len(unusable) > _MOST_NAMED)
        warnings.append(f"left out {len(unusable)} without a finite {metric.path}: {names}")
    if splitting:
        warnings.append(
            f"runs with the same {', '.join(options.by)} differ in {', '.join(splitting)}, so they "
            "are in different groups: see --by and --where"
        )
    metrics = [run.metrics for run in usable["RUN"]]
    baselines = {metric.best_baseline(entries) for entries in metrics}
    has_units = metric.metric is not None and metric.metric.in_units
    return Comparison(
        task=task,
        data=data or None,
        by=by,
        metric=metric,
        units=str(metrics[-1].get("units", "")) if has_units else "",
        geometric=options.geometric,
        sequential=options.sequential,
        results=tuple(results),
        reference=reference,
        baseline=baselines.pop() if len(baselines) == 1 and metric.is_test else None,
        notes=(*notes, *missing_tests),
        warnings=(*warnings, *doubts(groups, by)),
    )


def _reference(groups: list[Group], text: str | None) -> Group | None:
    """Choose the reference group; None if the group that the user named is one of another task.

    The choice doesn't look at results: with the best group as the reference, tests would be biased.
    """
    if text is None:
        candidates = [g for g in groups if (g.rows["attention.name"] == "none").all()] or groups
    else:
        words = _words(text)
        candidates = [group for group in groups if _words(group.label)[: len(words)] == words]
    return max(candidates, key=lambda group: len(group.rows), default=None)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("/", ",").split(",")]


def _result(
    group: Group, metric: Quantity, options: Options, judged: Mapping[str, Any]
) -> GroupResult:
    """Compute a group's results; `judged` has its difference to the reference."""
    interval_of = sequential_interval if options.sequential else t_interval
    values = group.rows["VALUE"]
    interval = interval_of(np.log(values) if options.geometric else values)
    interval = exp_interval(interval) if options.geometric else interval
    ends = sorted(values.tolist(), reverse=metric.direction > 0)
    runs = group.runs.values()
    seconds = [run.history().get("seconds") for run in runs]
    sizes = [size for run in runs if isinstance(size := run.metrics.get("parameters"), int)]
    return GroupResult(
        group=group,
        interval=within(interval, metric.bounds),
        best=ends[0],
        worst=ends[-1],
        skill=_mean([metric.skill(run.metrics) for run in runs]),
        parameters=(min(sizes), max(sizes)) if sizes else None,
        # the median, because the first epoch includes compiling
        seconds_per_epoch=_mean([plain.median(s) if s else None for s in seconds]),
        **judged,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Average values; None if one is missing."""
    numbers = [value for value in values if value is not None]
    return plain.fmean(numbers) if numbers and len(numbers) == len(values) else None
