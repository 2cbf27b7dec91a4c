"""How many seeds a comparison needs to find a difference, said from runs that there are.

Each group is held against the reference as `comparison` does it. From the spread of the paired
differences on shared seeds, which few seeds tell only roughly, follows a range of how many are
needed; from the seconds of the runs how long the missing ones take.
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
class Wish:
    """What a comparison is to find.

    Raises:
        RequestError: the power isn't between alpha and 1, or alpha not between 0 and 1.
    """

    difference: Amount  # the difference, of either sign
    power: float = 0.8  # with which probability, if it is there
    alpha: float = LEVEL  # with which probability one is found where there is none

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise RequestError(f"--alpha: expected a number between 0 and 1, got {self.alpha:g}.")
        if not self.alpha < self.power < 1:
            raise RequestError(
                f"--power: expected a number between --alpha {self.alpha:g} and 1, "
                f"got {self.power:g}."
            )


class Needed(NamedTuple):
    """How many seeds; None for more than `power.MOST_SEEDS`."""

    seeds: int | None  # by the spread as it was found
    low: int | None  # by the lower end of its 95 % interval
    high: int | None  # by the upper end


@dataclass(frozen=True)
class Outlook:
    """What a group needs to be told apart from the reference."""

    group: Group  # its runs
    n: int  # how many seeds both have
    # of the paired differences, or of their logarithms; None below two shared seeds
    spread: Spread | None = None
    needed: Needed | None = None  # None where nothing is known of the spread, or there is none
    # the smallest difference, or logarithm of a ratio, that the shared seeds find; None likewise
    detectable: float | None = None
    missing: int | None = None  # how many runs of both are to be trained for `needed.seeds`
    seconds_per_seed: float | None = None  # of a run of both; None where records don't say
    seconds: float | None = None  # of the missing runs


@dataclass(frozen=True)
class TaskPlan:
    """The outlooks of one task."""

    groups: TaskGroups  # what is held against what
    geometric: bool  # whether differences are logarithms of ratios
    wish: Wish  # what is to be found
    difference: float  # how large that is, in units or as a logarithm
    level: float  # of each test: alpha by the number of tests, with which Holm's correction begins
    outlooks: tuple[Outlook, ...]  # of all groups but the reference
    # how many runs are to be trained for all of them; None where one's number isn't known
    missing: int | None
    seconds: float | None  # how long that takes; None likewise


class Plans(NamedTuple):
    """A plan for each task and its data, and sentences about runs that are in none."""

    tasks: list[TaskPlan]
    left_out: list[str]


def plan(
    entries: Sequence[ListedRun], choice: Choice, wish: Wish, beside: Iterable[ListedRun] = ()
) -> Plans:
    """Plan a comparison.

    Args:
        entries: The runs, at least one, the oldest first.
        choice: Which are held against which.
        wish: What is to be found.
        beside: Other runs, which may have trained at the same time.

    Raises:
        RequestError: see `grouping.choose`; or no two groups share two seeds; or the wish doesn't
            fit the metric.
    """
    tasks, left_out = choose(entries, choice)
    seconds, plans = _seconds_each([*entries, *beside]), []
    for task in tasks:
        lacking = _lacking(task)
        if lacking:
            left_out.append(f"{task.name}: {lacking}")
        else:
            plans.append(_plan_task(task, wish, seconds, choice.geometric))
    if not plans:
        raise RequestError(f"--runs: expected two groups that share two seeds, but {left_out[-1]}.")
    return Plans(plans, left_out)


def _lacking(task: TaskGroups) -> str:
    """What a task's runs lack for a plan; empty where they lack nothing."""
    if task.reference is None:
        return task.notes[-1]
    counts = {g.name: len(g.shared_seeds(task.reference)) for g in _others(task)}
    if max(counts.values()) > 1:
        return ""
    shared = ", ".join(f"{label} {count}" for label, count in counts.items())
    return f"of the seeds of {task.reference.name} there are: {shared}"


