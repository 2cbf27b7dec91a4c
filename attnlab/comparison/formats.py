"""Write a comparison: on a terminal, as Markdown, LaTeX, CSV and JSON.

People get the two tables of `tables`; CSV and JSON have all numbers with all digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from attnlab.comparison.comparison import Comparison, Comparisons, GroupResult
from attnlab.comparison.tables import differences_table, footnotes, heading, results_table
from attnlab.terminal import WIDTH, plain_console, plain_table
from attnlab.views.records import Table

_LEFT_OUT_WHEN_NARROW = {"best", "worst", "lowest", "highest", "parameters", "s/epoch"}
_STYLES = {
    **{"better": "bold green", "worse": "bold red"},
    **dict.fromkeys(("too few seeds", "undecided"), "yellow"),
}


def print_comparisons(comparisons: Comparisons, file: Any = None) -> None:
    """Print tables, notes and warnings."""
    console = plain_console(file)
    for number, comparison in enumerate(comparisons.tasks):
        if number:
            console.print()
        print_tables(console, heading(comparison), _tables(comparison))
        print_notes(console, footnotes(comparison), comparison.warnings)
    print_left_out(console, comparisons.left_out)


def print_tables(console: Console, title: str, tables: Sequence[Table]) -> None:
    """Print tables below a title; without some columns on a narrow terminal."""
    console.print(Text(title, style="bold"))
    for table in tables:
        words = table.header[: table.words]
        names = [
            name
            for name in table.header
            if console.width >= WIDTH or name not in _LEFT_OUT_WHEN_NARROW
        ]
        printed = plain_table(names, [*words, "verdict"], folded=words)
        for row in table.rows:
            cells = [c for name, c in zip(table.header, row, strict=True) if name in names]
            printed.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        if table.title:
            console.print(Text(table.title, style="bold"))
        console.print(printed)
        console.print()


def print_notes(console: Console, notes: Iterable[str], warnings: Iterable[str]) -> None:
    """Print what columns mean, and reasons to doubt them."""
    for line in notes:
        console.print(Text(line, style="dim"))
    for warning in warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def print_left_out(console: Console, left_out: Iterable[str]) -> None:
    """Print which runs are in no table."""
    for text in left_out:
        console.print(Text(f"left out: {text}", style="yellow"), soft_wrap=True)


def _tables(comparison: Comparison) -> list[Table]:
    differences = differences_table(comparison)
    return [results_table(comparison), *([differences] if differences else [])]


def _remarks(comparison: Comparison) -> list[str]:
    return [*footnotes(comparison), *(f"warning: {text}" for text in comparison.warnings)]


def markdown(comparisons: Comparisons) -> str:
    """Write the tables as Markdown, with headings; notes and warnings are lists."""
    parts = []
    for comparison in comparisons.tasks:
        parts.append(f"**{heading(comparison)}**")
        for table in _tables(comparison):
            parts += [table.title] if table.title else []
            parts.append(_markdown_table(table))
        parts.append("\n".join(f"- {text}" for text in _remarks(comparison)))
    parts += ["\n".join(f"- left out: {text}" for text in comparisons.left_out)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _markdown_table(table: Table) -> str:
    """Write a table as Markdown; names of groups are code."""
    rule = ["---" if n < table.words else "---:" for n, _ in enumerate(table.header)]
    rows = [[*(f"`{cell}`" for cell in r[: table.words]), *r[table.words :]] for r in table.rows]
    lines = [[cell.replace("|", "\\|") for cell in row] for row in [table.header, rule, *rows]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def latex(comparisons: Comparisons) -> str:
    """Write the tables for LaTeX's package booktabs; notes and warnings are comments."""
    import pandas as pd

    parts = []
    for comparison in comparisons.tasks:
        parts += [f"% {text}" for text in [heading(comparison), *_remarks(comparison)]]
        for table in _tables(comparison):
            columns = "l" * table.words + "r" * (len(table.header) - table.words)
            frame = pd.DataFrame(table.rows, columns=pd.Index(table.header))
            parts += [f"% {table.title}"] if table.title else []
            parts.append(frame.to_latex(index=False, escape=True, column_format=columns).rstrip())
    return "\n".join([*parts, *(f"% left out: {text}" for text in comparisons.left_out)]) + "\n"


def numbers(comparisons: Comparisons) -> list[dict[str, Any]]:
    """Make a row for each group of each task, with all digits; None for a missing number."""
    rows = [
        {**_numbers(comparison, result), "warnings": "; ".join(comparison.warnings)}
        for comparison in comparisons.tasks
        for result in comparison.results
    ]
    # Columns that name groups come before the numbers, also those of only some tasks.
    names = dict.fromkeys(name for row in rows for name in [*row][: [*row].index("n")])
    return [{**{name: row[name] for name in names if name in row}, **row} for row in rows]


def comma_separated(comparisons: Comparisons) -> str:
    """Write a line for each group of each task, with all digits."""
    return csv_text(numbers(comparisons))


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as CSV below a header with the names of all rows."""
    import pandas as pd

    return pd.DataFrame([*rows], dtype=object).to_csv(index=False)


def as_json(comparisons: Comparisons) -> str:
    """Write everything as JSON, with all digits."""
    tasks = [
        {
            "task": comparison.task,
            "data": comparison.data,
            "metric": comparison.metric.path,
            "direction": {1: "higher", -1: "lower", 0: None}[comparison.metric.direction],
            "units": comparison.units or None,
            "by": list(comparison.by),
            "reference": comparison.reference.label if comparison.reference else None,
            "baseline": comparison.baseline,
            "geometric": comparison.geometric,
            "sequential": comparison.sequential,
            "groups": [
                {
                    **_numbers(comparison, result),
                    "values": {str(seed): value for seed, value in result.group.values.items()},
                    "runs": [str(run.run.path) for run in result.group.runs.values()],
                }
                for result in comparison.results
            ],
            "notes": footnotes(comparison),
            "warnings": list(comparison.warnings),
        }
        for comparison in comparisons.tasks
    ]
    document = {"tasks": tasks, "left_out": comparisons.left_out}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _numbers(comparison: Comparison, result: GroupResult) -> dict[str, Any]:
    """Return all numbers of a group by name; None for a missing number."""
    least, most = result.parameters or (None, None)
    shared, mean, low, high, p = result.difference or (None,) * 5
    shared_mean, reference_mean = result.shared_means or (None, None)
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
        "reference": comparison.reference.label if comparison.reference else None,
        "shared_seeds": shared,
        "shared_mean": shared_mean,
        "shared_reference_mean": reference_mean,
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
