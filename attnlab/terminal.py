"""The console, the tables and the number formats that commands print with."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 100


class PlainConsole(Console):
    """A console whose reader may close the pipe, as `| head` does."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError` for standard output; other streams become quiet."""
        if self.file is sys.stdout:
            raise BrokenPipeError
        self.quiet = True


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return Console().is_jupyter


def plain_console(file: Any = None, width: int = WIDTH) -> Console:
    """Return a console for a file, by default standard output; `width` if it isn't a terminal."""
    # Names and paths contain no markup: [b] is printed unchanged.
    console = PlainConsole(
        file=file or sys.stdout, highlight=False, markup=False, emoji=False, force_jupyter=False
    )
    if not console.is_terminal:
        console.width = max(console.width, width)
    return console


def plain_table(
    header: Sequence[str],
    left: Collection[str],
    *,
    folded: Collection[str] = (),
    ruled: bool = True,
) -> Table:
    """Return an empty table; columns are right-aligned except `left`; only `folded` ones wrap."""
    table = Table(
        box=box.SIMPLE_HEAD if ruled else None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for name in header:
        table.add_column(
            name,
            justify="left" if name in left else "right",
            overflow="fold",
            no_wrap=name not in folded,
        )
    return table


def width(table: Table, console: Console) -> int:
    """Return the width of a table on an unlimited terminal, in characters."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


NOTHING = "-"  # in a cell without a value
_SMALLEST, _LARGEST = 1e-4, 1e6  # other numbers get an exponent
# If largest / smallest number exceeds this, decimals are added so that the smallest has 2 digits.
_FAR_APART = 1000.0
_MOST_DIGITS = 7  # if the largest number needs more digits, all get an exponent
_MOST_DECIMALS = 9
_SMALLEST_P = 0.001
_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86_400.0))
_MOST_OF_A_UNIT = 100.0  # from this number of a unit of time on, the next larger unit is used

Write = Callable[[float], str]


def number_format(values: Iterable[float | None], digits: int = 4) -> Write:
    """Return a function that formats a column's numbers with equal decimals or an exponent.

    The largest number has `digits` digits, or one less with an exponent.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return lambda value: f"{value:g}"
    most, least = max(sizes), min(sizes)
    before_point = max(0, math.floor(math.log10(most))) + 1
    decimals = max(0, digits - 1 - math.floor(math.log10(most)))
    if most > _FAR_APART * least:
        decimals = max(decimals, 1 - math.floor(math.log10(least)))
    if not _SMALLEST <= most < _LARGEST or before_point + decimals > _MOST_DIGITS:
        return lambda value: f"{value:.{max(1, digits - 2)}e}" if value else "0"
    return _with_decimals(decimals)


def _with_decimals(decimals: int) -> Write:
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


def in_one_format(
    values: Sequence[float | None], groups: Sequence[Hashable] | None = None, digits: int = 4
) -> list[str]:
    """Format the cells of a column, `-` for None.

    Args:
        values: the numbers.
        groups: the group of each number, such as a metric; a group has one format.
        digits: see `number_format`.
    """
    pairs = [*zip(values, groups or [None] * len(values), strict=True)]
    by_group: dict[Hashable, list[float | None]] = {}
    for value, group in pairs:
        by_group.setdefault(group, []).append(value)
    formats = {group: number_format(numbers, digits) for group, numbers in by_group.items()}
    return [NOTHING if value is None else formats[group](value) for value, group in pairs]


def distinct(values: Iterable[float | None], line: float, write: Write) -> Write:
    """Return `write`, with more decimals if it writes another value like the threshold `line`.

    `values` are all numbers of a column, so that all get the same decimals.
    """
    finite = (value for value in values if value is not None and math.isfinite(value))
    off = [value for value in finite if value != line]
    if not any(write(value) == write(line) for value in off):
        return write
    decimals = 1 - math.floor(math.log10(min(abs(value - line) for value in off)) + 1e-9)
    if decimals > _MOST_DECIMALS:
        return lambda value: f"{value:.{decimals + 1 if line else 3}g}"
    return _with_decimals(decimals)


def duration(seconds: float | None) -> str:
    """Write a time in seconds, minutes, hours or days, with two digits; `-` for None."""
    if seconds is None:
        return NOTHING
    fits = ((name, size) for name, size in _UNITS if seconds < _MOST_OF_A_UNIT * size)
    name, size = next(fits, _UNITS[-1])
    value = seconds / size
    return f"{value:,.0f} {name}" if value >= 99.5 else f"{value:.2g} {name}"


def percent(share: float | None) -> str:
    """Write a share in percent with one decimal; `-` for None."""
    return NOTHING if share is None else f"{100 * share:,.1f} %"


def p_text(p: float | None) -> str:
    """Format a p value with three decimals; four if it would read 0.050."""
    if p is None:
        return NOTHING
    if p < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    return f"{p:.4f}" if f"{p:.3f}" == "0.050" else f"{p:.3f}"
