"""A comparison as text: on a terminal, as Markdown, LaTeX, CSV and JSON.

For readers the two tables of `tables`; for programs all numbers with full digits.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.compare.comparison import Comparison, Comparisons, GroupResult
from attnlab.compare.tables import TextTable, differences_table, footnotes, heading, results_table
from attnlab.terminal.console import plain_console, plain_table

# On a terminal. In this order, while there is no room:
_LEFT_OUT_WHEN_NARROW = ("s/epoch", "parameters", "best", "lowest", "skill", "worst", "highest")
_STYLES = {"better": "bold green", "worse": "bold red", "too few seeds": "yellow"}
_GAP = 2  # between columns: a space of padding, one of the box
_NARROWEST_PICTURE, _WIDEST_PICTURE = 11, 31
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
}


def print_comparisons(found: Comparisons, file: Any = None) -> None:
    """Print tables, what the columns mean, and warnings; intervals are drawn where they fit."""
    console = plain_console(file)
    for number, comparison in enumerate(found.tasks):
        if number:
            console.print()
        _print(console, comparison)
    for text in found.left_out:
        console.print(Text(f"left out: {text}", style="yellow"), soft_wrap=True)


def _print(console: Console, comparison: Comparison) -> None:
    console.print(Text(heading(comparison), style="bold"))
    results, missing = _fitting(results_table(comparison), console)
    console.print(_rich_table(results))
    differences = differences_table(comparison)
    if differences is not None:
        room = console.width - _width(_rich_table(differences), console) - _GAP
        if room >= _NARROWEST_PICTURE:
            differences = _with_pictures(differences, comparison, room, console)
        console.print()
        console.print(Text(differences.title, style="bold"))
        console.print(_rich_table(differences))
    console.print()
    for line in footnotes(comparison):
        console.print(Text(line, style="dim"))
    if missing:
        text = f"a wider terminal also shows {', '.join(reversed(missing))}"
        console.print(Text(text, style="dim"))
    for warning in comparison.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _rich_table(table: TextTable) -> Table:
    words = table.header[: table.words]
    found = plain_table(table.header, [*words, "verdict", ""], folded=words)
    for row in table.rows:
        found.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return found


def _fitting(table: TextTable, console: Console) -> tuple[TextTable, list[str]]:
    """As many columns as the terminal has room for, and the names of the others."""
    missing: list[str] = []
    for name in _LEFT_OUT_WHEN_NARROW:
        if _width(_rich_table(table), console) <= console.width:
            break
        if name in table.header:
            place = table.header.index(name)
            header, *rows = [row[:place] + row[place + 1 :] for row in [table.header, *table.rows]]
            table = table._replace(header=header, rows=rows)
            missing.append(name)
    return table, missing


def _width(table: Table, console: Console) -> int:
    """The columns that a table would take of a terminal without end."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


def _with_pictures(
    table: TextTable, comparison: Comparison, room: int, console: Console
) -> TextTable:
    """The table with each interval drawn on one scale, and a line where nothing differs."""
    nothing = 1.0 if comparison.geometric else 0.0
    intervals = [_low_mean_high(each) for each in comparison.differences]
    ends = [nothing, *(end for interval in intervals for end in interval)]
    low, high, width = min(ends), max(ends), min(room, _WIDEST_PICTURE)
    if low == high:
        return table
    unicode = console.encoding.lower().startswith("utf") and not console.legacy_windows
    rows = []
    for row, interval in zip(table.rows, intervals, strict=True):
        places = [round((end - low) / (high - low) * (width - 1)) for end in (*interval, nothing)]
        rows.append([*row, _picture(*places, width=width, unicode=unicode)])
    return table._replace(header=[*table.header, ""], rows=rows)


def _low_mean_high(result: GroupResult) -> tuple[float, float, float]:
    """The ends of a difference's interval and its mean; all the mean where there is none."""
    found = result.difference
    if found is None or found.mean is None:
        return (0.0, 0.0, 0.0)
    ends = [found.mean if end is None else end for end in (found.low, found.high)]
    return ends[0], found.mean, ends[1]


