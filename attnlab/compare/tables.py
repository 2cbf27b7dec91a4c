"""A comparison as two tables of text: how good each group is, how it differs from the reference.

How they are written is in `formats`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attnlab.compare.comparison import ENOUGH_SEEDS, Comparison, GroupResult
from attnlab.compare.grouping import TaskGroups
from attnlab.compare.runs import Group, in_order
from attnlab.compare.sequential import ALPHA, first_bounded
from attnlab.compare.text_tables import NOTHING, TextTable

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
# Numbers, or rows of them, that are further apart than this get digits of their own each.
_FAR_APART = 1000.0
_SMALLEST_P = 0.001
_MOST_DECIMALS = 9
_MOST_COLUMNS = 2  # of settings that nobody asked for


def heading(of: Comparison | TaskGroups) -> str:
    """Of which task and metric the tables are."""
    metric = of.metric
    units = f" in {of.units}" if of.units else ""
    part = "test " if metric.is_test else ""
    task = f"{of.task} ({of.data})" if of.data else of.task
    return f"{task}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


class Naming(NamedTuple):
    """How tables call groups: a number stands for many settings that nobody asked for."""

    columns: list[str]  # what the names are the values of
    names: dict[tuple[str | None, ...], list[str]]  # by the groups' keys
    notes: list[str]  # what each number stands for

    def label(self, group: Group) -> str:
        """A group's names in one line."""
        return " / ".join(self.names[group.key])


def naming(of: Comparison | TaskGroups) -> Naming:
    """The names of a table's groups."""
    keys = in_order(group.key for group in of.groups)
    others = of.by[of.asked :]
    if len(others) <= _MOST_COLUMNS:
        return Naming([*of.by], {key: [value or NOTHING for value in key] for key in keys}, [])
    # What an older version didn't have counts as null.
    own = {key: tuple(value or "null" for value in key[of.asked :]) for key in keys}
    sets = list(dict.fromkeys(own.values()))
    names = {
        key: [*(value or NOTHING for value in key[: of.asked]), f"#{sets.index(own[key]) + 1}"]
        for key in keys
    }
    notes = [
        f"#{number}: {', '.join(map('='.join, zip(others, values, strict=True)))}"
        for number, values in enumerate(sets, 1)
    ]
    return Naming([*of.by[: of.asked], "settings"], names, notes)


def results_table(comparison: Comparison) -> TextTable:
    """A row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    results, called = comparison.results, naming(comparison)
    write = number_format(
        value for each in results for value in (*each.interval[1:], each.best, each.worst)
    )
    write_seconds = number_format((each.seconds_per_epoch for each in results), digits=3)
    mean = "geometric mean" if comparison.geometric else "mean"
    ends = ["best", "worst"] if comparison.metric.direction else ["lowest", "highest"]
    interval = "95 % sequential" if comparison.sequential else "95 % interval"
    header = [*called.columns, "n", mean, interval, *ends, "skill", "parameters", "s/epoch"]
    rows = [
        [
            *called.names[each.group.key],
            str(each.interval.n),
            write(each.interval.mean),
            _interval(each.interval.low, each.interval.high, write, " to "),
            write(each.best),
            write(each.worst),
            _cell(each.skill, lambda value: f"{value:.3f}" if abs(value) < 100 else f"{value:.1e}"),
            _parameters(each.parameters),
            _cell(each.seconds_per_epoch, write_seconds),
        ]
        for each in results
    ]
    return TextTable("", len(called.columns), header, rows)


def differences_table(comparison: Comparison) -> TextTable | None:
    """A row for each group but the reference: difference, p values, words; None for one group."""
    if not comparison.differences:
        return None
    nothing = 1.0 if comparison.geometric else 0.0
    found = [(each.difference or ())[1:4] for each in comparison.differences]
    writers = _writers(found, nothing)
    what, line = ("ratio", "1") if comparison.geometric else ("difference", "0")
    way = {1: f" (above {line} is better)", -1: f" (below {line} is better)"}
    test = comparison.item_test
    interval = "sequential" if comparison.sequential else "95 %"
    tests = [test.heading] if test else []
    called = naming(comparison)
    header = [*called.columns, "n", f"{what} [{interval}]", "p", *tests]
    rows = []
    for each, write in zip(comparison.differences, writers, strict=True):
        item = [p_text(each.item_test.p_holm if each.item_test else None)] if test else []
        cells = [str(each.difference.n), _difference(each, write)] if each.difference else []
        names = called.names[each.group.key]
        rows.append([*names, *cells, p_text(each.p_corrected), *item, each.verdict])
    base = next(each for each in comparison.groups if each.label == comparison.reference)
    title = f"{what} to {called.label(base)}{way.get(comparison.metric.direction, '')}"
    return TextTable(title, len(called.columns), [*header, "verdict"], rows)


def footnotes(comparison: Comparison) -> list[str]:
    """What the columns mean, and what to know beside them."""
    way = "sequential" if comparison.sequential else "t"
    lines = [f"n: seeds, with a 95 % {way} interval of their mean; s/epoch: median epoch"]
    if any(each.skill is not None for each in comparison.results):
        baseline = comparison.baseline or "the best baseline"
        lines[0] += f"; skill: part of {baseline}'s error that is gone"
    if comparison.sequential:
        lines += _about_looking(comparison)
    elif tests := sum(each.p_corrected is not None for each in comparison.differences):
        corrected = f", corrected for {tests} tests (Holm); intervals are not corrected"
        lines.append(f"p: paired t test over shared seeds{corrected if tests > 1 else ''}")
    if test := comparison.item_test:
        signature = f"; {test.signature}" if test.signature else ""
        several = sum(each.item_test is not None for each in comparison.differences) > 1
        corrected = ", corrected (Holm)" if several else ""
        once = "; for one look only" if comparison.sequential else ""
        lines.append(f"{test.heading}: {test.method}{corrected}{once}{signature}")
    if any(each.verdict == "too few seeds" for each in comparison.differences):
        lines.append(f"below {ENOUGH_SEEDS} shared seeds a difference is not judged: train more")
    return [*naming(comparison).notes, *lines, *comparison.notes]


def _about_looking(comparison: Comparison) -> list[str]:
    """What sequential intervals promise, and what counts as equivalent."""
    tests = len(comparison.differences)
    if not tests:
        return []
    share = f", at alpha {ALPHA:g} / {tests} for {tests} comparisons" if tests > 1 else ""
    lines = [
        "sequential: intervals, p and verdicts hold however often you look, if differences are "
        f"about normal{share}; they begin at {first_bounded(ALPHA / tests)} shared seeds"
    ]
    if comparison.margin is not None:
        low, high = margin_ends(comparison)
        lines.append(f"equivalent: the interval lies between {low:.4g} and {high:.4g}")
    return lines


def margin_ends(comparison: Comparison) -> tuple[float, float]:
    """The smallest and largest difference, or ratio, that doesn't matter."""
    margin = comparison.margin or 0.0
    return (math.exp(-margin), math.exp(margin)) if comparison.geometric else (-margin, margin)


