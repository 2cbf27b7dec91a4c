"""A comparison as tables, notes and warnings: on a terminal, as Markdown, LaTeX, CSV and JSON.

People get two tables with rounded numbers, how good each group is and how it differs from the
reference. CSV and JSON have one table with all digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from attnlab.comparison.comparison import Comparison, Comparisons
from attnlab.comparison.statistics import TOO_FEW, enough_seeds
from attnlab.terminal import (
    NOTHING,
    Write,
    distinct,
    number_format,
    p_text,
    percent,
    plain_console,
    plain_table,
)
from attnlab.views.records import Table

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
_STYLES = {
    **{"better": "bold green", "worse": "bold red"},
    **dict.fromkeys((TOO_FEW, "undecided"), "yellow"),
}


def heading(comparison: Comparison) -> str:
    """Return the heading of a task's tables: task, data, metric, units, which way is better."""
    metric = comparison.metric
    units = f" in {comparison.units}" if comparison.units else ""
    part = "test " if metric.is_test else ""
    data = f" ({comparison.data})" if comparison.data else ""
    return f"{comparison.task}{data}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


def value_format(comparison: Comparison) -> Write:
    """Return the number format of the groups' values, for tables and for sentences."""
    values = comparison.table[["mean", "low", "high", "best", "worst"]]
    return number_format(values.to_numpy().ravel())


def results_table(comparison: Comparison) -> Table:
    """Make a row for each group: seeds, mean and interval, skill if there is any, size."""
    table, write = comparison.table, value_format(comparison)
    columns = {
        "n": table["n"].map(str),
        "geometric mean" if comparison.geometric else "mean": table["mean"].map(write),
        "95 % sequential" if comparison.sequential else "95 % interval": [
            NOTHING if low is None else f"{write(low)} to {write(high)}"
            for low, high in zip(table["low"], table["high"], strict=True)
        ],
    }
    if table["skill"].notna().any():
        columns["beats baseline"] = table["skill"].map(percent)
    columns["parameters"] = [NOTHING if n is None else f"{n:,}" for n in table["parameters"]]
    return _table("", comparison, table, columns)


def differences_table(comparison: Comparison) -> Table | None:
    """Make a row for each group except the reference: difference, p values, verdict.

    None if there is only one group.
    """
    if comparison.reference is None:
        return None
    table, nothing = comparison.differences, 1.0 if comparison.geometric else 0.0
    ends = [*table[["difference", "difference_low", "difference_high"]].to_numpy().ravel()]
    write = distinct(ends, nothing, number_format(ends, digits=3))
    what = "ratio" if comparison.geometric else "difference"
    interval = "sequential" if comparison.sequential else "95 %"
    numbers, differences = [], []
    for row in table.itertuples():
        seeds = len({*row.group.runs, *comparison.reference.runs})
        numbers.append(f"{row.shared_seeds}" + f" of {seeds}" * (row.shared_seeds != seeds))
        cell = NOTHING if row.difference is None else write(row.difference)
        if row.difference_low is not None:
            cell += f" [{write(row.difference_low)}, {write(row.difference_high)}]"
        differences.append(cell)
    columns = {
        "n": numbers,
        f"{what} [{interval}]": differences,
        "p": [p_cell(row) for row in table.itertuples()],
    }
    side = {1: "above", -1: "below"}.get(comparison.metric.direction)
    better = f" ({side} {nothing:g} is better)" if side else ""
    title = f"{what} to {comparison.reference_name}{better}"
    return _table(title, comparison, table, {**columns, "verdict": table["verdict"]})


def p_cell(row: Any) -> str:
    """Return the corrected p value of a row of `Comparison.table`; `-` with too few seeds."""
    return p_text(None if row.verdict == TOO_FEW else row.p_corrected)


def _table(
    title: str, comparison: Comparison, table: pd.DataFrame, columns: Mapping[str, Iterable[str]]
) -> Table:
    """Put columns next to the settings of the groups."""
    cells = zip(*columns.values(), strict=True)
    rows = [[*group.cells, *row] for group, row in zip(table["group"], cells, strict=True)]
    return Table(title, [*comparison.by, *columns], rows, len(comparison.by))


def remarks(comparison: Comparison) -> list[str]:
    """Describe the tests over test items, missing verdicts, and which runs are compared."""
    differences, lines = comparison.differences, []
    if test := comparison.item_test:
        tested = [row for row in differences.itertuples() if row.item_p is not None]
        values = ", ".join(f"{row.group.name} p {p_text(row.item_p_holm)}" for row in tested)
        details = [test.method, *([test.signature] if test.signature else [])]
        details += ["Holm"] if len(tested) > 1 else []
        details += ["valid for one look only"] if comparison.sequential else []
        lines.append(
            "the item test compares these weights on these items, not the mechanisms: "
            f"{values} ({'; '.join(details)})"
        )
    if (differences["verdict"] == TOO_FEW).any():
        enough = enough_seeds(len(differences), comparison.sequential)
        lines.append(f"{TOO_FEW}: a verdict needs {enough} seeds that both groups have")
    return [*lines, *comparison.notes]