def _picture(low: int, mean: int, high: int, nothing: int, *, width: int, unicode: bool) -> str:
    line, dot, zero, crossed = ("─", "●", "┊", "┼") if unicode else ("-", "o", "|", "+")
    cells = [" "] * width
    cells[low : high + 1] = [line] * (high + 1 - low)
    cells[nothing] = crossed if low <= nothing <= high else zero
    cells[mean] = dot
    return "".join(cells).rstrip()


def markdown(found: Comparisons) -> str:
    """Tables with a heading each; notes and warnings as lists."""
    parts = []
    for comparison in found.tasks:
        parts.append(f"**{heading(comparison)}**")
        for table in _tables(comparison):
            parts += [table.title] if table.title else []
            parts.append(_markdown_table(table))
        parts.append("\n".join(f"- {text}" for text in _remarks(comparison)))
    parts += ["\n".join(f"- left out: {text}" for text in found.left_out)] * bool(found.left_out)
    return "\n\n".join(parts) + "\n"


def latex(found: Comparisons) -> str:
    """Tables for the package booktabs; notes and warnings as comments."""
    parts = []
    for comparison in found.tasks:
        parts += [f"% {text}" for text in [heading(comparison), *_remarks(comparison)]]
        parts += [_latex_table(table) for table in _tables(comparison)]
    return "\n".join([*parts, *(f"% left out: {text}" for text in found.left_out)]) + "\n"


def numbers(found: Comparisons) -> list[dict[str, Any]]:
    """A row for each group of each task, with full digits; None where there is nothing to say."""
    return [
        {**_numbers(each, row), "warnings": "; ".join(each.warnings)}
        for each in found.tasks
        for row in each.results
    ]


def comma_separated(found: Comparisons) -> str:
    """A line for each group of each task, with full digits."""
    rows = numbers(found)
    names = dict.fromkeys(name for row in rows for name in row)  # tasks may be split differently
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(found: Comparisons) -> str:
    """Everything, with full digits."""
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


def _tables(comparison: Comparison) -> list[TextTable]:
    differences = differences_table(comparison)
    return [results_table(comparison), *([differences] if differences else [])]


def _remarks(comparison: Comparison) -> list[str]:
    return [*footnotes(comparison), *(f"warning: {text}" for text in comparison.warnings)]


def _numbers(comparison: Comparison, result: GroupResult) -> dict[str, Any]:
    """All numbers of a group by name; None where there is none."""
    least, most = result.parameters or (None, None)
    shared, mean, low, high, p = result.difference or (None,) * 5
    test = result.item_test
    return {
        "task": comparison.task,
        "data": comparison.data,
        "metric": comparison.metric.path,
        **dict(zip(comparison.by, result.group.key, strict=True)),
        **result.interval._asdict(),
        "best": result.best,
        "worst": result.worst,
        "skill": result.skill,
        "parameters": most,
        "parameters_least": least,
        "seconds_per_epoch": result.seconds_per_epoch,
        "reference": comparison.reference,
        "shared_seeds": shared,
        "ratio" if comparison.geometric else "difference": mean,
        "difference_low": low,
        "difference_high": high,
        "p": p,
        "p_holm": result.p_holm,
        "item_test": test.name if test else None,
        "items": test.items if test else None,
        **{f"item_{name}": getattr(test, name, None) for name in ("statistic", "p", "p_holm")},
        "verdict": result.verdict or None,
    }


def _markdown_table(table: TextTable) -> str:
    def cell(text: str, number: int) -> str:
        text = text.replace("|", "\\|")
        return f"`{text}`" if number < table.words else text

    rule = ["---"] * table.words + ["---:"] * (len(table.header) - table.words)
    if table.header[-1] == "verdict":
        rule[-1] = "---"
    body = [[cell(text, number) for number, text in enumerate(row)] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [table.header, rule, *body])


def _latex_table(table: TextTable) -> str:
    columns = "l" * table.words + "r" * (len(table.header) - table.words)
    head, *body = [
        " & ".join(map(_latex_text, row)) + r" \\" for row in [table.header, *table.rows]
    ]
    title = [f"% {table.title}"] if table.title else []
    begin = rf"\begin{{tabular}}{{{columns}}}"
    middle = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*title, begin, *middle, r"\end{tabular}"])


def _latex_text(text: str) -> str:
    """Escaped, and a minus as mathematics has it."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return re.sub(r"(^|[ \[])-(?=\d)", r"\1$-$", escaped)
