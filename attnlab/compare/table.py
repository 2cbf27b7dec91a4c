"""A comparison on a terminal: tables of 100 columns, with intervals drawn where they fit."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.compare.results import Comparison, Comparisons, Row
from attnlab.compare.sheets import (
    Sheet,
    differences_sheet,
    footnotes,
    heading,
    results_sheet,
)

_WIDE = 100
# In this order, while there is no room.
_LEFT_OUT_WHEN_NARROW = ("s/epoch", "parameters", "best", "lowest", "skill", "worst", "highest")
_STYLES = {"better": "bold green", "worse": "bold red", "too few seeds": "yellow"}
_GAP = 2  # between columns: a space of padding, one of the box
_NARROWEST_PICTURE = 11
_WIDEST_PICTURE = 31


def print_comparisons(found: Comparisons, file: Any = None) -> None:
    """Print tables, what the columns mean, and warnings."""
    console = Console(file=file, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    for number, comparison in enumerate(found.tasks):
        if number:
            console.print()
        _print(console, comparison)
    for text in found.left_out:
        console.print(Text(f"left out: {text}", style="yellow"), soft_wrap=True)


def _print(console: Console, comparison: Comparison) -> None:
    console.print(Text(heading(comparison), style="bold"))
    sheet, missing = _fitting(results_sheet(comparison), console)
    console.print(_table(sheet))
    differences = differences_sheet(comparison)
    if differences is not None:
        table = _table(differences)
        room = console.width - _width(table, console) - _GAP
        if room >= _NARROWEST_PICTURE:
            _add_pictures(table, comparison, min(room, _WIDEST_PICTURE), _unicode(console))
        console.print()
        console.print(Text(differences.title, style="bold"))
        console.print(table)
    console.print()
    for line in footnotes(comparison):
        console.print(Text(line, style="dim"))
    if missing:
        text = f"a wider terminal also shows {', '.join(reversed(missing))}"
        console.print(Text(text, style="dim"))
    for warning in comparison.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _table(sheet: Sheet) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for number, name in enumerate(sheet.header):
        words = number < sheet.words
        table.add_column(
            name,
            justify="left" if words or name == "verdict" else "right",
            overflow="fold",
            no_wrap=not words,
        )
    for row in sheet.rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return table


def _fitting(sheet: Sheet, console: Console) -> tuple[Sheet, list[str]]:
    """As many columns as the terminal has room for, and the names of the others."""
    missing: list[str] = []
    for name in _LEFT_OUT_WHEN_NARROW:
        if _width(_table(sheet), console) <= console.width:
            break
        if name in sheet.header:
            sheet = _without(sheet, sheet.header.index(name))
            missing.append(name)
    return sheet, missing


def _width(table: Table, console: Console) -> int:
    """The columns that a table would take of a terminal without end."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


def _without(sheet: Sheet, place: int) -> Sheet:
    header, *rows = [
        [cell for number, cell in enumerate(row) if number != place]
        for row in [sheet.header, *sheet.rows]
    ]
    return sheet._replace(header=header, rows=rows)


def _unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf") and not console.legacy_windows


def _add_pictures(table: Table, comparison: Comparison, width: int, unicode: bool) -> None:
    """A column with each interval drawn on one scale, and a line where nothing differs."""
    nothing = 1.0 if comparison.geometric else 0.0
    ends = [end for row in comparison.differences for end in _ends(row)] + [nothing]
    low, high = min(ends), max(ends)
    if low == high:
        return
    table.add_column("", no_wrap=True)
    column = table.columns[-1]
    for row in comparison.differences:
        places = [
            round((value - low) / (high - low) * (width - 1)) for value in (*_ends(row), nothing)
        ]
        column._cells.append(Text(_picture(*places, width=width, unicode=unicode)))


def _ends(row: Row) -> tuple[float, float, float]:
    """Low end, mean and high end; all the mean where there is no interval."""
    difference = row.difference
    if difference is None or difference.mean is None:
        return (0.0, 0.0, 0.0)
    mean = difference.mean
    return (
        mean if difference.low is None else difference.low,
        mean,
        mean if difference.high is None else difference.high,
    )


def _picture(low: int, mean: int, high: int, nothing: int, *, width: int, unicode: bool) -> str:
    line, dot, zero, crossed = ("─", "●", "┊", "┼") if unicode else ("-", "o", "|", "+")
    cells = [" "] * width
    cells[low : high + 1] = [line] * (high + 1 - low)
    cells[nothing] = crossed if low <= nothing <= high else zero
    cells[mean] = dot
    return "".join(cells).rstrip()
