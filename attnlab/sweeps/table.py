"""The table of a sweep: on the terminal, and as table.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.run_directory import RunDirectory
from attnlab.run.console import number
from attnlab.run.find_or_run import COMPLETED, FAILED, KILLED, PRUNED, RUNNING
from attnlab.terminal import in_one_format, plain_console, plain_table

NOT_RUN = "not run"
MOST_ROWS = 60
_LONGEST_VALUE = 24
_STYLES = {COMPLETED: "green", FAILED: "red", RUNNING: "cyan", KILLED: "yellow", PRUNED: "magenta"}


@dataclass(frozen=True)
class TableRow:
    """A run in the table."""

    number: int  # place in the grid, from 1; for a search the trial's number, from 0
    task: str  # name of the task
    varying: Mapping[str, str]  # its values of the keys in which runs differ
    label: str = ""  # the run in a few words
    state: str = NOT_RUN
    results: Mapping[str, Any] = field(default_factory=dict)  # if completed, by `read_results`
    error: str | None = None  # why it failed
    path: Path | None = None  # its folder
    epoch: int = 0  # trained epochs
    epochs: int = 0  # trainer.epochs


def words(varying: Mapping[str, str]) -> str:
    """Write keys and values as on a command line."""
    return " ".join(f"{key}={value}" for key, value in varying.items())


def csv_text(rows: Sequence[TableRow]) -> str:
    """Write the whole table for table.csv, with all digits."""
    keys = _keys(rows)
    columns = ("state", "monitor", "best", "metric", "test", "seconds", "error", "folder")
    lines: list[list[Any]] = [["number", *keys, *columns]]
    for row in rows:
        known = {**row.results, "state": row.state, "error": row.error, "folder": row.path}
        cells = [row.varying.get(key) for key in keys] + [known.get(name) for name in columns]
        lines.append([row.number, *cells])
    return files.csv_text(lines)


def print_table(
    rows: Sequence[TableRow], best: Sequence[int], rest: Path | None = None, file: Any = None
) -> None:
    """Print the started runs; if they are too many, refer to the file `rest` for the others."""
    console = plain_console(file)
    begun = [row for row in rows if row.state != NOT_RUN]
    shown = begun
    if rest:  # the first ones, and the best
        shown = begun[:MOST_ROWS] + [row for row in begun[MOST_ROWS:] if row.number in best]
    if shown:
        console.print(_table(shown, _keys(rows), set(best)))
    if len(begun) > len(shown):
        console.print(f"{len(begun) - len(shown)} more rows: {rest}", soft_wrap=True)


def read_results(folder: Path) -> dict[str, Any]:
    """Read the results of a completed run; empty if metrics.json is damaged."""
    try:
        metrics = RunDirectory(folder).read_metrics()
    except RequestError:
        return {}
    results = {name: metrics.get(name) for name in ("monitor", "metric", "seconds")}
    test = metrics.get("test", {}).get(results["metric"])
    return {**results, "best": metrics.get("best_value"), "test": test}


def result_words(results: Mapping[str, Any]) -> str:
    """Write the results of a run in one line."""
    words = []
    if results.get("best") is not None:
        words.append(f"{results['monitor']} {number(results['best'])}")
    if results.get("test") is not None:
        words.append(f"test {results['metric']} {number(results['test'])}")
    if results.get("seconds") is not None:
        words.append(f"{results['seconds']:.1f} s")
    return ", ".join(words)


def _table(rows: Sequence[TableRow], keys: Sequence[str], best: set[int]) -> Table:
    monitor, metric = _only(rows, "monitor"), _only(rows, "metric")
    results = [f"best {monitor or ''}".strip(), f"test {metric or ''}".strip(), "seconds"]
    ends = [key.rpartition(".")[2] for key in keys]  # used as names if they are unique
    short = [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]
    words = [*short, "state"]
    table = plain_table(["#", *words, *results], words)
    table.show_edge = True
    for column in table.columns[1 : len(words)]:
        column.overflow = "ellipsis"
    best_values = _column(rows, "best", "monitor", is_named=monitor is None)
    test_values = _column(rows, "test", "metric", is_named=metric is None)
    for row, best_value, test_value in zip(rows, best_values, test_values, strict=True):
        values = [row.varying.get(key, "") for key in keys]
        cuts = [v if len(v) <= _LONGEST_VALUE else f"{v[: _LONGEST_VALUE - 1]}…" for v in values]
        table.add_row(
            str(row.number),
            *cuts,
            Text(row.state, style=_STYLES.get(row.state, "")),
            best_value,
            test_value,
            number(row.results.get("seconds"), ".1f"),
            style="bold" if row.number in best else "",
        )
    return table


def _keys(rows: Sequence[TableRow]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row.varying))


def _only(rows: Sequence[TableRow], name: str) -> str | None:
    """Return the name that all rows share; None if they differ."""
    names = {row.results[name] for row in rows if row.results.get(name)}
    return names.pop() if len(names) == 1 else None


def _column(rows: Sequence[TableRow], value: str, name: str, is_named: bool) -> list[str]:
    """Return a cell per run: its result in the format of its task; `is_named` adds the name."""
    results = [row.results for row in rows]
    of_task = [(row.task, row.results.get(name)) for row in rows]
    cells = in_one_format([each.get(value) for each in results], of_task)
    if not is_named:
        return cells
    pairs = zip(results, cells, strict=True)
    return [f"{each[name]} {cell}" if each.get(name) else cell for each, cell in pairs]
