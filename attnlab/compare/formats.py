"""Write a comparison: on a terminal, as Markdown, LaTeX, CSV and JSON.

People get the two tables of `tables`; CSV and JSON have all numbers with all digits.
"""

from __future__ import annotations

import json
from typing import Any

from attnlab.compare import text_tables
from attnlab.compare.comparison import Comparison, Comparisons, GroupResult
from attnlab.compare.footnotes import footnotes
from attnlab.compare.tables import (
    differences_table,
    heading,
    results_table,
)
from attnlab.compare.text_tables import (
    Section,
    print_left_out,
    print_section,
)
from attnlab.terminal import plain_console

# Columns that are dropped on a narrow terminal, in this order.
_LEFT_OUT_WHEN_NARROW = ("s/epoch", "parameters", "best", "lowest", "skill", "worst", "highest")


def print_comparisons(found: Comparisons, file: Any = None) -> None:
    """Print tables, notes and warnings."""
    console = plain_console(file)
    for number, comparison in enumerate(found.tasks):
        if number:
            console.print()
        print_section(console, _section(comparison), _LEFT_OUT_WHEN_NARROW)
    print_left_out(console, found.left_out)


def markdown(found: Comparisons) -> str:
    """Write the tables as Markdown."""
    return text_tables.markdown(map(_section, found.tasks), found.left_out)


def latex(found: Comparisons) -> str:
    """Write the tables as LaTeX."""
    return text_tables.latex(map(_section, found.tasks), found.left_out)


def numbers(found: Comparisons) -> list[dict[str, Any]]:
    """Make a row for each group of each task, with all digits; None for a missing number."""
    every = [
        {**_numbers(each, row), "warnings": "; ".join(each.warnings)}
        for each in found.tasks
        for row in each.results
    ]
    # Columns that name groups come before the numbers, also those of only some tasks.
    first = dict.fromkeys(name for row in every for name in [*row][: [*row].index("n")])
    return [{**{name: row[name] for name in first if name in row}, **row} for row in every]


def comma_separated(found: Comparisons) -> str:
    """Write a line for each group of each task, with all digits."""
    return text_tables.comma_separated(numbers(found))


def as_json(found: Comparisons) -> str:
    """Write everything as JSON, with all digits."""
    tasks = [
        {
            "task": comparison.task,
            "data": comparison.data,
            "metric": comparison.metric.path,
            "direction": {1: "higher", -1: "lower", 0: None}[comparison.metric.direction],
            "units": comparison.units or None,
            "by": list(comparison.by),
            "reference": comparison.reference,
            "baseline": comparison.baseline,
            "geometric": comparison.geometric,
            "sequential": comparison.sequential,
            "groups": [
                {
                    **_numbers(comparison, each),
                    "values": {str(seed): value for seed, value in each.group.values.items()},
                    "runs": [str(run.run.path) for run in each.group.runs.values()],
                }
                for each in comparison.results
            ],
            "notes": footnotes(comparison),
            "warnings": comparison.warnings,
        }
        for comparison in found.tasks
    ]
    return json.dumps({"tasks": tasks, "left_out": found.left_out}, indent=2, ensure_ascii=False)


def _section(comparison: Comparison) -> Section:
    differences = differences_table(comparison)
    return Section(
        heading(comparison),
        [results_table(comparison), *([differences] if differences else [])],
        footnotes(comparison),
        comparison.warnings,
    )


def _numbers(comparison: Comparison, result: GroupResult) -> dict[str, Any]:
    """Return all numbers of a group by name; None for a missing number."""
    least, most = result.parameters or (None, None)
    shared, mean, low, high, p = result.difference or (None,) * 5
    own, base = result.shared_means or (None, None)
    test = result.item_test
    return {
        "task": comparison.task,
        "data": comparison.data,
        "metric": comparison.metric.path,
        # The keys `task` and `data` must not replace the entries above.
        **{
            f"{key}.name" if key in ("task", "data") else key: value
            for key, value in zip(comparison.by, result.group.key, strict=True)
        },
        **result.interval._asdict(),
        "best": result.best,
        "worst": result.worst,
        "skill": result.skill,
        "parameters": most,
        "parameters_least": least,
        "seconds_per_epoch": result.seconds_per_epoch,
        "reference": comparison.reference,
        "shared_seeds": shared,
        "shared_mean": own,
        "shared_reference_mean": base,
        "intervals": "sequential" if comparison.sequential else "t",
        "ratio" if comparison.geometric else "difference": mean,
        "difference_low": low,
        "difference_high": high,
        "p": p,
        "p_bonferroni" if comparison.sequential else "p_holm": result.p_corrected,
        "item_test": test.name if test else None,
        "items": test.items if test else None,
        **{f"item_{name}": getattr(test, name, None) for name in ("statistic", "p", "p_holm")},
        "verdict": result.verdict or None,
    }
