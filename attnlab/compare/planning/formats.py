"""A plan as text: on a terminal, as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from attnlab.compare import text_tables
from attnlab.compare.comparison import ENOUGH_SEEDS
from attnlab.compare.planning.plan import Needed, Outlook, Plans, TaskPlan
from attnlab.compare.planning.power import MOST_SEEDS, Spread
from attnlab.compare.statistics import exp
from attnlab.compare.tables import heading, naming
from attnlab.compare.text_tables import Section, TextTable, print_left_out, print_section
from attnlab.terminal import NOTHING, distinct, number_format, plain_console

# On a terminal. In this order, while there is no room:
_LEFT_OUT_WHEN_NARROW = ("s/seed", "runs", "detects")
_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86_400.0))
_LARGEST = 100.0  # of a unit of time, from which a longer one is taken


def print_plans(found: Plans, file: Any = None) -> None:
    """Print a table for each task, what its columns mean, and warnings."""
    console = plain_console(file)
    for number, section in enumerate(map(_section, found.tasks)):
        if number:
            console.print()
        print_section(console, section, _LEFT_OUT_WHEN_NARROW)
    print_left_out(console, found.left_out)


def markdown(found: Plans) -> str:
    """Tables with a heading each; notes and warnings as lists."""
    return text_tables.markdown(map(_section, found.tasks), found.left_out)


def latex(found: Plans) -> str:
    """Tables for the package booktabs; notes and warnings as comments."""
    return text_tables.latex(map(_section, found.tasks), found.left_out)


def comma_separated(found: Plans) -> str:
    """A line for each group but the reference, with full digits."""
    return text_tables.comma_separated(
        [
            {"task": plan.groups.task, "data": plan.groups.data, **_sought(plan), **each}
            for plan in found.tasks
            for each in _numbers(plan)
        ]
    )


def as_json(found: Plans) -> str:
    """Everything, with full digits."""
    tasks = [
        {
            "task": plan.groups.task,
            "data": plan.groups.data,
            "units": plan.groups.units or None,
            "by": list(plan.groups.by),
            **_sought(plan),
            "groups": _numbers(plan),
            "missing_runs": plan.missing,
            "missing_seconds": plan.seconds,
            "notes": _notes(plan),
            "warnings": [*plan.groups.warnings],
        }
        for plan in found.tasks
    ]
    return json.dumps({"tasks": tasks, "left_out": found.left_out}, indent=2, ensure_ascii=False)


def _sought(plan: TaskPlan) -> dict[str, Any]:
    assert plan.groups.reference is not None
    return {
        "metric": plan.groups.metric.path,
        "reference": plan.groups.reference.label,
        "geometric": plan.geometric,
        "log_ratio" if plan.geometric else "difference": plan.difference,
        "power": plan.wish.power,
        "alpha": plan.wish.alpha,
        "level": plan.level,
    }


def _numbers(plan: TaskPlan) -> list[dict[str, Any]]:
    """A row for each group but the reference; None where there is nothing to say."""
    return [
        {
            **dict(zip(plan.groups.by, each.group.key, strict=True)),
            "shared_seeds": each.n,
            **_named(("sd", "sd_low", "sd_high"), each.spread[1:] if each.spread else None),
            **_named(("seeds", "seeds_low", "seeds_high"), each.needed),
            "missing_runs": each.missing,
            "seconds_per_seed": each.seconds_per_seed,
            "missing_seconds": each.seconds,
            "detectable": each.detectable,
        }
        for each in plan.outlooks
    ]


def _named(names: Sequence[str], values: Sequence[Any] | None) -> dict[str, Any]:
    return dict(zip(names, values or (None,) * len(names), strict=True))


def _section(plan: TaskPlan) -> Section:
    notes = [*naming(plan.groups).notes, *_notes(plan)]
    return Section(heading(plan.groups), [_table(plan)], notes, [*plan.groups.warnings])


def _table(plan: TaskPlan) -> TextTable:
    assert plan.groups.reference is not None
    called = naming(plan.groups)
    header = ["n", "sd [95 %]", "seeds", "runs", "s/seed", "time", "detects"]
    rows = [
        [
            *called.names[each.group.key],
            str(each.n),
            _spread(each.spread),
            _seeds(each.needed),
            NOTHING if each.missing is None else f"{each.missing:,}",
            NOTHING if each.seconds_per_seed is None else _rounded(each.seconds_per_seed, 3),
            _time(each.seconds),
            _detects(each, plan.geometric),
        ]
        for each in plan.outlooks
    ]
    what = "ratio" if plan.geometric else "difference"
    reference = called.label(plan.groups.reference)
    title = f"to find a {what} of {_sought_text(plan)} to {reference}"
    return TextTable(title, len(called.columns), [*called.columns, *header], rows)


def _sought_text(plan: TaskPlan) -> str:
    if plan.geometric:
        return _ratio(math.exp(plan.difference))
    given = f" ({plan.wish.difference.text})" if plan.wish.difference.is_share else ""
    return f"{plan.difference:.4g}{given}"


def _notes(plan: TaskPlan) -> list[str]:
    tests, wish = len(plan.outlooks), plan.wish
    logs = " of logarithms" if plan.geometric else ""
    split = f" / {tests}, with which Holm begins for {tests} tests" if tests > 1 else ""
    lines = [
        f"n: seeds that both have; sd: standard deviation of their paired differences{logs}, with "
        "its chi-square interval",
        f"seeds: how many find it with power {wish.power:g}: paired t test, two-sided, alpha "
        f"{wish.alpha:g}{split}; in brackets, for the ends of the sd's interval; at least "
        f"{ENOUGH_SEEDS}, below which compare doesn't judge",
        "runs: of both, that are missing; s/seed: of a run of both, time: of the missing, by the "
        "records of those there are (moments in which several trained are shared)",
        f"detects: what the n seeds find with that power; {_total(plan)}",
    ]
    if any(each.spread and not each.spread.deviation for each in plan.outlooks):
        lines.append("where all differences are the same, nothing says how many seeds it takes")
    return [*lines, *plan.groups.notes]


def _total(plan: TaskPlan) -> str:
    if plan.missing is None:
        return "how many runs are missing in all isn't known"
    if not plan.missing:
        return "no run is missing"
    runs = "1 run" if plan.missing == 1 else f"{plan.missing:,} runs"
    return f"missing in all: {runs}, {_time(plan.seconds)}"


def _spread(found: Spread | None) -> str:
    if found is None:
        return NOTHING
    write = number_format(found[1:], digits=3)  # for each row, since spreads may be far apart
    return f"{write(found.deviation)} [{write(found.low)}, {write(found.high)}]"


def _seeds(needed: Needed | None) -> str:
    if needed is None:
        return NOTHING
    seeds, low, high = (f">{MOST_SEEDS:,}" if each is None else f"{each:,}" for each in needed)
    return f"{seeds} ({low} to {high})"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    fits = ((name, size) for name, size in _UNITS if seconds < _LARGEST * size)
    name, size = next(fits, _UNITS[-1])
    return f"{_rounded(seconds / size, 2)} {name}"


def _rounded(value: float, digits: int) -> str:
    """A number of so many digits, or more where it is a whole one; with no powers of ten."""
    return f"{value:,.0f}" if value >= 10**digits - 0.5 else f"{value:.{digits}g}"


def _ratio(value: float) -> str:
    return distinct([value], 1.0, lambda value: f"{value:.4g}")(value)


def _detects(outlook: Outlook, geometric: bool) -> str:
    if outlook.detectable is None:
        return NOTHING
    if geometric:
        return _ratio(exp(outlook.detectable))
    return number_format([outlook.detectable], digits=3)(outlook.detectable)
