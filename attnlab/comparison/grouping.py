"""Divide runs by task, group them, and choose the reference group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from attnlab.comparison.metrics import Quantity, check_metric
from attnlab.comparison.runs import (
    Group,
    Key,
    RunRecord,
    doubts,
    grouped,
    in_order,
    read_completed,
    splitting_settings,
    values_of,
)
from attnlab.comparison.selection import check_keys
from attnlab.config.options import in_prose
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.kinds import known_kind

_MOST_NAMED = 5
# Sections of the configuration that define the problem, not how it is learned.
_QUESTION = ("task", "data")


class NothingToCompare(RequestError):
    """No run is completed, or none has a finite value."""


class NoReference(RequestError):
    """No group is the reference that the user named."""


@dataclass(frozen=True)
class Choice:
    """How runs are grouped, and which group is the reference."""

    # config keys by which runs are grouped; `attention` means `attention.name`
    by: tuple[str, ...] = ("attention",)
    within: tuple[str, ...] = ()  # config keys; each of their values gets a comparison of its own
    metric: str | None = None  # see `Quantity.path`; None for the metric that the task reports
    # the reference group, as its values or `key=value,...`; None for the group without attention,
    # or else the one with most seeds
    reference: str | None = None
    geometric: bool = False  # average logarithms: means are geometric and differences are ratios


@dataclass(frozen=True)
class TaskGroups:
    """The groups of one task on one data set."""

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
    groups: tuple[Group, ...]  # in the order of keys
    # None if there is one group, or if the group that the user named is one of another task
    reference: Group | None
    notes: tuple[str, ...]  # how to read the results
    warnings: tuple[str, ...]  # reasons to doubt the results

    @property
    def name(self) -> str:
        """The task's name, with `data` if there is any."""
        return f"{self.task} {self.data}" if self.data else self.task

    @property
    def records(self) -> list[RunRecord]:
        """The runs of all groups."""
        return [record for group in self.groups for record in group.runs.values()]


def choose(entries: Sequence[ListedRun], choice: Choice) -> tuple[list[TaskGroups], list[str]]:
    """Divide runs by task and group them.

    Args:
        entries: At least one run, the oldest first. Only completed runs are grouped.
        choice: How to group them.

    Returns:
        The groups of each task and data, and sentences about the runs that are in no group.

    Raises:
        RequestError: No run is completed, or a key, a metric or the reference is unknown.
    """
    records, states, damaged = read_completed(entries)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    if not records:
        others = ", ".join(filter(None, [counts, *damaged[:1]])) or "none"
        raise NothingToCompare(f"--runs: no run is completed; there are {others}.")
    for option, keys in (("--by", choice.by), ("--within", choice.within)):
        check_keys(option, keys, [record.settings for record in records])
        if "seed" in keys:
            raise RequestError(f"{option}: leave out seed: groups are averaged over seeds.")
    if choice.metric:
        check_metric(choice.metric, [record.metrics for record in records])
    left_out = [f"not completed: {counts}"] if counts else []
    left_out += damaged[:_MOST_NAMED]
    if len(damaged) > _MOST_NAMED:
        left_out.append(f"... and {len(damaged) - _MOST_NAMED} other damaged runs")
    tasks = []
    for question in _questions(records, choice):
        metric = Quantity.of(choice.metric, question.records[-1].metrics, known_kind(question.task))
        if any(_has_value(record, metric) for record in question.records):
            tasks.append(_task_groups(question, metric, choice))
        else:
            name = " ".join([question.task, *question.names])
            left_out.append(f"{name}: no run has a finite {metric.path}")
    if not tasks:
        raise NothingToCompare(f"--metric: {left_out[-1]}.")
    labels = list(dict.fromkeys(group.label for task in tasks for group in task.groups))
    if choice.reference and len(labels) > 1 and not any(task.reference for task in tasks):
        raise NoReference(
            f"--reference: no group is {choice.reference!r}. Groups: {', '.join(labels)}."
            f"{did_you_mean(choice.reference, labels)}"
        )
    return tasks, left_out


class _Question(NamedTuple):
    """Runs on the same task, data and settings of both."""

    task: str
    names: list[str]  # name of the data, if the task has several, and settings as `key=value`
    apart: list[str]  # settings of task and data that separate these runs though not requested
    records: list[RunRecord]


