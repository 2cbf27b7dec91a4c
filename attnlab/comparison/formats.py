"""Write a comparison: on a terminal, as Markdown, LaTeX, CSV and JSON.

People get the two tables of `tables`; CSV and JSON have all numbers with all digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from attnlab.comparison.comparison import Comparison, Comparisons
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
    print_notes(console, left_out=comparisons.left_out)


def print_tables(console: Console, title: str, tables: Sequence[Table]) -> None:
    """Print tables below a title; without some columns on a narrow terminal."""
    console.print(Text(title, style="bold"))
    hidden = _LEFT_OUT_WHEN_NARROW if console.width < WIDTH else set()
    for table in tables:
        words = table.header[: table.words]
        places = [place for place, name in enumerate(table.header) if name not in hidden]
        names = [table.header[place] for place in places]
        printed = plain_table(names, [*words, "verdict"], folded=words)
        for row in table.rows:
            cells = [row[place] for place in places]
            printed.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        if table.title:
            console.print(Text(table.title, style="bold"))
        console.print(printed)
        console.print()


def print_notes(
    console: Console,
    notes: Iterable[str] = (),
    warnings: Iterable[str] = (),
    left_out: Iterable[str] = (),
) -> None:
    """Print what columns mean, reasons to doubt them, and which runs are in no table."""
    for line in notes:
        console.print(Text(line, style="dim"))
    for warning in warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
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
            parts += [table.title, _markdown_table(table)]
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
    parts = []
    for comparison in comparisons.tasks:
        parts += [f"% {text}" for text in [heading(comparison), *_remarks(comparison)]]
        for table in _tables(comparison):
            columns = "l" * table.words + "r" * (len(table.header) - table.words)
            frame = pd.DataFrame(table.rows, columns=pd.Index(table.header))
            parts += [f"% {table.title}"] if table.title else []
            parts.append(frame.to_latex(index=False, escape=True, column_format=columns).rstrip())
    return "\n".join([*parts, *(f"% left out: {text}" for text in comparisons.left_out)]) + "\n"


def comma_separated(comparisons: Comparisons) -> str:
    """Write a line for each group of each task, with all digits."""
    return pd.DataFrame(numbers(comparisons), dtype=object).to_csv(index=False)


def as_json(comparisons: Comparisons) -> str:
    """Write a list with the numbers of each group and the values of its seeds, with all digits."""
    groups = [group for comparison in comparisons.tasks for group in comparison.groups]
    rows = zip(numbers(comparisons), groups, strict=True)
    rows_with_values = [{**row, "values": group.values} for row, group in rows]
    return json.dumps(rows_with_values, indent=2, ensure_ascii=False)


def numbers(comparisons: Comparisons) -> list[dict[str, Any]]:
    """Make a row for each group of each task, with all digits; None for a missing number."""
    columns = {_column(key): None for comparison in comparisons.tasks for key in comparison.by}
    rows = []
    for comparison in comparisons.tasks:
        for result in comparison.results:
            pairs = 0 if result.verdict else None
            n, mean, low, high, p = result.difference or (pairs, *[None] * 4)
            test = result.item_test
            row: dict[str, Any] = {
                "task": comparison.task,
                "data": comparison.data,
                "metric": comparison.metric.path,
                **columns,
                **dict(zip(map(_column, comparison.by), result.group.key, strict=True)),
                **dict(zip(("n", "mean", "low", "high"), result.interval, strict=False)),
                "best": result.best,
                "worst": result.worst,
                "skill": result.skill,
                "parameters": result.parameters[1] if result.parameters else None,
                "seconds_per_epoch": result.seconds_per_epoch,
                "reference": comparison.reference.label if comparison.reference else None,
                "shared_seeds": n,
                "intervals": "sequential" if comparison.sequential else "t",
                "ratio" if comparison.geometric else "difference": mean,
                "difference_low": low,
                "difference_high": high,
                "p": p,
                "p_bonferroni" if comparison.sequential else "p_holm": result.p_corrected,
                "item_test": test.name if test else None,
                "items": test.items if test else None,
                **{
                    f"item_{name}": getattr(test, name, None)
                    for name in ("statistic", "p", "p_holm")
                },
                "verdict": result.verdict or None,
                "warnings": "; ".join(comparison.warnings),
            }
            rows.append(row)
    return rows


def _column(key: str) -> str:
    """Name the column of a config key, unlike those of the task and its data."""
    return f"{key}.name" if key in ("task", "data") else key


# A choice of --format -> what writes it.
WRITERS = {"md": markdown, "csv": comma_separated, "latex": latex, "json": as_json}