def print_comparisons(comparisons: Comparisons, file: Any = None) -> None:
    """Print tables, notes and warnings."""
    console = plain_console(file)
    for number, comparison in enumerate(comparisons.tasks):
        if number:
            console.print()
        print_tables(console, heading(comparison), _tables(comparison))
        print_notes(console, _lines(comparison))
    print_notes(console, [f"left out: {text}" for text in comparisons.left_out])


def print_tables(console: Console, title: str, tables: Sequence[Table]) -> None:
    """Print tables below a title."""
    console.print(Text(title, style="bold"))
    for table in tables:
        words = table.header[: table.words]
        printed = plain_table(table.header, [*words, "verdict"], folded=words)
        for row in table.rows:
            printed.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        if table.title:
            console.print(Text(table.title, style="bold"))
        console.print(printed)
        console.print()


def print_notes(console: Console, lines: Iterable[str]) -> None:
    """Print remarks, `warning: ...` and `left out: ...`, whose commands stay on one line."""
    for line in lines:
        is_warning = line.startswith(("warning: ", "left out: "))
        console.print(Text(line, style="yellow" if is_warning else "dim"), soft_wrap=is_warning)


def _tables(comparison: Comparison) -> list[Table]:
    differences = differences_table(comparison)
    return [results_table(comparison), *([differences] if differences else [])]


def _lines(comparison: Comparison) -> list[str]:
    return [*remarks(comparison), *(f"warning: {text}" for text in comparison.warnings)]


def markdown(comparisons: Comparisons) -> str:
    """Write the tables as Markdown, with headings; notes and warnings are lists."""
    parts = []
    for comparison in comparisons.tasks:
        parts.append(f"**{heading(comparison)}**")
        for table in _tables(comparison):
            frame = pd.DataFrame(table.rows, columns=pd.Index(table.header))
            words, numbers = table.words, len(table.header) - table.words
            frame.iloc[:, :words] = frame.iloc[:, :words].map("`{}`".format)
            sides = ["left"] * words + ["right"] * numbers
            parts.append(table.title)
            parts.append(frame.to_markdown(index=False, disable_numparse=True, colalign=sides))
        parts.append("\n".join(f"- {text}" for text in _lines(comparison)))
    parts.append("\n".join(f"- left out: {text}" for text in comparisons.left_out))
    return "\n\n".join(filter(None, parts)) + "\n"


def latex(comparisons: Comparisons) -> str:
    """Write the tables for LaTeX's package booktabs; notes and warnings are comments."""
    parts = []
    for comparison in comparisons.tasks:
        parts += [f"% {text}" for text in [heading(comparison), *_lines(comparison)]]
        for table in _tables(comparison):
            columns = "l" * table.words + "r" * (len(table.header) - table.words)
            frame = pd.DataFrame(table.rows, columns=pd.Index(table.header))
            parts += [f"% {table.title}"] if table.title else []
            parts.append(frame.to_latex(index=False, escape=True, column_format=columns).rstrip())
    return "\n".join([*parts, *(f"% left out: {text}" for text in comparisons.left_out)]) + "\n"


def numbers(comparisons: Comparisons) -> pd.DataFrame:
    """Make a row for each group of each task, with all digits; None for a missing number."""
    first = comparisons.tasks[0]
    names = {"p_corrected": "p_bonferroni" if first.sequential else "p_holm"}
    if first.geometric:
        names["difference"] = "ratio"
    tables = [task.table.assign(warnings="; ".join(task.warnings)) for task in comparisons.tasks]
    table = pd.concat(tables, ignore_index=True).rename(columns=names).drop(columns="group")
    return table.where(table.notna(), None)


def as_json(comparisons: Comparisons) -> str:
    """Write a list with the numbers of each group and the values of its seeds, with all digits."""
    groups = [group for comparison in comparisons.tasks for group in comparison.groups]
    # not by `to_json`, which rounds to 15 digits
    rows = zip(numbers(comparisons).to_dict("records"), groups, strict=True)
    rows_with_values = [{**row, "values": group.values} for row, group in rows]
    return json.dumps(rows_with_values, indent=2, ensure_ascii=False)


# A choice of --format -> what writes it.
WRITERS = {
    "md": markdown,
    "csv": lambda comparisons: numbers(comparisons).to_csv(index=False),  # with all digits
    "latex": latex,
    "json": as_json,
}
