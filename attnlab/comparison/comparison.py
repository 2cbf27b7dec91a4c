"""Compare groups of runs: means over seeds, differences to a reference group, verdicts.

Each difference uses only the seeds that both groups have. `runs.doubts` warns if groups also differ
in other settings, data, versions or machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
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
    still_improving,
)
from attnlab.comparison.selection import check_keys
from attnlab.comparison.statistics import (
    Difference,
    exp_interval,
    holm,
    judge,
    sequential_interval,
    t_interval,
)
from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.kinds import ItemTest, NoItemTest, known_kind, load

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
    # whether intervals and verdicts stay valid however often one looks
    sequential: bool = False


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
    # A row per group, the best group first; in the order of keys if the metric has no better
    # direction. Columns: `group`, a `Group`; those of `attnlab compare --format csv`, which
    # docs/reference has; and those of `Difference`, None in the reference's row. None: no value.
    table: pd.DataFrame
    # None if there is one group, or if the group that the user named is one of another task
    reference: Group | None
    item_test: ItemTest | None  # one of the tests over test items, which all have its method
    notes: tuple[str, ...]  # how to read the results
    warnings: tuple[str, ...]  # reasons to doubt the results

    @property
    def name(self) -> str:
        """The task's name, with `data` if there is any."""
        return f"{self.task} {self.data}" if self.data else self.task

    @property
    def groups(self) -> list[Group]:
        """The groups in the order of the table."""
        return [*self.table["group"]]

    @property
    def records(self) -> list[RunRecord]:
        """The runs of all groups."""
        return [record for group in self.groups for record in group.runs.values()]

    @property
    def reference_name(self) -> str | None:
        """The reference group's name, for sentences."""
        return self.reference.name if self.reference else None

    @property
    def differences(self) -> pd.DataFrame:
        """The rows of the groups that are compared with the reference: all except its own."""
        return self.table[self.table["verdict"].notna()]


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
    several = table.groupby("TASK")["DATA"].nunique() > 1
    for (task, data), task_runs in table.groupby(["TASK", "DATA"]):
        # Errors on different data, or of different horizons, can't be compared. Such settings
        # separate runs, though not requested, that agree in all requested keys.
        requested = [*options.by, *options.within]
        differing = differing_settings(task_runs, requested, in_groups=True)
        apart = [key for key in differing if key.partition(".")[0] in _QUESTION]
        within = [*options.within, *apart]
        for values, runs in split(task_runs, within):
            pairs = zip(within, values, strict=True)
            names = [f"{key.rpartition('.')[2]}={value}" for key, value in pairs]
            names = [*([data] if several[task] else []), *names]
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


