"""The table of a sweep: on the terminal, and as table.csv."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.sweeps.jobs import DONE, FAILED, KILLED, PRUNED, RUNNING, WAITING, Job

WIDTH = 100
NOT_RUN = "not run"
_MOST_ROWS = 60
_LONGEST_VALUE = 24
_STYLES = {DONE: "green", FAILED: "red", RUNNING: "cyan", KILLED: "yellow", PRUNED: "magenta"}


@dataclass(frozen=True)
class Row:
    """What the table says of one job.

    Attributes:
        number: its place in the sweep, from 1; of a search its trial, from 0.
        task: the name of its task.
        varying: the keys along which jobs differ, and its values.
        state: how it stands, in a word.
        results: of a completed one; see `jobs.results_of`.
        error: why it failed.
        folder: its run's.
    """

    number: int
    task: str
    varying: Mapping[str, str]
    state: str
    results: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    folder: str | None = None

    @classmethod
    def of(cls, job: Job) -> Row:
        """The row of a job."""
        return cls(
            job.number,
            job.config.task.name,
            job.varying,
            NOT_RUN if job.state == WAITING else job.state,
            job.results,
            job.error,
            str(job.folder) if job.folder else None,
        )


def csv_text(rows: Sequence[Row]) -> str:
    """The whole table as table.csv has it, with full precision."""
    keys = _keys(rows)
    columns = ("state", "monitor", "best", "metric", "test", "seconds", "error", "folder")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", *keys, *columns])
    for row in rows:
        known = {**row.results, "state": row.state, "error": row.error, "folder": row.folder}
        cells = [row.varying.get(key) for key in keys] + [known.get(name) for name in columns]
        writer.writerow([row.number, *("" if cell is None else cell for cell in cells)])
    return text.getvalue()


def print_table(
    rows: Sequence[Row], best: Sequence[int], rest: Path | None = None, file: Any = None
) -> None:
    """Print the table, at most `WIDTH` columns wide, without jobs that were not run.

    Args:
        rows: of all jobs, in the order to show them.
        best: numbers of the rows that stand out.
        rest: the file with the rows that are too many to be shown; None shows all.
        file: where to; standard output by default.
    """
    console = Console(file=file or sys.stdout, highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    begun = [row for row in rows if row.state != NOT_RUN]
    shown = _most_of(begun, best) if rest else begun
    if shown:
        console.print(_table(shown, _keys(rows), set(best)))
    if len(begun) > len(shown):
        console.print(f"{len(begun) - len(shown)} more rows: {rest}", soft_wrap=True)


def result_words(results: Mapping[str, Any]) -> str:
    """What came out of a job, in a line."""
    words = []
    if results.get("best") is not None:
        words.append(f"{results['monitor']} {_number(results['best'])}")
    if results.get("test") is not None:
        words.append(f"test {results['metric']} {_number(results['test'])}")
    if results.get("seconds") is not None:
        words.append(f"{results['seconds']:.1f} s")
    return ", ".join(words)


def _most_of(rows: Sequence[Row], best: Sequence[int]) -> list[Row]:
    """The first rows, and those that stand out."""
    return [row for place, row in enumerate(rows) if place < _MOST_ROWS or row.number in best]


def _table(rows: Sequence[Row], keys: Sequence[str], best: set[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    for key in _short(keys):
        table.add_column(key, overflow="ellipsis", no_wrap=True)
    table.add_column("state", no_wrap=True)
    monitor, metric = _only(rows, "monitor"), _only(rows, "metric")
    table.add_column(f"best {monitor or ''}".strip(), justify="right", no_wrap=True)
    table.add_column(f"test {metric or ''}".strip(), justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for row in rows:
        cells = [_cut(row.varying.get(key, "")) for key in keys]
        table.add_row(
            str(row.number),
            *cells,
            Text(row.state, style=_STYLES.get(row.state, "")),
            _named(row.results, "best", None if monitor else "monitor"),
            _named(row.results, "test", None if metric else "metric"),
            _number(row.results.get("seconds"), ".1f"),
            style="bold" if row.number in best else "",
        )
    return table


def _keys(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row.varying))


def _short(keys: Sequence[str]) -> list[str]:
    """The last word of each key, where that tells them apart."""
    words = [key.rpartition(".")[2] for key in keys]
    return [word if words.count(word) == 1 else key for key, word in zip(keys, words, strict=True)]


def _only(rows: Sequence[Row], name: str) -> str | None:
    """The name that all rows share; None where they differ."""
    names = {row.results[name] for row in rows if row.results.get(name)}
    return names.pop() if len(names) == 1 else None


def _named(results: Mapping[str, Any], value: str, name: str | None) -> str:
    number = _number(results.get(value))
    return f"{results[name]} {number}" if name and results.get(name) else number


def _number(value: float | None, form: str = ".4g") -> str:
    return "-" if value is None else f"{value:{form}}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
