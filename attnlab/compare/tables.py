"""A comparison as tables: on a terminal, as Markdown, LaTeX, CSV and JSON.

For readers two tables of text: how good each group is, and how it differs from the reference. For
programs all numbers with full digits.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.compare.comparison import ENOUGH_SEEDS, Comparison, Comparisons, GroupResult
from attnlab.terminal.console import plain_console, plain_table

_NOTHING = "-"
_DIRECTIONS = {1: "higher is better", -1: "lower is better", 0: "as a plain number"}
# Numbers that are further apart than this get digits of their own each.
_FAR_APART = 1000.0
_SMALLEST_P = 0.001
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


class TextTable(NamedTuple):
    """A table of text."""

    title: str  # what it shows; empty where the heading says it
    words: int  # how many columns at the left hold words; the others hold numbers
    header: list[str]  # a name for each column
    rows: list[list[str]]  # the cells


def heading(comparison: Comparison) -> str:
    """Of which task and metric the tables are."""
    metric = comparison.metric
    units = f" in {comparison.units}" if comparison.units else ""
    part = "test " if metric.is_test else ""
    task = f"{comparison.task} ({comparison.data})" if comparison.data else comparison.task
    return f"{task}: {part}{metric.path}{units}, {_DIRECTIONS[metric.direction]}"


def results_table(comparison: Comparison) -> TextTable:
    """A row for each group: seeds, mean and interval, best and worst, skill, size, speed."""
    results = comparison.results
    write = number_format(
        value for each in results for value in (*each.interval[1:], each.best, each.worst)
    )
    write_seconds = number_format((each.seconds_per_epoch for each in results), digits=3)
    mean = "geometric mean" if comparison.geometric else "mean"
    ends = ["best", "worst"] if comparison.metric.direction else ["lowest", "highest"]
    header = [*comparison.by, "n", mean, "95 % interval", *ends, "skill", "parameters", "s/epoch"]
    rows = [
        [
            *_key_cells(each),
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
    return TextTable("", len(comparison.by), header, rows)


def differences_table(comparison: Comparison) -> TextTable | None:
    """A row for each group but the reference: difference, p values, words; None for one group."""
    if not comparison.differences:
        return None
    write = number_format(
        (end for each in comparison.differences for end in (each.difference or ())[1:4]), digits=3
    )
    what, line = ("ratio", "1") if comparison.geometric else ("difference", "0")
    way = {1: f" (above {line} is better)", -1: f" (below {line} is better)"}
    test = comparison.item_test
    header = [*comparison.by, "n", f"{what} [95 %]", "p", *([test.heading] if test else [])]
    rows = []
    for each in comparison.differences:
        item = [p_text(each.item_test.p_holm if each.item_test else None)] if test else []
        found = [str(each.difference.n), _difference(each, write)] if each.difference else []
        rows.append([*_key_cells(each), *found, p_text(each.p_holm), *item, each.verdict])
    title = f"{what} to {comparison.reference}{way.get(comparison.metric.direction, '')}"
    return TextTable(title, len(comparison.by), [*header, "verdict"], rows)


def footnotes(comparison: Comparison) -> list[str]:
    """What the columns mean, and what to know beside them."""
    lines = ["n: seeds, with a 95 % t interval of their mean; s/epoch: median epoch"]
    if any(each.skill is not None for each in comparison.results):
        baseline = comparison.baseline or "the best baseline"
        lines[0] += f"; skill: part of {baseline}'s error that is gone"
    tests = sum(each.p_holm is not None for each in comparison.differences)
    if tests:
        corrected = f", corrected for {tests} tests (Holm); intervals are not corrected"
        lines.append(f"p: paired t test over shared seeds{corrected if tests > 1 else ''}")
    if test := comparison.item_test:
        signature = f"; {test.signature}" if test.signature else ""
        several = sum(each.item_test is not None for each in comparison.differences) > 1
        corrected = ", corrected (Holm)" if several else ""
        lines.append(f"{test.heading}: {test.method}{corrected}{signature}")
    if any(each.verdict == "too few seeds" for each in comparison.differences):
        lines.append(f"below {ENOUGH_SEEDS} shared seeds a difference is not judged: train more")
    return lines + comparison.notes


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


def p_text(p: float | None) -> str:
    """A p value as readers expect it."""
    return _cell(p, lambda p: f"<{_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}")


def _key_cells(result: GroupResult) -> list[str]:
    return [value or _NOTHING for value in result.group.key]


def _cell(value: float | None, write: Callable[[float], str]) -> str:
    return _NOTHING if value is None else write(value)


def _difference(result: GroupResult, write: Callable[[float], str]) -> str:
    found = result.difference
    if found is None or found.mean is None:
        return _NOTHING
    interval = f" [{_interval(found.low, found.high, write, ', ')}]" if found.n > 1 else ""
    return write(found.mean) + interval


def _interval(
    low: float | None, high: float | None, write: Callable[[float], str], between: str
) -> str:
    return _NOTHING if low is None or high is None else f"{write(low)}{between}{write(high)}"


def _parameters(sizes: tuple[int, int] | None) -> str:
    if sizes is None:
        return _NOTHING
    least, most = sizes
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


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