def _compare_task(
    task: str,
    data: str,
    apart: Sequence[str],
    runs: pd.DataFrame,
    metric: Quantity,
    options: Options,
) -> Comparison:
    """Group runs of one task and data, which `apart` separates from others; compare the groups."""
    # The groups of the runs that have a value
    usable = runs[np.isfinite(runs["VALUE"])]
    if options.geometric and (least := usable["VALUE"].min()) <= 0:
        raise RequestError(
            f"--geometric: needs values above 0, but {metric.path} is {least:g} in a run."
        )
    splitting = differing_settings(usable, options.by, in_groups=True)
    by = (*options.by, *splitting)
    groups = make_groups(usable, by)
    reference = _reference(groups, options.reference) if len(groups) > 1 else None

    # Each group against the reference, whose own row has neither a difference nor a test
    differences, tests = dict[Group, Difference](), dict[Group, ItemTest]()
    missing_tests = list[str]()
    if reference is not None:
        others = [group for group in groups if group is not reference]
        pairs = [group.pairs(reference) for group in others]
        judged = judge(pairs, metric.direction, options.geometric, options.sequential)
        differences = dict(zip(others, judged, strict=True))
        tests, missing_tests = _item_tests(others, reference, metric, options.bootstrap)

    # A row per group, the best group first
    key_columns = [f"{key}.name" if key in ("task", "data") else key for key in by]
    rows = []
    for group in groups:
        test = tests.get(group)
        row = {
            "group": group,
            "task": task,
            "data": data or None,
            "metric": metric.path,
            **dict(zip(key_columns, group.key, strict=True)),
            **_results(group, metric, options),
            "reference": reference.label if reference else None,
            "intervals": "sequential" if options.sequential else "t",
            **differences.get(group, Difference())._asdict(),
            "item_test": test and test.name,
            "items": test and test.items,
            "item_statistic": test and test.statistic,
            "item_p": test and test.p,
            "item_p_holm": test and test.p_holm,
        }
        rows.append(row)
    rows.sort(key=lambda row: -metric.direction * row["mean"])

    # How to read the results, and reasons to doubt them
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
    if unusable := [run.run.name for run in runs["RUN"].drop(usable.index)]:
        names = ", ".join(unusable[:_MOST_NAMED]) + ", ..." * (len(unusable) > _MOST_NAMED)
        warnings.append(f"left out {len(unusable)} without a finite {metric.path}: {names}")
    if splitting:
        warnings.append(
            f"runs with the same {', '.join(options.by)} differ in {', '.join(splitting)}, so they "
            "are in different groups: see --by and --where"
        )

    has_units = metric.metric is not None and metric.metric.in_units
    return Comparison(
        task=task,
        data=data or None,
        by=by,
        metric=metric,
        units=str(usable["RUN"].iloc[-1].metrics.get("units", "")) if has_units else "",
        geometric=options.geometric,
        sequential=options.sequential,
        table=pd.DataFrame(rows, dtype=object),
        reference=reference,
        item_test=next(iter(tests.values()), None),
        notes=(*notes, *missing_tests),
        warnings=(*warnings, *still_improving(groups), *doubts(groups, by)),
    )


def _results(group: Group, metric: Quantity, options: Options) -> dict[str, Any]:
    """Return the columns of a group's own results: mean, interval, best, worst, skill, size."""
    runs, values = group.runs.values(), group.rows["VALUE"]
    interval_of = sequential_interval if options.sequential else t_interval
    interval = interval_of(np.log(values) if options.geometric else values)
    interval = exp_interval(interval) if options.geometric else interval
    low, high = interval.low, interval.high
    if low is not None and high is not None:
        # An interval of few, very different seeds can reach beyond the smallest or the largest
        # value of a metric, where the true mean can't be.
        low, high = max(low, metric.bounds[0]), min(high, metric.bounds[1])
    ends = [float(values.max()), float(values.min())]
    best, worst = ends if metric.direction > 0 else ends[::-1]
    skills = [s for run in runs if (s := metric.skill(run.metrics)) is not None]
    sizes = [size for run in runs if isinstance(size := run.metrics.get("parameters"), int)]
    return {
        "n": interval.n,
        "mean": interval.mean,
        "low": low,
        "high": high,
        "best": best,
        "worst": worst,
        "skill": fmean(skills) if len(skills) == len(runs) else None,
        "parameters": max(sizes, default=None),
    }


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


def _item_tests(
    groups: Sequence[Group], reference: Group, metric: Quantity, bootstrap: bool | None
) -> tuple[dict[Group, ItemTest], list[str]]:
    """Test over test items whether groups differ from a reference, by the test of the metric.

    Returns the tests, and notes on why tests are missing. `bootstrap` is `always` of `ItemTester`.
    """
    tester = metric.metric.item_test if metric.metric and metric.is_test else None
    pairs = {}
    for group in groups:
        seeds = group.rows.index.intersection(reference.rows.index)
        if len(seeds):
            sides = [[run.run for run in side.rows["RUN"][seeds]] for side in (group, reference)]
            pairs[group] = sides[0], sides[1]
    if tester is None or not pairs:
        return {}, []
    try:
        results = load(tester)(metric.leaf, list(pairs.values()), always=bootstrap)
    except NoItemTest as error:
        return {}, [str(error)]
    except RequestError as error:
        return {}, [f"no test over test items: {error}"]
    corrected = holm([test.p if test else None for test in results])
    tests = zip(pairs, results, corrected, strict=True)
    return {group: replace(test, p_holm=p) for group, test, p in tests if test}, []