def _questions(records: Sequence[RunRecord], choice: Choice) -> Iterator[_Question]:
    """Divide runs by task, data, the keys `within`, and other settings of task and data.

    Errors on different data, or of different horizons, can't be compared. Such settings therefore
    separate runs that agree in all requested keys. If every part would then be a single group, as
    after a sweep over such a setting, the setting makes groups instead.
    """
    by_task = _divide(records, lambda record: (record.task, record.data))
    for task, data in in_order(by_task):
        runs, within = by_task[task, data], choice.within
        splitting = splitting_settings(runs, (*choice.by, *within))
        apart = [key for key in splitting if key.partition(".")[0] in _QUESTION]
        by = (*choice.by, *(key for key in splitting if key not in apart))
        parts = _divide(runs, partial(values_of, keys=(*within, *apart)))
        if any(len({values_of(run, by) for run in part}) > 1 for part in parts.values()):
            within = (*within, *apart)
        else:
            apart, parts = [], _divide(runs, partial(values_of, keys=within))
        is_one_of_several = sum(other == task for other, _ in by_task) > 1
        for values in in_order(parts):
            pairs = zip(within, values, strict=True)
            names = [f"{key.rpartition('.')[2]}={value}" for key, value in pairs]
            data_name = [str(data)] if is_one_of_several else []
            yield _Question(str(task), [*data_name, *names], apart, parts[values])


def _divide(
    records: Iterable[RunRecord], key: Callable[[RunRecord], Key]
) -> dict[Key, list[RunRecord]]:
    """Divide runs by a key, in their order."""
    parts: dict[Key, list[RunRecord]] = {}
    for record in records:
        parts.setdefault(key(record), []).append(record)
    return parts


def _task_groups(question: _Question, metric: Quantity, choice: Choice) -> TaskGroups:
    usable = [record for record in question.records if _has_value(record, metric)]
    splitting = splitting_settings(usable, choice.by)
    by = (*choice.by, *splitting)
    groups, older = grouped(usable, metric, by)
    least = min(min(group.values.values()) for group in groups)
    if choice.geometric and least <= 0:
        raise RequestError(
            f"--geometric: needs values above 0, but {metric.path} is {least:g} in a run."
        )
    reference = _reference(groups, choice.reference) if len(groups) > 1 else None
    notes, warnings = [], []
    if older:
        runs = "1 older run" if older == 1 else f"{older} older runs"
        notes.append(f"left out {runs} of the same group and seed")
    if question.apart:
        keys, option = ", ".join(question.apart), ",".join(question.apart)
        notes.append(
            f"runs that differ in {keys} are compared separately; --by {option} groups them"
        )
    if len(groups) == 1:
        notes.append("there is only one group, so there is nothing to compare it with")
    elif reference is None:
        notes.append(f"no group is {in_prose(str(choice.reference))}, so there is no reference")
    unusable = [record.run.name for record in question.records if record not in usable]
    if unusable:
        names = ", ".join(unusable[:_MOST_NAMED]) + ", ..." * (len(unusable) > _MOST_NAMED)
        warnings.append(f"left out {len(unusable)} without a finite {metric.path}: {names}")
    if splitting:
        warnings.append(
            f"runs with the same {', '.join(choice.by)} differ in {', '.join(splitting)}, so they "
            "are in different groups: see --by and --where"
        )
    has_units = metric.metric is not None and metric.metric.in_units
    return TaskGroups(
        task=question.task,
        data=", ".join(question.names) or None,
        by=by,
        metric=metric,
        units=str(usable[-1].metrics.get("units", "")) if has_units else "",
        geometric=choice.geometric,
        groups=tuple(groups),
        reference=reference,
        notes=tuple(notes),
        warnings=(*warnings, *doubts(groups, by)),
    )


def _has_value(record: RunRecord, metric: Quantity) -> bool:
    value = metric.value(record.metrics)
    return value is not None and math.isfinite(value)


def _reference(groups: list[Group], text: str | None) -> Group | None:
    """Choose the reference group; None if the group that the user named is one of another task.

    The choice doesn't look at results: with the best group as the reference, tests would be biased.
    """
    if text is None:
        candidates = [
            group
            for group in groups
            if all(run.setting("attention.name") == "none" for run in group.runs.values())
        ] or groups
    else:
        candidates = [group for group in groups if _is_meant(group, text)]
    return max(candidates, key=lambda group: len(group.runs), default=None)


def _is_meant(group: Group, text: str) -> bool:
    """Whether a text has the first values of a group's key, or is `key=value,...`."""
    words = [word.strip() for word in text.replace("/", ",").split(",")]
    if all("=" in word for word in words):
        (run, *_) = group.runs.values()
        return all(run.setting(key) == value for key, _, value in (w.partition("=") for w in words))
    return (
        words == [part.strip() for part in group.label.replace("/", ",").split(",")][: len(words)]
    )
