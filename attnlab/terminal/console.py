"""The console and the tables of every verb: made by rich, loaded only where something is shown."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 100


def plain_console(file: Any = None, width: int = WIDTH) -> Console:
    """Standard output or another file, without colours for numbers.

    The width is that of what is no terminal, unless $COLUMNS asks for more.
    """
    console = Console(file=file or sys.stdout, highlight=False)
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
    """A table without rows, whose columns are right-aligned and never broken.

    Those of `left` are left-aligned, those of `folded` may go on in a next line.
    """
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