def number_format(values: Iterable[float | None], digits: int = 4) -> Callable[[float], str]:
    """How to write a table's numbers: with as many decimals, unless they are far apart."""
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return lambda value: f"{value:g}"
    most, apart = max(sizes), max(sizes) / min(sizes) > _FAR_APART
    if most >= 1e6 or most < 1e-4 or (apart and digits > 3):
        return lambda value: f"{value:.{digits - 1}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(most)))
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


def _writers(
    rows: Sequence[Sequence[float | None]], nothing: float
) -> list[Callable[[float], str]]:
    """How to write the numbers of each row: as those of the others, unless rows are far apart.

    By the digits of a large difference nothing would be left of a small one.
    """
    sizes = [max((abs(value) for value in row if value), default=0.0) for row in rows]
    known = [size for size in sizes if size]
    if known and max(known) > _FAR_APART * min(known):
        writers = [number_format(row, digits=3) for row in rows]
    else:
        writers = [number_format((v for row in rows for v in row), digits=3)] * len(rows)
    return [telling(row, nothing, write) for row, write in zip(rows, writers, strict=True)]


def telling(
    values: Iterable[float | None], line: float, write: Callable[[float], str]
) -> Callable[[float], str]:
    """The way to write values, with more decimals where one would read as a line that it is off."""
    known = (value for value in values if value is not None and math.isfinite(value))
    off = [value for value in known if value != line]
    if not any(write(value) == write(line) for value in off):
        return write
    decimals = 1 - math.floor(math.log10(min(abs(value - line) for value in off)) + 1e-9)
    if decimals > _MOST_DECIMALS:
        return lambda value: f"{value:.{decimals + 1 if line else 3}g}"
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


def p_text(p: float | None) -> str:
    """A p value as readers expect it, with one digit more where .050 may be on either side."""
    if p is None:
        return NOTHING
    if p < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    return f"{p:.4f}" if f"{p:.3f}" == "0.050" else f"{p:.3f}"


def _cell(value: float | None, write: Callable[[float], str]) -> str:
    return NOTHING if value is None else write(value)


def _difference(result: GroupResult, write: Callable[[float], str]) -> str:
    found = result.difference
    if found is None or found.mean is None:
        return NOTHING
    has_interval = found.low is not None
    interval = f" [{_interval(found.low, found.high, write, ', ')}]" if has_interval else ""
    return write(found.mean) + interval


def _interval(
    low: float | None, high: float | None, write: Callable[[float], str], between: str
) -> str:
    return NOTHING if low is None or high is None else f"{write(low)}{between}{write(high)}"


def _parameters(sizes: tuple[int, int] | None) -> str:
    if sizes is None:
        return NOTHING
    least, most = sizes
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
