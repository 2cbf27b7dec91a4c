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
from attnlab.comparison.statistics import ALPHA, ENOUGH_SEEDS, first_bounded
from attnlab.terminal import (
    NOTHING,
    WIDTH,
    Write,
    distinct,
    in_one_format,
    number_format,
    p_text,
    plain_console,
    plain_table,
)
from attnlab.views.records import Table

_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
_LARGE_SKILL = 100.0  # if a skill is this large, skills are written with three digits
_LEFT_OUT_WHEN_NARROW = {"best", "worst", "lowest", "highest", "parameters", "s/epoch"}
_STYLES = {
    **{"better": "bold green", "worse": "bold red"},
    **dict.fromkeys(("too few seeds", "undecided"), "yellow"),
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
    """Make a row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    table, write = comparison.table, value_format(comparison)
    skills = [*table["skill"]]
    if any(abs(skill or 0) >= _LARGE_SKILL for skill in skills):
        skill_cells = in_one_format(skills, digits=3)
    else:
        skill_cells = [NOTHING if skill is None else f"{skill:.3f}" for skill in skills]
    best, worst = ("best", "worst") if comparison.metric.direction else ("lowest", "highest")
    columns = {
        "n": table["n"].map(str),
        "geometric mean" if comparison.geometric else "mean": table["mean"].map(write),
        "95 % sequential" if comparison.sequential else "95 % interval": [
            NOTHING if low is None else f"{write(low)} to {write(high)}"
            for low, high in zip(table["low"], table["high"], strict=True)
        ],
        best: table["best"].map(write),
        worst: table["worst"].map(write),
        "skill": skill_cells,
        "parameters": [NOTHING if n is None else f"{n:,}" for n in table["parameters"]],
        "s/epoch": in_one_format([*table["seconds_per_epoch"]], digits=3),
    }
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
        "p": table["p_corrected"].map(p_text),
    }
    if comparison.item_test:
        columns[comparison.item_test.heading] = table["item_p_holm"].map(p_text)
    side = {1: "above", -1: "below"}.get(comparison.metric.direction)
    better = f" ({side} {nothing:g} is better)" if side else ""
    title = f"{what} to {comparison.reference_name}{better}"
    return _table(title, comparison, table, {**columns, "verdict": table["verdict"]})


def _table(
    title: str, comparison: Comparison, table: pd.DataFrame, columns: Mapping[str, Iterable[str]]
) -> Table:
    """Put columns next to the settings of the groups."""
    cells = zip(*columns.values(), strict=True)
    rows = [[*group.cells, *row] for group, row in zip(table["group"], cells, strict=True)]
    return Table(title, [*comparison.by, *columns], rows, len(comparison.by))


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the tests and how to read the results; `attnlab explain` has all columns."""
    differences, lines = comparison.differences, []
    if comparison.table["skill"].notna().any():
        baseline = comparison.baseline or "the best baseline"
        lines.append(f"skill: share of the error of {baseline} that the model removes")
    if len(differences) and comparison.sequential:
        lines.append(
            "sequential: intervals, p and verdicts stay valid however often you look, if "
            f"differences are roughly normal, at alpha {ALPHA:g} / {len(differences)}; they need "
            f"{first_bounded(ALPHA / len(differences))} shared seeds"
        )
    elif tests := differences["p_corrected"].notna().sum():
        corrected = f", corrected for {tests} tests (Holm); intervals are not corrected"
        lines.append(f"p: paired t test over shared seeds{corrected if tests > 1 else ''}")
    if test := comparison.item_test:
        corrected = ", corrected (Holm)" if differences["item_p"].notna().sum() > 1 else ""
        once = "; valid for one look only" if comparison.sequential else ""
        signature = f"; {test.signature}" if test.signature else ""
        lines.append(f"{test.heading}: {test.method}{corrected}{once}{signature}")
    if (differences["verdict"] == "too few seeds").any():
        lines.append(
            f"too few seeds: below {ENOUGH_SEEDS} shared seeds a single run can decide, so "
            "differences of any size get no verdict: train more seeds"
        )
    return [*lines, *comparison.notes]


def print_comparisons(comparisons: Comparisons, file: Any = None) -> None:
    """Print tables, notes and warnings."""
    console = plain_console(file)
    for number, comparison in enumerate(comparisons.tasks):
        if number:
            console.print()
        print_tables(console, heading(comparison), _tables(comparison))
        print_notes(console, _remarks(comparison))
    print_notes(console, [f"left out: {text}" for text in comparisons.left_out])


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


def print_notes(console: Console, lines: Iterable[str]) -> None:
    """Print what columns mean, `warning: ...` and `left out: ...`."""
    for line in lines:
        style = "yellow" if line.startswith(("warning: ", "left out: ")) else "dim"
        console.print(Text(line, style=style), soft_wrap=line.startswith("left out: "))


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
            frame = pd.DataFrame(table.rows, columns=pd.Index(table.header))
            words, numbers = table.words, len(table.header) - table.words
            frame.iloc[:, :words] = frame.iloc[:, :words].map("`{}`".format)
            sides = ["left"] * words + ["right"] * numbers
            parts.append(table.title)
            parts.append(frame.to_markdown(index=False, disable_numparse=True, colalign=sides))
        parts.append("\n".join(f"- {text}" for text in _remarks(comparison)))
    parts.append("\n".join(f"- left out: {text}" for text in comparisons.left_out))
    return "\n\n".join(filter(None, parts)) + "\n"


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


def numbers(comparisons: Comparisons) -> pd.DataFrame:
    """Make a row for each group of each task, with all digits; None for a missing number."""
    first = comparisons.tasks[0]
    names = {"p_corrected": "p_bonferroni" if first.sequential else "p_holm"}
    if first.geometric:
        names["difference"] = "ratio"
    tables = [task.table.assign(warnings="; ".join(task.warnings)) for task in comparisons.tasks]
    table = pd.concat(tables, ignore_index=True).rename(columns=names).drop(columns="group")
    return table.where(table.notna(), None)


def comma_separated(comparisons: Comparisons) -> str:
    """Write a line for each group of each task, with all digits."""
    return numbers(comparisons).to_csv(index=False)


def as_json(comparisons: Comparisons) -> str:
    """Write a list with the numbers of each group and the values of its seeds, with all digits."""
    groups = [group for comparison in comparisons.tasks for group in comparison.groups]
    # not by `to_json`, which rounds to 15 digits
    rows = zip(numbers(comparisons).to_dict("records"), groups, strict=True)
    rows_with_values = [{**row, "values": group.values} for row, group in rows]
    return json.dumps(rows_with_values, indent=2, ensure_ascii=False)


# A choice of --format -> what writes it.
WRITERS = {"md": markdown, "csv": comma_separated, "latex": latex, "json": as_json}
