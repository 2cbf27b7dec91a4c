"""A comparison as two tables of text, which every format for readers is made of.

The first says how good each group is, the second how it differs from the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attnlab.compare.comparison import ENOUGH_SEEDS
from attnlab.compare.items import DIEBOLD_MARIANO
from attnlab.compare.results import Comparison, Row

_NOTHING = "-"
_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
# Numbers that are further apart than this get digits of their own each.
_FAR_APART = 1000.0
_SMALLEST_P = 0.001


class Sheet(NamedTuple):
    """A table of text.

    Attributes:
        title: What it shows; empty where the heading says it.
        words: How many columns at the left hold words; the others hold numbers.
        header: A name for each column.
        rows: The cells.
    """

    title: str
    words: int
    header: list[str]
    rows: list[list[str]]


def heading(comparison: Comparison) -> str:
    """Of which task and metric the tables are."""
    metric = comparison.metric
    units = f" in {comparison.units}" if comparison.units else ""
    part = "test " if metric.is_test else ""
    return f"{comparison.task}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


def results_sheet(comparison: Comparison) -> Sheet:
    """A row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    rows = comparison.rows
    write = number_format(
        value
        for row in rows
        for value in (row.interval.mean, row.interval.low, row.interval.high, row.best, row.worst)
    )
    write_seconds = number_format((row.seconds_per_epoch for row in rows), digits=3)
    mean = "geometric mean" if comparison.geometric else "mean"
    ends = ["best", "worst"] if comparison.metric.direction else ["lowest", "highest"]
    header = [*comparison.by, "n", mean, "95 % interval", *ends, "skill", "parameters", "s/epoch"]
    cells = [
        [
            *key_cells(row),
            str(row.interval.n),
            write(row.interval.mean),
            _ends(row.interval.low, row.interval.high, write, " to "),
            write(row.best),
            write(row.worst),
            _skill(row.skill),
            _parameters(row.parameters),
            _NOTHING if row.seconds_per_epoch is None else write_seconds(row.seconds_per_epoch),
        ]
        for row in rows
    ]
    return Sheet("", len(comparison.by), header, cells)


def differences_sheet(comparison: Comparison) -> Sheet | None:
    """A row for each group but the reference: difference, p values, words; None for one group."""
    rows = comparison.differences
    if not rows:
        return None
    write = number_format(
        (end for row in rows if row.difference for end in row.difference[1:4]), digits=3
    )
    what = "ratio" if comparison.geometric else "difference"
    items = next((row.item_test for row in rows if row.item_test), None)
    item_name = ["DM p" if items.kind == DIEBOLD_MARIANO else "boot p"] if items else []
    header = [*comparison.by, "n", f"{what} [95 %]", "p", *item_name, "verdict"]
    cells = []
    for row in rows:
        item = [p_text(row.item_test.p_holm if row.item_test else None)] if items else []
        found = [str(row.difference.n), _difference(row, write)] if row.difference else []
        cells.append([*key_cells(row), *found, p_text(row.p_holm), *item, row.verdict])
    title = f"{what} to {comparison.reference}{_sign(comparison)}"
    return Sheet(title, len(comparison.by), header, cells)


def footnotes(comparison: Comparison) -> list[str]:
    """What the columns mean, and what to know beside them."""
    lines = ["n: seeds, with a 95 % t interval of their mean; s/epoch: median epoch"]
    if any(row.skill is not None for row in comparison.rows):
        baseline = comparison.baseline or "the best baseline"
        lines[0] += f"; skill: part of {baseline}'s error that is gone"
    rows = comparison.differences
    tests = [row.p_holm for row in rows if row.p_holm is not None]
    if tests:
        of = f"p: paired t test over shared seeds, Holm-corrected for {len(tests)}"
        lines.append(f"{of} comparison{'s' if len(tests) > 1 else ''}; the intervals are not")
    items = next((row.item_test for row in rows if row.item_test), None)
    if items and items.kind == DIEBOLD_MARIANO:
        lines.append(
            f"DM p: Diebold-Mariano over {items.items} test windows (losses averaged over "
            "shared seeds, small-sample correction), Holm-corrected"
        )
    elif items:
        lines.append(
            f"boot p: sacreBLEU's paired bootstrap over {items.items} test sentences (counts "
            f"summed over shared seeds), Holm-corrected; {items.signature}"
        )
    if any(row.verdict == "too few seeds" for row in rows):
        lines.append(f"below {ENOUGH_SEEDS} shared seeds a difference is not judged: train more")
    return lines + comparison.notes


def key_cells(row: Row) -> list[str]:
    """A cell for each compared key."""
    return [value or _NOTHING for value in row.group.key]


def number_format(values: Iterable[float | None], digits: int = 4) -> Callable[[float], str]:
    """How to write numbers of one table: with as many decimals, unless they are far apart.

    Args:
        values: All of them; None for one that there isn't.
        digits: Significant ones of the largest.
    """
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return lambda value: f"{value:g}"
    most, apart = max(sizes), max(sizes) / min(sizes) > _FAR_APART
    if most >= 1e6 or most < 1e-4 or (apart and digits > 3):
        return lambda value: f"{value:.{digits - 1}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(most)))
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


def p_text(p: float | None) -> str:
    """A p value as readers expect it."""
    if p is None:
        return _NOTHING
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}"


def _sign(comparison: Comparison) -> str:
    """Which way is better."""
    if not comparison.metric.direction:
        return ""
    if comparison.geometric:
        return f" ({'above' if comparison.metric.direction > 0 else 'below'} 1 is better)"
    return f" ({'above' if comparison.metric.direction > 0 else 'below'} 0 is better)"


def _difference(row: Row, write: Callable[[float], str]) -> str:
    if row.difference is None or row.difference.mean is None:
        return _NOTHING
    mean, low, high = row.difference.mean, row.difference.low, row.difference.high
    interval = f" [{_ends(low, high, write, ', ')}]" if low is not None else ""
    return write(mean) + interval


def _ends(
    low: float | None, high: float | None, write: Callable[[float], str], between: str
) -> str:
    return _NOTHING if low is None or high is None else f"{write(low)}{between}{write(high)}"


def _skill(value: float | None) -> str:
    if value is None:
        return _NOTHING
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1e}"


def _parameters(sizes: Sequence[int] | None) -> str:
    if sizes is None:
        return _NOTHING
    least, most = sizes
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
