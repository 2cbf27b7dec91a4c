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

import bisect
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from attnlab.comparison.comparison import Comparison, Options, compare
from attnlab.comparison.runs import Group
from attnlab.comparison.statistics import ALPHA, enough_seeds, paired_differences
from attnlab.comparison.tables import heading, print_notes, print_tables
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.terminal import NOTHING, duration, number_format, plain_console
from attnlab.views.records import Table

MOST_SEEDS = 10_000
_LARGE = 30.0  # standard deviations; five pairs find any larger effect, for which SciPy has NaN


class GroupPlan(NamedTuple):
    """How many seeds are needed to find the difference between a group and the reference."""

    comparison: Comparison
    group: Group
    difference: float  # size of the difference, in units or as a logarithm
    n: int  # number of shared seeds
    deviations: tuple[float, ...]  # of the paired differences: estimate, low and high end
    seeds: tuple[int | None, ...]  # needed with each of them; None if more than `MOST_SEEDS`
    missing: int  # runs of both sides, for the first of `seeds`
    seconds: float  # for the missing runs


def power(effect: float, n: int, alpha: float = ALPHA) -> float:
    """Return the probability that the paired t test of n pairs, at least two, finds an effect d."""
    noncentrality, critical = abs(effect) * math.sqrt(n), stats.t.isf(alpha / 2, n - 1)
    # SciPy returns NaN for probabilities below 1e-13.
    below, missed = np.nan_to_num(stats.nct.cdf([-critical, critical], n - 1, noncentrality))
    return float(below + 1 - missed)


def seeds_for(effect: float, least_power: float, alpha: float = ALPHA) -> int | None:
    """Return the smallest number of pairs, at least two, with this power; None: > `MOST_SEEDS`."""
    size, numbers = min(abs(effect), _LARGE), range(MOST_SEEDS + 1)
    n = bisect.bisect_left(numbers, least_power, lo=2, key=lambda n: power(size, n, alpha))
    return n if n <= MOST_SEEDS else None


def plan(
    entries: Sequence[ListedRun], options: Options, difference: str, least_power: float = 0.8
) -> tuple[list[GroupPlan], list[str]]:
    """Plan comparisons with the references; also describe the runs and groups left out.

    The level of each test is alpha / number of tests of its task, the first step of Holm's
    correction.

    Args:
        entries: Existing runs.
        options: How they are compared.
        difference: What is to be found: a number in the metric's units, or a percentage of the
            reference's mean, such as `5%`.
        least_power: The probability of finding the difference if it exists.

    Raises:
        RequestError: See `compare`; or no two groups share two seeds whose differences differ; or
            the difference doesn't fit.
    """
    is_share = difference.endswith("%")
    try:
        value = float(difference.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf or (options.geometric and not is_share):
        raise RequestError(
            f"--difference={difference}: must be a percentage of the reference's mean such as 5%, "
            "or, without --geometric, a number above 0 such as 0.5."
        )
    tasks, left_out = compare(entries, replace(options, bootstrap=False))
    plans = []
    for task in tasks:
        reference = task.reference
        if reference is None:
            left_out.append(f"{task.name}: {task.notes[-1]}")
            continue
        size = value
        if is_share:
            mean = abs(float(reference.rows["VALUE"].mean()))
            size = math.log1p(value / 100) if options.geometric else value / 100 * mean
        others = [group for group in task.groups if group is not reference]
        for group in others:
            differences = paired_differences(*group.pairs(reference), options.geometric)
            n = len(differences)
            if n < 2 or not np.ptp(differences):
                why = "equal differences" if n > 1 else "fewer than two shared seeds"
                left_out.append(f"{task.name} {group.name}: {why}, so nothing can be estimated")
                continue
            ends = [math.sqrt((n - 1) / stats.chi2.isf(tail, n - 1)) for tail in (0.025, 0.975)]
            deviations = tuple(float(differences.std(ddof=1)) * end for end in (1.0, *ends))
            level = ALPHA / len(others)
            numbers = [seeds_for(size / spread, least_power, level) for spread in deviations]
            seeds = tuple(number and max(number, enough_seeds()) for number in numbers)
            missing, seconds = 0, 0.0
            for side in (group, reference):
                runs = side.runs.values()
                lacking = max(0, (seeds[0] or MOST_SEEDS) - len(runs))
                times = [r.metrics.get("seconds", 0.0) / r.status.get("together", 1) for r in runs]
                missing, seconds = missing + lacking, seconds + lacking * float(np.mean(times))
            plans.append(GroupPlan(task, group, size, n, deviations, seeds, missing, seconds))
    if not plans:
        raise RequestError(f"--runs: needs two groups that share two seeds. {left_out[-1]}.")
    return plans, left_out


def print_plans(
    plans: Sequence[GroupPlan], left_out: Sequence[str], difference: str, least_power: float
) -> None:
    """Print a table, with notes and warnings."""
    rows = []
    for row in plans:
        write = number_format(row.deviations, digits=3)  # per row: spreads may differ a lot
        spread, low, high = map(write, row.deviations)
        seeds, fewest, most = (f">{MOST_SEEDS:,}" if n is None else f"{n:,}" for n in row.seeds)
        is_ratio = row.comparison.geometric
        size = f"{math.exp(row.difference):.4g} times" if is_ratio else f"{row.difference:.4g}"
        cost = [f"{row.missing:,}", duration(row.seconds)] if row.seeds[0] else [NOTHING] * 2
        numbers = [f"{spread} [{low}, {high}]", f"{seeds} ({fewest} to {most})", *cost]
        rows.append([row.comparison.name, row.group.name, size, str(row.n), *numbers])
    header = ["task", "group", "to find", "n", "sd [95 %]", "seeds", "to run", "time"]
    console = plain_console()
    title = f"to find a difference of {difference} with a probability of {least_power:g}"
    print_tables(console, title, [Table("", header, rows, 2)])
    tasks = dict.fromkeys(row.comparison for row in plans)
    lines = [
        *(f"{heading(task)}; to find: a difference to {task.reference_name}" for task in tasks),
        *dict.fromkeys(f"warning: {text}" for task in tasks for text in task.warnings),
        *(f"left out: {text}" for text in left_out),
    ]
    print_notes(console, lines)
