"""Divide runs by task, group them, and choose the reference group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from attnlab.compare.metrics import Quantity, check_metric
from attnlab.compare.runs import (
    Group,
    RunRecord,
    doubts,
    grouped,
    in_order,
    read_completed,
    splitting_settings,
    values_of,
)
from attnlab.compare.selection import check_keys
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
    # what tells these groups from others of the task: the name of the data, values of the keys
    # `within`, and of settings of task and data that differ; None if there are no others
    data: str | None
    # the keys by which runs are grouped: those that the user named, then other settings in which
    # runs with equal values of these differ
    by: tuple[str, ...]
    asked: int  # how many of the keys, the first ones, the user named
    metric: Quantity  # what is compared
    units: str  # of the metric; empty if it has none
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
    found = read_completed(entries)
    states = ", ".join(f"{count} {state}" for state, count in found.states.items())
    if not found.records:
        damaged = f"{len(found.damaged)} damaged ({found.damaged[0]})" if found.damaged else ""
        there = ", ".join(filter(None, (states, damaged)))
        got = there or "none"
        raise NothingToCompare(f"--runs: no run is completed; there are {got}.")
    for option, keys in (("--by", choice.by), ("--within", choice.within)):
        check_keys(option, keys, [record.settings for record in found.records])
        if "seed" in keys:
            raise RequestError(f"{option}: leave out seed: groups are averaged over seeds.")
    if choice.metric:
        check_metric(choice.metric, [record.metrics for record in found.records])
    left_out = ([f"not completed: {states}"] if states else []) + _some(found.damaged)
    tasks = []
    for asked in _questions(found.records, choice):
        records = asked.records
        metric = Quantity.of(choice.metric, records[-1].metrics, known_kind(asked.task))
        if any(_has_value(record, metric) for record in records):
            tasks.append(_task_groups(asked, metric, choice))
        else:
            name = " ".join([asked.task, *asked.names])
            left_out.append(f"{name}: no run has a finite {metric.path}")
    if not tasks:
        raise NothingToCompare(f"--metric: {left_out[-1]}.")
    _check_reference(choice.reference, tasks)
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
    by_task = _divided(records, lambda record: (record.task, record.data))
    for task, data in in_order(by_task):
        own, within = by_task[task, data], choice.within
        splitting = splitting_settings(own, (*choice.by, *within))
        apart = [key for key in splitting if key.partition(".")[0] in _QUESTION]
        left = (*choice.by, *(key for key in splitting if key not in apart))
        parts = _divided(own, partial(values_of, keys=(*within, *apart)))
        if any(len({values_of(run, left) for run in part}) > 1 for part in parts.values()):
            within = (*within, *apart)
        else:
            apart, parts = [], _divided(own, partial(values_of, keys=within))
        is_one_of_several = sum(other == task for other, _ in by_task) > 1
        for values in in_order(parts):
            pairs = zip(within, values, strict=True)
            named = [f"{key.rpartition('.')[2]}={value}" for key, value in pairs]
            names = [*([str(data)] if is_one_of_several else []), *named]
            yield _Question(str(task), names, apart, parts[values])


def _divided(
    records: Iterable[RunRecord], key: Callable[[RunRecord], tuple[str | None, ...]]
) -> dict[tuple[str | None, ...], list[RunRecord]]:
    """Divide runs by a key, in their order."""
    found: dict[tuple[str | None, ...], list[RunRecord]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found


def _task_groups(asked: _Question, metric: Quantity, choice: Choice) -> TaskGroups:
    records = asked.records
    usable = [record for record in records if _has_value(record, metric)]
    splitting = splitting_settings(usable, choice.by)
    by = (*choice.by, *splitting)
    groups, older = grouped(usable, metric, by)
    if choice.geometric:
        _require_positive(groups, metric)
    reference = _reference(groups, choice.reference, by) if len(groups) > 1 else None
    notes = [f"left out {_count(older, 'older run')} of the same group and seed"] * bool(older)
    if asked.apart:
        keys, named = ", ".join(asked.apart), ",".join(asked.apart)
        notes.append(
            f"runs that differ in {keys} are compared separately; --by {named} groups them"
        )
    if len(groups) == 1:
        notes.append("there is only one group, so there is nothing to compare it with")
    elif reference is None:
        notes.append(f"no group is {in_prose(str(choice.reference))}, so there is no reference")
    has_units = metric.metric is not None and metric.metric.in_units
    warnings = [*_lacking(records, metric, by), *_about_splitting(choice.by, splitting)]
    return TaskGroups(
        task=asked.task,
        data=", ".join(asked.names) or None,
        by=by,
        asked=len(choice.by),
        metric=metric,
        units=str(usable[-1].metrics.get("units", "")) if has_units else "",
        groups=tuple(groups),
        reference=reference,
        notes=tuple(notes),
        warnings=(*warnings, *doubts(groups, by)),
    )


def _require_positive(groups: list[Group], metric: Quantity) -> None:
    if (least := min(min(group.values.values()) for group in groups)) <= 0:
        raise RequestError(
            f"--geometric: needs values above 0, but {metric.path} is {least:g} in a run."
        )


def _about_splitting(by: tuple[str, ...], splitting: list[str]) -> list[str]:
    if not splitting:
        return []
    return [
        f"runs with the same {', '.join(by)} differ in {', '.join(splitting)}, so they are in "
        "different groups: see --by and --where"
    ]


def _has_value(record: RunRecord, metric: Quantity) -> bool:
    value = metric.value(record.metrics)
    return value is not None and math.isfinite(value)


def _lacking(records: list[RunRecord], metric: Quantity, by: tuple[str, ...]) -> list[str]:
    """Describe the runs without a finite value; an older run of the seed may replace one."""
    own = [(record.seed, *values_of(record, by)) for record in records]  # the oldest first
    counting = {key: place for place, key in enumerate(own) if _has_value(records[place], metric)}
    instead = "; an older run with this seed replaces it"
    return _some(
        [
            f"left out {record.run.name}: it has "
            f"{'no' if metric.value(record.metrics) is None else 'no finite'} {metric.path}"
            f"{instead if counting.get(own[place], place) < place else ''}"
            for place, record in enumerate(records)
            if not _has_value(record, metric)
        ]
    )


def _some(lines: list[str]) -> list[str]:
    """Return the first few lines, and a line that counts the others."""
    more = len(lines) - _MOST_NAMED
    return lines[:_MOST_NAMED] + ([f"... and {_count(more, 'other run')}"] if more > 0 else [])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _reference(groups: list[Group], given: str | None, by: tuple[str, ...]) -> Group | None:
    """Choose the reference group; None if the group that the user named is one of another task.

    The choice doesn't look at results: with the best group as the reference, tests would be biased.
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
    own = dict(zip(by, group.key, strict=True))
    if any(text.strip() == f"{key}={value}" for key, value in own.items()):
        return True  # a value may have commas and slashes
    given = _parts(text)
    if all("=" in part for part in given):
        wanted = dict(part.split("=", 1) for part in given)
        (run, *_) = group.runs.values()
        # Settings of task and data separate tables; they don't make groups.
        dividing = {key: run.setting(key) for key in wanted if key.partition(".")[0] in _QUESTION}
        return {**dividing, **own}.items() >= wanted.items()
    return given == _parts(group.label)[: len(given)]


def _parts(label: str) -> list[str]:
    """Split a label at its commas or slashes."""
    return [part.strip() for part in label.replace("/", ",").split(",")]


def _check_reference(given: str | None, tasks: list[TaskGroups]) -> None:
    labels = list(dict.fromkeys(group.label for each in tasks for group in each.groups))
    if given is None or any(each.reference for each in tasks) or len(labels) < 2:
        return
    raise NoReference(
        f"--reference: no group is {given!r}. Groups: {', '.join(labels)}."
        f"{did_you_mean(given, labels)}"
    )
