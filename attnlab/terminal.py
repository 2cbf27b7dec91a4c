"""What every command prints with: rich's console and tables, and numbers in one format a column."""

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
    """A console whose reader may go away, as `| head` does."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError` where results have no reader; all else goes on without one."""
        if self.file is sys.stdout:
            raise BrokenPipeError
        self.quiet = True


def plain_console(file: Any = None, width: int = WIDTH) -> Console:
    """Standard output or another file, of this width where it is no terminal; plain numbers."""
    # Names and paths are no markup: [b] is printed as it is.
    console = PlainConsole(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
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
    """A table without rows: right-aligned but for `left`, never broken but for `folded`."""
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
    """The columns that a table would take of a terminal without end."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum


NOTHING = "-"  # in a cell without a value
_SMALLEST, _LARGEST = 1e-4, 1e6  # outside, numbers have an exponent
# From this ratio of the largest to the smallest number on, the smallest gets two digits, ...
_FAR_APART = 1000.0
_MOST_DIGITS = 7  # ... unless the largest one had more than these then: all get an exponent
_MOST_DECIMALS = 9
_SMALLEST_P = 0.001

Write = Callable[[float], str]


def number_format(values: Iterable[float | None], digits: int = 4) -> Write:
    """Return how to write the numbers of a column: all with as many decimals, or an exponent.

    The largest one has `digits` digits, or one less beside an exponent.
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
    """Write the cells of a column, `-` for None.

    Args:
        values: the numbers.
        groups: what each number is of: numbers of one group, such as a metric, have one format.
        digits: see `number_format`.
    """
    pairs = [*zip(values, groups or [None] * len(values), strict=True)]
    by_group: dict[Hashable, list[float | None]] = {}
    for value, group in pairs:
        by_group.setdefault(group, []).append(value)
    formats = {group: number_format(own, digits) for group, own in by_group.items()}
    return [NOTHING if value is None else formats[group](value) for value, group in pairs]


def distinct(values: Iterable[float | None], line: float, write: Write) -> Write:
    """Return `write`, with more decimals if it writes a value as a line that the value is not on.

    All numbers of a column are given, so that all get these decimals.
    """
    known = (value for value in values if value is not None and math.isfinite(value))
    off = [value for value in known if value != line]
    if not any(write(value) == write(line) for value in off):
        return write
    decimals = 1 - math.floor(math.log10(min(abs(value - line) for value in off)) + 1e-9)
    if decimals > _MOST_DECIMALS:
        return lambda value: f"{value:.{decimals + 1 if line else 3}g}"
    return _with_decimals(decimals)


def p_text(p: float | None) -> str:
    """Write a p value with three decimals, and with four if .050 could be on either side of .05."""
    if p is None:
        return NOTHING
    if p < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    return f"{p:.4f}" if f"{p:.3f}" == "0.050" else f"{p:.3f}"