def _others(task: TaskGroups) -> list[Group]:
    return [group for group in task.groups if group is not task.reference]


def _plan_task(
    task: TaskGroups, wish: Wish, seconds: Mapping[Path, float], geometric: bool
) -> TaskPlan:
    assert task.reference is not None
    reference, others = task.reference, _others(task)
    mean = mean_interval(list(reference.values.values())).mean
    aim = _Aim(wish.difference.at(mean, geometric), wish.power, wish.alpha / len(others))
    each = {group.label: _seconds_of_a_run(group, seconds) for group in task.groups}
    outlooks, all_missing = [], set()
    for group in others:
        outlook = _outlook(group, reference, aim, geometric)
        missing = _missing(group, reference, outlook.needed)
        all_missing |= missing or set()
        outlooks.append(
            replace(
                outlook,
                missing=None if missing is None else len(missing),
                seconds_per_seed=_sum(each[side.label] for side in (group, reference)),
                seconds=None if missing is None else _sum(each[label] for label, _ in missing),
            )
        )
    is_known = all(each.missing is not None or _is_settled(each) for each in outlooks)
    return TaskPlan(
        groups=task,
        geometric=geometric,
        wish=wish,
        difference=aim.difference,
        level=aim.level,
        outlooks=tuple(outlooks),
        missing=len(all_missing) if is_known else None,
        seconds=_sum(each[label] for label, _ in all_missing) if is_known else None,
    )


def _is_settled(outlook: Outlook) -> bool:
    """Whether all differences of enough seeds are the same, so that more are no question."""
    found = outlook.spread
    return found is not None and not found.deviation and outlook.n >= ENOUGH_SEEDS


class _Aim(NamedTuple):
    difference: float
    power: float
    level: float


def _outlook(group: Group, reference: Group, aim: _Aim, geometric: bool) -> Outlook:
    """What the shared seeds say, without the runs that are missing."""
    shared = group.shared_seeds(reference)
    if len(shared) < 2:
        return Outlook(group, len(shared))
    own, base = ([side.values[seed] for seed in shared] for side in (group, reference))
    found = spread(paired_differences(own, base, geometric))
    if not found.deviation:
        return Outlook(group, len(shared), found)
    needed = Needed(*(_seeds_for(aim, end) for end in (found.deviation, found.low, found.high)))
    smallest = found.deviation * detectable(len(shared), aim.power, aim.level)
    return Outlook(group, len(shared), found, needed, smallest)


def _seeds_for(aim: _Aim, deviation: float) -> int | None:
    """As many as the test needs, and not fewer than a comparison judges."""
    seeds = seeds_for(aim.difference / deviation, aim.power, aim.level)
    return seeds and max(seeds, ENOUGH_SEEDS)


def _missing(group: Group, reference: Group, needed: Needed | None) -> set[tuple[str, int]] | None:
    """Label and seed of the runs that are to be trained; None where that isn't known."""
    if needed is None or needed.seeds is None:
        return None
    shared = set(group.shared_seeds(reference))
    others = (seed for seed in itertools.count() if seed not in shared)
    new = list(itertools.islice(others, max(0, needed.seeds - len(shared))))
    sides = (group, reference)
    return {(side.label, seed) for side in sides for seed in new if seed not in side.runs}


def _seconds_each(entries: Iterable[ListedRun]) -> dict[Path, float]:
    """How long each run took by itself: moments in which several were under way are shared.

    So the seconds of runs that train together add up to those in which they did.
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
        under_way = (starts <= start) & (ends >= end)
        totals[under_way] += (end - start) / max(1, under_way.sum())
    return dict(zip(known, totals.tolist(), strict=True))


def _seconds_of_a_run(group: Group, seconds: Mapping[Path, float]) -> float | None:
    """The mean over a group's runs; None where a record lacks them."""
    each = [seconds.get(record.run.path) for record in group.runs.values()]
    total = _sum(each)
    return None if total is None else total / len(each)


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where one isn't known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
