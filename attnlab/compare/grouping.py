"""Which runs are held against which: by task, in groups, with the group that is the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.tasks.kinds import known_kind

_MOST_NAMED = 5


class NothingToCompare(RequestError):
    """No run is completed, or none has a finite value."""


@dataclass(frozen=True)
class Choice:
    """What is held against what."""

    # config keys whose values make the groups; `attention` means `attention.name`
    by: tuple[str, ...] = ("attention",)
    within: tuple[str, ...] = ()  # config keys; runs are compared with those of equal values alone
    metric: str | None = None  # see `Quantity.path`; None for each task's reported one
    # the group that others are held against, as its values or `key=value,...`; None for the one
    # without attention, else the one of most seeds
    reference: str | None = None
    geometric: bool = False  # average logarithms: means are geometric and differences are ratios


@dataclass(frozen=True)
class TaskGroups:
    """The groups of one task, and of its data where there are several."""

    task: str  # its name
    # the name of the data, where runs of the task have several, and values of the keys `within`
    data: str | None
    # the keys that make the groups: those asked for, and others in which runs differ that agree in
    # these
    by: tuple[str, ...]
    metric: Quantity  # what is compared
    units: str  # of the metric; empty where it has none
    groups: tuple[Group, ...]  # in the order of keys
    # the group that the others are held against; None for a lone one, and where the one asked for
    # is of another task
    reference: Group | None
    notes: tuple[str, ...]  # what to know for reading what is made of them
    warnings: tuple[str, ...]  # what makes that doubtful

    @property
    def records(self) -> list[RunRecord]:
        """The runs of all groups."""
        return [record for group in self.groups for record in group.runs.values()]


class Chosen(NamedTuple):
    """The groups of each task and its data, and sentences about runs that are in none."""

    tasks: list[TaskGroups]
    left_out: list[str]


def choose(entries: Sequence[ListedRun], choice: Choice) -> Chosen:
    """Group runs.

    The entries, at least one, have the oldest first; those that aren't completed are counted.

    Raises:
        RequestError: No run is completed, or a key, a metric or the reference isn't known.
    """
    found = read_completed(entries)
    states = ", ".join(f"{count} {state}" for state, count in found.states.items())
    if not found.records:
        damaged = f"{len(found.damaged)} damaged ({found.damaged[0]})" if found.damaged else ""
        there = ", ".join(filter(None, (states, damaged)))
        raise NothingToCompare(f"--runs: expected completed runs, but there are only {there}.")
    for option, keys in (("--by", choice.by), ("--within", choice.within)):
        check_keys(option, keys, [record.settings for record in found.records])
        if "seed" in keys:
            raise RequestError(
                f"{option}: expected keys other than seed, which groups are averaged over."
            )
    if choice.metric:
        check_metric(choice.metric, [record.metrics for record in found.records])
    left_out = ([f"not completed: {states}"] if states else []) + _some(found.damaged)
    by_task: dict[tuple[str | None, ...], list[RunRecord]] = {}
    for record in found.records:
        own = record.task, record.data, *values_of(record, choice.within)
        by_task.setdefault(own, []).append(record)
    tasks = []
    for key in in_order(by_task):
        (task, data, *values), records = key, by_task[key]
        metric = Quantity.of(choice.metric, records[-1].metrics, known_kind(str(task)))
        is_one_of_several = len({each[1] for each in by_task if each[0] == task}) > 1
        names = [str(data)] if is_one_of_several else []
        names += map("=".join, zip(map(_last_word, choice.within), map(str, values), strict=True))
        if any(_has_value(record, metric) for record in records):
            groups = _task_groups(str(task), records, metric, choice)
            tasks.append(replace(groups, data=", ".join(names) or None))
        else:
            left_out.append(f"{' '.join([str(task), *names])}, without a finite {metric.path}")
    if not tasks:
        raise NothingToCompare(f"--metric: expected runs with a finite value, got {left_out[-1]}.")
    _check_reference(choice.reference, tasks)
    return Chosen(tasks, left_out)


def _last_word(key: str) -> str:
    return key.rpartition(".")[2]


def _task_groups(
    task: str, records: list[RunRecord], metric: Quantity, choice: Choice
) -> TaskGroups:
    usable = [record for record in records if _has_value(record, metric)]
    splitting = splitting_settings(usable, choice.by)
    by = (*choice.by, *splitting)
    groups, older = grouped(usable, metric, by)
    if choice.geometric:
        _require_positive(groups, metric)
    reference = _reference(groups, choice.reference, by) if len(groups) > 1 else None
    notes = [f"left out {_count(older, 'older run')} of the same group and seed"] * bool(older)
    if len(groups) == 1:
        notes.append("there is one group only, so nothing to hold it against")
    elif reference is None:
        notes.append(f"no group is {choice.reference}, so nothing to hold the others against")
    has_units = metric.metric is not None and metric.metric.in_units
    warnings = [*_lacking(records, metric, by), *_about_splitting(choice.by, splitting)]
    return TaskGroups(
        task=task,
        data=None,
        by=by,
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


def _lacking(records: list[RunRecord], metric: Quantity, by: tuple[str, ...]) -> list[str]:
    """Sentences about runs that have no finite value, so that an older one may count instead."""
    own = [(record.seed, *values_of(record, by)) for record in records]  # the oldest first
    counting = {key: place for place, key in enumerate(own) if _has_value(records[place], metric)}
    instead = "; an older run of its seed counts instead"
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
    own = dict(zip(by, group.key, strict=True))
    if any(text.strip() == f"{key}={value}" for key, value in own.items()):
        return True  # whatever commas and slashes the value has
    given = _parts(text)
    if all("=" in part for part in given):
        wanted = dict(part.split("=", 1) for part in given)
        return all(own.get(key) == value for key, value in wanted.items())
    return given == _parts(group.label)[: len(given)]


def _parts(label: str) -> list[str]:
    """The values of a label, whether commas or slashes stand between."""
    return [part.strip() for part in label.replace("/", ",").split(",")]


def _check_reference(given: str | None, tasks: list[TaskGroups]) -> None:
    labels = list(dict.fromkeys(group.label for each in tasks for group in each.groups))
    if given is None or any(each.reference for each in tasks) or len(labels) < 2:
        return
    raise RequestError(
        f"--reference: expected one of the groups {', '.join(labels)}, got {given!r}."
        f"{did_you_mean(given, labels)}"
    )
