"""A comparison as two tables: how good each group is, and how it differs from the reference.

`formats` writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attnlab.compare.comparison import Comparison, GroupResult
from attnlab.compare.grouping import TaskGroups
from attnlab.compare.runs import Group, in_order, value_in_prose
from attnlab.compare.text_tables import TextTable
from attnlab.terminal import NOTHING, distinct, number_format, p_text

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
_LARGE_SKILL = 100.0  # if a skill is this large, skills are written with three digits
_MOST_COLUMNS = 2  # most columns for settings that --by doesn't name


def heading(of: Comparison | TaskGroups) -> str:
    """Return the heading of a task's tables: task, data, metric, units, which way is better."""
    metric = of.metric
    units = f" in {of.units}" if of.units else ""
    part = "test " if metric.is_test else ""
    task = f"{of.task} ({of.data})" if of.data else of.task
    return f"{task}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


class Naming(NamedTuple):
    """The names of groups in tables.

    If groups differ in many settings that --by doesn't name, one column numbers the combinations.
    """

    columns: list[str]  # the columns whose values name a group
    names: dict[tuple[str | None, ...], list[str]]  # a group's values, by the group's key
    notes: list[str]  # the settings that each number stands for

    def label(self, group: Group) -> str:
        """Write a group's name in one line, for sentences."""
        pairs = zip(self.columns, self.names[group.key], strict=True)
        return " / ".join(value_in_prose(*pair) for pair in pairs)


def naming(of: Comparison | TaskGroups) -> Naming:
    """Choose the names of a table's groups."""
    keys = in_order(group.key for group in of.groups)
    others = of.by[of.asked :]
    if len(others) <= _MOST_COLUMNS:
        return Naming([*of.by], {key: [value or NOTHING for value in key] for key in keys}, [])
    # A setting that a run doesn't have is written as null.
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
    """Make a row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    results, called, write = comparison.results, naming(comparison), value_format(comparison)
    write_seconds = number_format((each.seconds_per_epoch for each in results), digits=3)
    skills = [each.skill for each in results]
    large = any(skill is not None and abs(skill) >= _LARGE_SKILL for skill in skills)
    write_skill = number_format(skills, digits=3) if large else "{:.3f}".format
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
            _cell(each.skill, write_skill),
            _parameters(each.parameters),
            _cell(each.seconds_per_epoch, write_seconds),
        ]
        for each in results
    ]
    return TextTable("", len(called.columns), header, rows)


def value_format(comparison: Comparison) -> Callable[[float], str]:
    """Return the number format of the groups' values, for tables and for sentences."""
    ends = ((*each.interval[1:], each.best, each.worst) for each in comparison.results)
    return number_format(value for values in ends for value in values)


def differences_table(comparison: Comparison) -> TextTable | None:
    """Make a row for each group except the reference: difference, p values, verdict.

    None if there is only one group.
    """
    if not comparison.differences:
        return None
    nothing = 1.0 if comparison.geometric else 0.0
    found = [(each.difference or ())[1:4] for each in comparison.differences]
    column = [value for row in found for value in row]
    write = distinct(column, nothing, number_format(column, digits=3))
    what, line = ("ratio", "1") if comparison.geometric else ("difference", "0")
    way = {1: f" (above {line} is better)", -1: f" (below {line} is better)"}
    test = comparison.item_test
    interval = "sequential" if comparison.sequential else "95 %"
    tests = [test.heading] if test else []
    called = naming(comparison)
    header = [*called.columns, "n", f"{what} [{interval}]", "p", *tests]
    rows = []
    for each in comparison.differences:
        item = [p_text(each.item_test.p_holm if each.item_test else None)] if test else []
        cells = [_shared(each, comparison), _difference(each, write)]
        names = called.names[each.group.key]
        rows.append([*names, *cells, p_text(each.p_corrected), *item, each.verdict])
    base = called.label(comparison.reference_group or comparison.groups[0])
    title = f"{what} to {base}{way.get(comparison.metric.direction, '')}"
    return TextTable(title, len(called.columns), [*header, "verdict"], rows)


def seeds_of(result: GroupResult, comparison: Comparison) -> tuple[list[int], set[int]]:
    """Return the seeds that a group shares with the reference, and all seeds of both."""
    base = comparison.reference_group or result.group
    return result.group.shared_seeds(base), {*result.group.runs, *base.runs}


def _shared(result: GroupResult, comparison: Comparison) -> str:
    """Count the seeds that a group shares with the reference: `3`, or `2 of 3` if not all."""
    seeds, every = seeds_of(result, comparison)
    return str(len(seeds)) if len(seeds) == len(every) else f"{len(seeds)} of {len(every)}"


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
