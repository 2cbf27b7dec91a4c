"""Write tables with notes and warnings: on a terminal, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.terminal import plain_table, width

_STYLES = {
    **{"better": "bold green", "worse": "bold red"},
    **dict.fromkeys(("too few seeds", "undecided"), "yellow"),
}
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

    title: str  # what it shows; empty if the section's heading says it
    words: int  # number of columns with words, at the left; the others have numbers
    header: list[str]  # a name for each column
    rows: list[list[str]]  # the cells


class Section(NamedTuple):
    """Tables about one task."""

    heading: str  # the task and the metric
    tables: list[TextTable]
    notes: list[str]  # what the columns mean
    warnings: list[str]  # reasons to doubt the tables

    @property
    def remarks(self) -> list[str]:
        """Notes and warnings."""
        return [*self.notes, *(f"warning: {text}" for text in self.warnings)]


def rich_table(table: TextTable) -> Table:
    """Make the table that rich prints on a terminal."""
    words = table.header[: table.words]
    found = plain_table(table.header, [*words, "verdict", ""], folded=words)
    for row in table.rows:
        found.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return found


def fitting(
    table: TextTable, console: Console, droppable: Iterable[str]
) -> tuple[TextTable, list[str]]:
    """Drop columns, in the order of `droppable`, until the table fits the terminal.

    Returns:
        The table, and the names of the dropped columns.
    """
    missing: list[str] = []
    for name in droppable:
        if width(rich_table(table), console) <= console.width:
            break
        if name in table.header:
            place = table.header.index(name)
            header, *rows = [row[:place] + row[place + 1 :] for row in [table.header, *table.rows]]
            table = table._replace(header=header, rows=rows)
            missing.append(name)
    return table, missing


def print_section(console: Console, section: Section, droppable: Iterable[str]) -> None:
    """Print tables, what their columns mean, and warnings.

    Columns of the first table may be dropped; see `fitting`.
    """
    console.print(Text(section.heading, style="bold"))
    first, *others = section.tables
    fitted, missing = fitting(first, console, droppable)
    for number, table in enumerate([fitted, *others]):
        if number:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        console.print(rich_table(table))
    console.print()
    _print_remarks(console, section, missing)


def _print_remarks(console: Console, section: Section, missing: Sequence[str]) -> None:
    """Print notes, the names of dropped columns, and warnings."""
    wider = f"a wider terminal also shows {', '.join(reversed(missing))}"
    for line in [*section.notes, *([wider] if missing else [])]:
        console.print(Text(line, style="dim"))
    for warning in section.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def print_left_out(console: Console, left_out: Iterable[str]) -> None:
    """Print which runs are in no table."""
    for text in left_out:
        console.print(Text(f"left out: {text}", style="yellow"), soft_wrap=True)


def markdown(sections: Iterable[Section], left_out: Sequence[str]) -> str:
    """Write tables as Markdown, with headings; notes and warnings are lists."""
    parts = []
    for section in sections:
        parts.append(f"**{section.heading}**")
        for table in section.tables:
            parts += [table.title] if table.title else []
            parts.append(_markdown_table(table))
        parts.append("\n".join(f"- {text}" for text in section.remarks))
    parts += ["\n".join(f"- left out: {text}" for text in left_out)] * bool(left_out)
    return "\n\n".join(parts) + "\n"


def latex(sections: Iterable[Section], left_out: Iterable[str]) -> str:
    """Write tables for LaTeX's package booktabs; notes and warnings are comments."""
    parts = []
    for section in sections:
        parts += [f"% {text}" for text in [section.heading, *section.remarks]]
        parts += [_latex_table(table) for table in section.tables]
    return "\n".join([*parts, *(f"% left out: {text}" for text in left_out)]) + "\n"


def comma_separated(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV below a header with the names of all rows."""
    names = dict.fromkeys(name for row in rows for name in row)  # tasks may have different names
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


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
        _latex_row(map(_latex_text, row)) + r" \\" for row in [table.header, *table.rows]
    ]
    title = [f"% {table.title}"] if table.title else []
    begin = rf"\begin{{tabular}}{{{columns}}}"
    middle = [r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*title, begin, *middle, r"\end{tabular}"])


def _latex_row(cells: Iterable[str]) -> str:
    r"""Write cells as a row; `{}` in front keeps `[` and `*` from being arguments of `\\`."""
    row = " & ".join(cells)
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _latex_text(text: str) -> str:
    """Escape a text for LaTeX; the minus of a number becomes a mathematical one."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return re.sub(r"(^|[ \[])-(?=\d)", r"\1$-$", escaped)
