"""The console and the tables of every verb: made by rich, loaded only where something is shown."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
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
