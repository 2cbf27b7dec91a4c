"""How many seeds a comparison needs to find a difference, by the power of the paired t test.

The power of the two-sided test of n differences at level alpha, whose mean is d standard deviations
from 0, is P(|T| > t(1 - alpha / 2, n - 1)). T has the noncentral t distribution with n - 1 degrees
of freedom and noncentrality d sqrt(n) (Cohen 1988; for seeds in reinforcement learning: Colas,
Sigaud and Oudeyer 2018, arXiv 1806.08295). Differences are assumed to be normal. Difference from
the second source: it plans Welch's test of two samples, here the test is paired.

The spread of the differences comes from existing runs. Few seeds give only a rough spread, so there
is a range of numbers, for both ends of its chi-square interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from attnlab.comparison.comparison import ENOUGH_SEEDS
from attnlab.comparison.formats import print_left_out, print_notes, print_tables
from attnlab.comparison.grouping import Choice, TaskGroups, choose
from attnlab.comparison.runs import Group
from attnlab.comparison.sequential import ALPHA
from attnlab.comparison.statistics import mean_interval, paired_differences
from attnlab.comparison.tables import heading
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.terminal import NOTHING, duration, number_format, plain_console
from attnlab.views.records import Table

MOST_SEEDS = 10_000
_LARGE = 30.0  # standard deviations; five pairs find any larger effect, for which SciPy has NaN


@dataclass(frozen=True)
class Goal:
    """The difference that a comparison is to find, and with which error rates.

    Raises:
        RequestError: The difference is neither a number above 0 nor a percentage.
    """

    difference: str  # in the metric's units, or as a percentage of the reference's mean
    power: float = 0.8  # probability of finding it if it exists
    alpha: float = ALPHA  # probability of finding one that doesn't exist

    def __post_init__(self) -> None:
        try:
            is_valid = 0 < float(self.difference.removesuffix("%")) < math.inf
        except ValueError:
            is_valid = False
        if not is_valid:
            raise RequestError(
                f"--difference={self.difference}: must be a number above 0 such as 0.5, or a "
                "percentage of the reference's mean such as 5%."
            )

    def size(self, mean: float, geometric: bool) -> float:
        """Return the size of a difference to a reference with this mean.

        With `geometric` it is the logarithm of a ratio.

        Raises:
            RequestError: A share of a mean of 0, or a ratio in units, is undefined.
        """
        is_share = self.difference.endswith("%")
        value = float(self.difference.removesuffix("%")) / (100 if is_share else 1)
        if geometric and not is_share:
            raise RequestError(
                f"--difference={self.difference}: must be a percentage such as 5% with "
                "--geometric, which compares ratios."
            )
        if is_share and not mean:
            raise RequestError(
                f"--difference={self.difference}: must be a number in the metric's units, because "
                "the reference's mean is 0."
            )
        return math.log1p(value) if geometric else value * abs(mean) if is_share else value


class GroupPlan(NamedTuple):
    """How many seeds are needed to find the difference between a group and the reference."""

    group: Group
    n: int  # number of shared seeds
    deviations: tuple[float, ...]  # of the paired differences: estimate, low and high end
    seeds: tuple[int | None, ...]  # needed with each of them; None if more than `MOST_SEEDS`
    missing: int  # runs of both sides, for the first of `seeds`
    seconds: float  # for the missing runs


class TaskPlan(NamedTuple):
    """The plan of one task: its groups, and a row for each that shares two seeds."""

    groups: TaskGroups
    difference: float  # size of the difference, in units or as a logarithm
    level: float  # of each test: alpha / number of tests, the first step of Holm's correction
    rows: Sequence[GroupPlan]


def power(effect: float, n: int, alpha: float = ALPHA) -> float:
    """Return the probability that the paired t test of n pairs, at least two, finds an effect d."""
    noncentrality, critical = abs(effect) * math.sqrt(n), stats.t.isf(alpha / 2, n - 1)
    # SciPy returns NaN for probabilities below 1e-13.
    below, missed = np.nan_to_num(stats.nct.cdf([-critical, critical], n - 1, noncentrality))
    return float(below + 1 - missed)


def seeds_for(effect: float, wanted: float, alpha: float = ALPHA) -> int | None:
    """Return the smallest number of pairs, at least two, with this power; None: > `MOST_SEEDS`."""
    low, high = 1, MOST_SEEDS  # the power of `low` pairs is too small
    effect = min(abs(effect), _LARGE)
    if power(effect, high, alpha) < wanted:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, alpha) >= wanted else (middle, high)
    return high


def plan(
    entries: Sequence[ListedRun], choice: Choice, goal: Goal
) -> tuple[list[TaskPlan], list[str]]:
    """Plan a comparison for each task; also describe the runs and groups left out.

    Raises:
        RequestError: See `grouping.choose`; or no two groups share two seeds whose differences
            differ; or the goal doesn't fit the metric.
    """
    tasks, left_out = choose(entries, choice)
    plans = []
    for task in tasks:
        reference = task.reference
        if reference is None:
            left_out.append(f"{task.name}: {task.notes[-1]}")
            continue
        others = [group for group in task.groups if group is not reference]
        level = goal.alpha / len(others)
        size = goal.size(mean_interval(list(reference.values.values())).mean, choice.geometric)
        rows = []
        for group in others:
            shared = group.shared_seeds(reference)
            own, base = ([side.values[s] for s in shared] for side in (group, reference))
            differences = paired_differences(own, base, choice.geometric)
            if len(shared) < 2 or not np.ptp(differences):
                why = "equal differences" if len(shared) > 1 else "fewer than two shared seeds"
                left_out.append(f"{task.name} {group.name}: {why}, so nothing can be estimated")
            else:
                rows.append(_plan_group(group, reference, differences, size, goal.power, level))
        if rows:
            plans.append(TaskPlan(task, size, level, rows))
    if not plans:
        raise RequestError(f"--runs: needs two groups that share two seeds. {left_out[-1]}.")
    return plans, left_out


def _plan_group(
    group: Group,
    reference: Group,
    differences: np.ndarray,
    size: float,
    wanted: float,
    level: float,
) -> GroupPlan:
    n, deviation = len(differences), float(differences.std(ddof=1))
    ends = (math.sqrt((n - 1) / stats.chi2.isf(tail, n - 1)) for tail in (0.025, 0.975))
    deviations = (deviation, *(deviation * end for end in ends))
    numbers = [seeds_for(size / spread, wanted, level) for spread in deviations]
    seeds = tuple(number and max(number, ENOUGH_SEEDS) for number in numbers)
    missing, seconds = 0, 0.0
    for side in (group, reference):
        lacking = max(0, (seeds[0] or MOST_SEEDS) - len(side.runs))
        times = [
            run.metrics.get("seconds", 0.0) / run.status.get("together", 1)
            for run in side.runs.values()
        ]
        missing, seconds = missing + lacking, seconds + lacking * float(np.mean(times))
    return GroupPlan(group, n, deviations, seeds, missing, seconds)


def print_plans(plans: Sequence[TaskPlan], left_out: Sequence[str], goal: Goal) -> None:
    """Print a table for each task, with notes and warnings."""
    console = plain_console()
    for task in plans:
        print_tables(console, heading(task.groups), [_table(task, goal)])
        tests = round(goal.alpha / task.level)
        split = f" / {tests} (the first step of Holm's correction)" if tests > 1 else ""
        notes = [
            "n: shared seeds; sd: standard deviation of their paired differences, with its "
            "chi-square interval",
            f"seeds: to find the difference with power {goal.power:g}; paired t test, two-sided, "
            f"alpha {goal.alpha:g}{split}; in brackets: with the ends of the sd's interval; at "
            f"least {ENOUGH_SEEDS}, because compare gives no verdict below that",
            "runs: missing runs of both groups, and their time",
        ]
        print_notes(console, [*notes, *task.groups.notes], task.groups.warnings)
    print_left_out(console, left_out)


def _table(task: TaskPlan, goal: Goal) -> Table:
    by = task.groups.by
    rows = []
    for row in task.rows:
        write = number_format(row.deviations, digits=3)  # per row: spreads may differ a lot
        spread, low, high = map(write, row.deviations)
        seeds, fewest, most = (f">{MOST_SEEDS:,}" if n is None else f"{n:,}" for n in row.seeds)
        is_open = row.seeds[0] is None
        rows.append(
            [
                *row.group.cells,
                str(row.n),
                f"{spread} [{low}, {high}]",
                f"{seeds} ({fewest} to {most})",
                NOTHING if is_open else f"{row.missing:,}",
                NOTHING if is_open else duration(row.seconds),
            ]
        )
    is_ratio, reference = task.groups.geometric, task.groups.reference
    size = f"{math.exp(task.difference) if is_ratio else task.difference:.4g}"
    share = f" ({goal.difference})" if goal.difference.endswith("%") else ""
    what = "ratio" if is_ratio else "difference"
    title = f"to find a {what} of {size}{share} to {reference.name if reference else NOTHING}"
    return Table(title, [*by, "n", "sd [95 %]", "seeds", "runs", "time"], rows, len(by))
