"""Write a plan: on a terminal, as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from attnlab.compare import text_tables
from attnlab.compare.comparison import ENOUGH_SEEDS
from attnlab.compare.planning.plan import GroupPlan, Needed, Plans, TaskPlan
from attnlab.compare.planning.power import MOST_SEEDS, Spread
from attnlab.compare.statistics import exp
from attnlab.compare.tables import heading, naming
from attnlab.compare.text_tables import Section, TextTable, print_left_out, print_section
from attnlab.terminal import (
    NOTHING,
    distinct,
    duration,
    number_format,
    plain_console,
    rounded,
)

# Columns that are dropped on a narrow terminal, in this order.
_LEFT_OUT_WHEN_NARROW = ("s/seed", "runs", "detects")


def print_plans(found: Plans, file: Any = None) -> None:
    """Print a table for each task, with notes and warnings."""
    console = plain_console(file)
    for number, section in enumerate(map(_section, found.tasks)):
        if number:
            console.print()
        print_section(console, section, _LEFT_OUT_WHEN_NARROW)
    print_left_out(console, found.left_out)


def markdown(found: Plans) -> str:
    """Write the tables as Markdown."""
    return text_tables.markdown(map(_section, found.tasks), found.left_out)


def latex(found: Plans) -> str:
    """Write the tables as LaTeX."""
    return text_tables.latex(map(_section, found.tasks), found.left_out)


def comma_separated(found: Plans) -> str:
    """Write a line for each group except the reference, with all digits."""
    return text_tables.comma_separated(
        [
            {"task": plan.groups.task, "data": plan.groups.data, **_sought(plan), **each}
            for plan in found.tasks
            for each in _numbers(plan)
        ]
    )


def as_json(found: Plans) -> str:
    """Write everything as JSON, with all digits."""
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
        "power": plan.goal.power,
        "alpha": plan.goal.alpha,
        "level": plan.level,
    }


def _numbers(plan: TaskPlan) -> list[dict[str, Any]]:
    """Make a row for each group except the reference; None for a missing number."""
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
        for each in plan.plans
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
            NOTHING if each.seconds_per_seed is None else rounded(each.seconds_per_seed, 3),
            duration(each.seconds),
            _detects(each, plan.geometric),
        ]
        for each in plan.plans
    ]
    what = "ratio" if plan.geometric else "difference"
    reference = called.label(plan.groups.reference)
    title = f"to find a {what} of {_sought_text(plan)} to {reference}"
    return TextTable(title, len(called.columns), [*called.columns, *header], rows)


def _sought_text(plan: TaskPlan) -> str:
    if plan.geometric:
        return _ratio(math.exp(plan.difference))
    given = f" ({plan.goal.difference.text})" if plan.goal.difference.is_share else ""
    return f"{plan.difference:.4g}{given}"


def _notes(plan: TaskPlan) -> list[str]:
    assert plan.groups.reference is not None
    tests, goal = len(plan.plans), plan.goal
    reference = naming(plan.groups).label(plan.groups.reference)
    what = "ratio" if plan.geometric else "difference"
    logs = " of logarithms" if plan.geometric else ""
    split = (
        f" / {tests} (the first step of Holm's correction for {tests} tests)" if tests > 1 else ""
    )
    lines = [
        f"n: number of seeds that the group and {reference} share; sd: standard deviation of their "
        f"paired differences{logs}, with its chi-square interval",
        f"seeds: number of seeds to find it with power {goal.power:g}; paired t test, two-sided, "
        f"alpha {goal.alpha:g}{split}; in brackets: with the ends of the sd's interval; at least "
        f"{ENOUGH_SEEDS}, because compare gives no verdict below that",
        f"runs: missing runs of the group and of {reference}; s/seed: seconds for one run of each; "
        "time: for the missing runs. If several runs trained at once, each is charged its share",
        f"detects: smallest {what} that the n seeds find with this power; {_total(plan)}",
    ]
    if any(each.spread and not each.spread.deviation for each in plan.plans):
        lines.append("if all differences are equal, the number of seeds can't be estimated")
    return [*lines, *plan.groups.notes]


def _total(plan: TaskPlan) -> str:
    if plan.missing is None:
        return "the total number of missing runs is unknown"
    if not plan.missing:
        return "no run is missing"
    runs = "1 run" if plan.missing == 1 else f"{plan.missing:,} runs"
    return f"missing in total: {runs}, {duration(plan.seconds)}"


def _spread(found: Spread | None) -> str:
    if found is None:
        return NOTHING
    write = number_format(found[1:], digits=3)  # per row, because spreads may differ a lot
    return f"{write(found.deviation)} [{write(found.low)}, {write(found.high)}]"


def _seeds(needed: Needed | None) -> str:
    if needed is None:
        return NOTHING
    seeds, low, high = (f">{MOST_SEEDS:,}" if each is None else f"{each:,}" for each in needed)
    return f"{seeds} ({low} to {high})"


def _ratio(value: float) -> str:
    return distinct([value], 1.0, lambda value: f"{value:.4g}")(value)


def _detects(group: GroupPlan, geometric: bool) -> str:
    if group.detectable is None:
        return NOTHING
    if geometric:
        return _ratio(exp(group.detectable))
    return number_format([group.detectable], digits=3)(group.detectable)
