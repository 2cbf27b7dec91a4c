"""Estimate, from existing runs, how many seeds a comparison needs to find a difference.

Each group is compared with the reference as in `comparison`. The spread of the paired differences
over shared seeds gives the number of seeds; few seeds give only a rough spread, so there is a range
of numbers, too. The seconds of the existing runs give the time of the missing runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlab.compare.comparison import ENOUGH_SEEDS, LEVEL
from attnlab.compare.grouping import Choice, TaskGroups, choose
from attnlab.compare.metrics import Amount
from attnlab.compare.planning.power import Spread, detectable, seeds_for, spread
from attnlab.compare.runs import Group
from attnlab.compare.selection import began
from attnlab.compare.statistics import mean_interval, paired_differences
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun


@dataclass(frozen=True)
class Goal:
    """The difference that a comparison is to find, and with which error rates.

    Raises:
        RequestError: The power isn't between alpha and 1, or alpha isn't between 0 and 1.
    """

    difference: Amount  # size of the difference, in either direction
    power: float = 0.8  # probability of finding it if it exists
    alpha: float = LEVEL  # probability of finding one that doesn't exist

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise RequestError(f"--alpha={self.alpha:g}: must be between 0 and 1.")
        if not self.alpha < self.power < 1:
            raise RequestError(
                f"--power={self.power:g}: must be between --alpha ({self.alpha:g}) and 1."
            )


class Needed(NamedTuple):
    """Numbers of seeds; None if more than `power.MOST_SEEDS`."""

    seeds: int | None  # by the estimated spread
    low: int | None  # by the lower end of the spread's 95 % interval
    high: int | None  # by its upper end


@dataclass(frozen=True)
class GroupPlan:
    """How many runs are needed to find the difference between a group and the reference."""

    group: Group  # its runs
    n: int  # number of shared seeds
    # spread of the paired differences, or of their logarithms; None below two shared seeds
    spread: Spread | None = None
    needed: Needed | None = None  # None if the spread is unknown or 0
    # smallest difference, or logarithm of a ratio, that the shared seeds can find; None likewise
    detectable: float | None = None
    missing: int | None = None  # missing runs of the group and the reference for `needed.seeds`
    # seconds for one run of the group and one of the reference; None if records lack them
    seconds_per_seed: float | None = None
    seconds: float | None = None  # seconds for the missing runs


@dataclass(frozen=True)
class TaskPlan:
    """The plan of one task."""

    groups: TaskGroups  # the groups and the reference
    geometric: bool  # whether differences are logarithms of ratios
    goal: Goal  # what the comparison is to find
    difference: float  # size of the difference, in units or as a logarithm
    level: float  # level of each test: alpha / number of tests, the first step of Holm's correction
    plans: tuple[GroupPlan, ...]  # of all groups except the reference
    missing: int | None  # number of missing runs of all groups; None if unknown for one
    seconds: float | None  # seconds for these runs; None likewise


class Plans(NamedTuple):
    """A plan for each task and data, and sentences about the runs that are in none."""

    tasks: list[TaskPlan]
    left_out: list[str]


def plan(
    entries: Sequence[ListedRun], choice: Choice, goal: Goal, others: Iterable[ListedRun] = ()
) -> Plans:
    """Plan a comparison.

    Args:
        entries: At least one run, the oldest first.
        choice: How runs are grouped, and the reference.
        goal: What the comparison is to find.
        others: Other runs, which may have trained at the same time.

    Raises:
        RequestError: See `grouping.choose`; or no two groups share two seeds; or the goal doesn't
            fit the metric.
    """
    tasks, left_out = choose(entries, choice)
    seconds, plans = _seconds_each([*entries, *others]), []
    for task in tasks:
        lacking = _lacking(task)
        if lacking:
            left_out.append(f"{task.name}: {lacking}")
        else:
            plans.append(_plan_task(task, goal, seconds, choice.geometric))
    if not plans:
        raise RequestError(f"--runs: needs two groups that share two seeds. {left_out[-1]}.")
    return Plans(plans, left_out)


def _lacking(task: TaskGroups) -> str:
    """Explain why a task can't be planned; empty if it can."""
    if task.reference is None:
        return task.notes[-1]
    counts = {g.name: len(g.shared_seeds(task.reference)) for g in _others(task)}
    if max(counts.values()) > 1:
        return ""
    shared = ", ".join(f"{label} {count}" for label, count in counts.items())
    return f"seeds shared with {task.reference.name}: {shared}"


