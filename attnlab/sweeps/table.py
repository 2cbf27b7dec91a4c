"""The table of a sweep: on the terminal, and as table.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.index import COMPLETED, FAILED, KILLED, PRUNED, RUNNING
from attnlab.sweeps.plan import Point
from attnlab.terminal.console import plain_console, plain_table

NOT_RUN = "not run"
_MOST_ROWS = 60
_LONGEST_VALUE = 24
_STYLES = {COMPLETED: "green", FAILED: "red", RUNNING: "cyan", KILLED: "yellow", PRUNED: "magenta"}


@dataclass(frozen=True)
class TableRow:
    """What the table says of one run."""

    number: int  # its place in the sweep, from 1; of a search its trial, from 0
    task: str  # the name of its task
    varying: Mapping[str, str]  # the keys along which runs differ, and its values
    label: str = ""  # the run in a few words
    state: str = NOT_RUN  # how it stands, in a word
    # of a completed one; see `read_results`
    results: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None  # why it failed
    path: Path | None = None  # its folder
    epoch: int = 0  # how many epochs it has
    epochs: int = 0  # how many it is to have

    @classmethod
    def of(cls, point: Point) -> TableRow:
        """The row of what was not run yet."""
        config = point.config
        label = words(point.varying) or f"{config.task.name} / {config.attention.name}"
        epochs = config.trainer.epochs
        return cls(point.number, config.task.name, point.varying, label, epochs=epochs)


def words(varying: Mapping[str, str]) -> str:
    """Keys and values as on a command line."""
    return " ".join(f"{key}={value}" for key, value in varying.items())


def csv_text(rows: Sequence[TableRow]) -> str:
    """The whole table as table.csv has it, with full precision."""
    keys = _keys(rows)
    columns = ("state", "monitor", "best", "metric", "test", "seconds", "error", "folder")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", *keys, *columns])
    for row in rows:
        known = {**row.results, "state": row.state, "error": row.error, "folder": row.path}
        cells = [row.varying.get(key) for key in keys] + [known.get(name) for name in columns]
        writer.writerow([row.number, *cells])
    return text.getvalue()


def print_table(
    rows: Sequence[TableRow], best: Sequence[int], rest: Path | None = None, file: Any = None
) -> None:
    """Print what was begun; rows that are too many stand in the file `rest`, where one is given."""
    console = plain_console(file)
    begun = [row for row in rows if row.state != NOT_RUN]
    shown = begun
    if rest:  # the first ones, and those that stand out
        shown = [r for place, r in enumerate(begun) if place < _MOST_ROWS or r.number in best]
    if shown:
        console.print(_table(shown, _keys(rows), set(best)))
    if len(begun) > len(shown):
        console.print(f"{len(begun) - len(shown)} more rows: {rest}", soft_wrap=True)


def read_results(folder: Path) -> dict[str, Any]:
    """What a table says of a completed run; empty where metrics.json is damaged."""
    try:
        metrics = RunDirectory(folder).read_metrics()
    except RequestError:
        return {}
    metric = metrics.get("metric")
    return {
        "monitor": metrics.get("monitor"),
        "best": metrics.get("best_value"),
        "metric": metric,
        "test": metrics.get("test", {}).get(metric),
        "seconds": metrics.get("seconds"),
    }


def result_words(results: Mapping[str, Any]) -> str:
    """What came out of a run, in a line."""
    words = []
    if results.get("best") is not None:
        words.append(f"{results['monitor']} {_number(results['best'])}")
    if results.get("test") is not None:
        words.append(f"test {results['metric']} {_number(results['test'])}")
    if results.get("seconds") is not None:
        words.append(f"{results['seconds']:.1f} s")
    return ", ".join(words)


def _table(rows: Sequence[TableRow], keys: Sequence[str], best: set[int]) -> Table:
    monitor, metric = _only(rows, "monitor"), _only(rows, "metric")
    results = [f"best {monitor or ''}".strip(), f"test {metric or ''}".strip(), "seconds"]
    words = [*_short(keys), "state"]
    table = plain_table(["#", *words, *results], words)
    table.show_edge = True
    for column in table.columns[1 : len(words)]:
        column.overflow = "ellipsis"
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


def _keys(rows: Sequence[TableRow]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row.varying))


def _short(keys: Sequence[str]) -> list[str]:
    """The last word of each key, where that tells them apart."""
    words = [key.rpartition(".")[2] for key in keys]
    return [word if words.count(word) == 1 else key for key, word in zip(keys, words, strict=True)]


def _only(rows: Sequence[TableRow], name: str) -> str | None:
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