def _others(task: TaskGroups) -> list[Group]:
    return [group for group in task.groups if group is not task.reference]


def _plan_task(
    task: TaskGroups, goal: Goal, seconds: Mapping[Path, float], geometric: bool
) -> TaskPlan:
    assert task.reference is not None
    reference, others = task.reference, _others(task)
    mean = mean_interval(list(reference.values.values())).mean
    difference, level = goal.difference.at(mean, geometric), goal.alpha / len(others)
    each = {group.label: _seconds_of_a_run(group, seconds) for group in task.groups}
    plans, all_missing = [], set()
    for group in others:
        found = _plan_group(group, reference, difference, goal.power, level, geometric)
        missing = _missing(group, reference, found.needed)
        all_missing |= missing or set()
        plans.append(
            replace(
                found,
                missing=None if missing is None else len(missing),
                seconds_per_seed=_sum(each[side.label] for side in (group, reference)),
                seconds=None if missing is None else _sum(each[label] for label, _ in missing),
            )
        )
    is_known = all(each.missing is not None or _needs_no_more(each) for each in plans)
    return TaskPlan(
        groups=task,
        geometric=geometric,
        goal=goal,
        difference=difference,
        level=level,
        plans=tuple(plans),
        missing=len(all_missing) if is_known else None,
        seconds=_sum(each[label] for label, _ in all_missing) if is_known else None,
    )


def _needs_no_more(plan: GroupPlan) -> bool:
    """Whether enough seeds all have the same difference, so that more would not help."""
    found = plan.spread
    return found is not None and not found.deviation and plan.n >= ENOUGH_SEEDS


def _plan_group(
    group: Group,
    reference: Group,
    difference: float,
    power: float,
    level: float,
    geometric: bool,
) -> GroupPlan:
    """Estimate the needed seeds of a group from the shared seeds, without the missing runs."""
    shared = group.shared_seeds(reference)
    if len(shared) < 2:
        return GroupPlan(group, len(shared))
    own, base = ([side.values[seed] for seed in shared] for side in (group, reference))
    found = spread(paired_differences(own, base, geometric))
    if not found.deviation:
        return GroupPlan(group, len(shared), found)
    numbers = (
        seeds_for(difference / end, power, level)
        for end in (found.deviation, found.low, found.high)
    )
    # `compare` gives no verdict below ENOUGH_SEEDS.
    needed = Needed(*(seeds and max(seeds, ENOUGH_SEEDS) for seeds in numbers))
    smallest = found.deviation * detectable(len(shared), power, level)
    return GroupPlan(group, len(shared), found, needed, smallest)


def _missing(group: Group, reference: Group, needed: Needed | None) -> set[tuple[str, int]] | None:
    """Return label and seed of the missing runs; None if their number is unknown."""
    if needed is None or needed.seeds is None:
        return None
    shared = set(group.shared_seeds(reference))
    others = (seed for seed in itertools.count() if seed not in shared)
    new = list(itertools.islice(others, max(0, needed.seeds - len(shared))))
    sides = (group, reference)
    return {(side.label, seed) for side in sides for seed in new if seed not in side.runs}


def _seconds_each(entries: Iterable[ListedRun]) -> dict[Path, float]:
    """Return the seconds of each run; time in which several runs trained is divided among them.

    So the seconds of runs that trained at the same time add up to the wall time of all.
    """
    known = {}
    for run, status in {entry.run.path: entry for entry in entries}.values():
        with suppress(RequestError):
            seconds = run.read_metrics().get("seconds")
            if isinstance(seconds, int | float):
                known[run.path] = (began(status), seconds)
    if not known:
        return {}
    starts, lasting = np.array([*known.values()], float).T
    ends = starts + lasting
    cuts = np.unique([*starts, *ends])
    totals = np.zeros(len(known))
    for start, end in itertools.pairwise(cuts):
        running = (starts <= start) & (ends >= end)
        totals[running] += (end - start) / max(1, running.sum())
    return dict(zip(known, totals.tolist(), strict=True))


def _seconds_of_a_run(group: Group, seconds: Mapping[Path, float]) -> float | None:
    """Return the mean seconds of a group's runs; None if one is unknown."""
    each = [seconds.get(record.run.path) for record in group.runs.values()]
    total = _sum(each)
    return None if total is None else total / len(each)


def _sum(values: Iterable[float | None]) -> float | None:
    """Add values; None if one is unknown."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
