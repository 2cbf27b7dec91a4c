"""The table of a sweep, read from the folders of its runs: on the terminal, and as table.csv."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from attnlab.errors import RequestError
from attnlab.records import files, logs
from attnlab.records.logs import standard_error
from attnlab.records.run_directory import ListedRun
from attnlab.runner.console import bars
from attnlab.runner.resume import COMPLETED, FAILED, KILLED, PRUNED, RUNNING
from attnlab.sweeps.grid import Job, words_of
from attnlab.terminal import in_one_format, plain_console, plain_table

NOT_RUN = "not run"
MOST_ROWS = 60
_LONGEST_VALUE = 24
_SECONDS_BETWEEN_LINES = 10.0  # of epochs
_STYLES = {COMPLETED: "green", FAILED: "red", RUNNING: "cyan", KILLED: "yellow", PRUNED: "magenta"}


@dataclass(frozen=True)
class TableRow:
    """A job in the table."""

    number: int  # of a point of a grid from 1, of a trial from 0
    task: str  # name of the task
    state: str = NOT_RUN
    varying: Mapping[str, str] = field(default_factory=dict)  # its values of the varying keys
    results: Mapping[str, Any] = field(default_factory=dict)  # of a completed run
    error: str | None = None  # why it failed or was pruned
    path: Path | None = None  # its run's folder

    @property
    def outcome(self) -> str:
        """Return what came of the job, in one line."""
        job = words_of(self.varying) or self.task
        if self.state == COMPLETED:
            parts = [
                f"{name} {value:.4g}"
                for name, value in (
                    (self.results.get("monitor"), self.results.get("best")),
                    (f"test {self.results.get('metric')}", self.results.get("test")),
                )
                if value is not None
            ]
            return f"{job}: {', '.join(parts)}"
        if self.state != FAILED:
            return f"{job}: {self.error or self.state}"
        log = self.path / "run.log" if self.path else None
        where = f" Log: {log}" if log and log.is_file() else ""
        return f"{job}: failed: {str(self.error).rstrip('.')}.{where}"


def row_of(job: Job, run: ListedRun | None) -> TableRow:
    """Return the row of a job, given its run; None: it has none."""
    row = TableRow(job.number, job.config.task.name, varying=job.varying)
    if run is None:
        return row
    state, error, results = run.state, run.status.get("error"), {}
    if state == KILLED:
        state, error = (PRUNED, error) if run.status.get("pruned") else (KILLED, None)
    for prefix in ("RunFailed: ", "RequestError: ", "pruned: "):
        error = str(error).removeprefix(prefix) if error else None
    if state == COMPLETED:
        with suppress(RequestError):  # metrics.json is damaged
            metrics = run.run.read_metrics()
            test = metrics.get("test", {}).get(metrics.get("metric"))
            results = {name: metrics.get(name) for name in ("monitor", "metric", "seconds")}
            results |= {"best": metrics.get("best_value"), "test": test}
    return replace(row, state=state, error=error, results=results, path=run.path)


class Progress:
    """A line for each job that ends, and on a terminal a bar; both on standard error."""

    def __init__(self, name: str, total: int, done: int):
        self._total, self._done, self._end = total, done, ExitStack()
        self._epoch, self._printed = 0, 0.0  # when an epoch was printed
        # A copy of file descriptor 2, which is redirected while TensorFlow is imported.
        self._console = plain_console(self._end.enter_context(standard_error()))
        self._bars = bars(self._console, "{task.completed}/{task.total} {task.fields[epoch]}")
        self._bar = self._bars.add_task(name, total=total, completed=done, epoch="")

    def __enter__(self) -> Progress:
        self._end.enter_context(self._bars)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def say(self, text: str, always: bool = False) -> None:
        """Print a line; with -q only if `always`."""
        if always or logs.verbosity >= 0:
            self._console.print(f"attnlab: {text}", soft_wrap=True, markup=False)

    def ended(self, row: TableRow) -> None:
        """Report that a job has ended."""
        self._done, self._epoch = self._done + (row.state in (COMPLETED, FAILED, PRUNED)), 0
        self.say(f"{self._done}/{self._total}  {row.outcome}", always=row.state == FAILED)
        self._bars.update(self._bar, completed=self._done, epoch="")

    def on_epoch(self, row: Mapping[str, float]) -> None:
        """Show the newest epoch of the runs that train together; without a terminal in lines."""
        self._epoch = max(self._epoch, int(row["epoch"]))
        self._bars.update(self._bar, epoch=f"(epoch {self._epoch})")
        now = time.monotonic()
        if self._bars.disable and now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            self.say(f"{self._done}/{self._total}  epoch {self._epoch}")


def csv_text(rows: Sequence[TableRow]) -> str:
    """Write the whole table for table.csv, with all digits."""
    keys = _keys(rows)
    columns = ("state", "monitor", "best", "metric", "test", "seconds", "error", "folder")
    lines: list[list[Any]] = [["number", *keys, *columns]]
    for row in rows:
        entries = {**row.results, "state": row.state, "error": row.error, "folder": row.path}
        cells = [row.varying.get(key) for key in keys] + [entries.get(name) for name in columns]
        lines.append([row.number, *cells])
    return files.csv_text(lines)


def print_table(rows: Sequence[TableRow], best: Sequence[int], whole: Path | None = None) -> None:
    """Print rows; if they are too many, the first, best and killed ones, and the file of all."""
    later = [row for row in rows[MOST_ROWS:] if row.number in best or row.state == KILLED]
    shown = [*rows[:MOST_ROWS], *later]
    keys, console = _keys(rows), plain_console()
    ends = [key.rpartition(".")[2] for key in keys]  # used as names if they are unique
    words = [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]
    words.append("state")
    titles, cells = [], []
    for value, name in (("best", "monitor"), ("test", "metric")):  # and what it measures
        names = [(row.task, row.results.get(name)) for row in shown]
        what = " or ".join(sorted({str(name) for _, name in names if name}))
        titles.append(f"{value} {what}".strip())
        cells.append(in_one_format([row.results.get(value) for row in shown], names))
    cells.append(in_one_format([row.results.get("seconds") for row in shown], digits=2))
    table = plain_table(["#", *words, *titles, "seconds"], words)
    table.show_edge = True
    for column in table.columns[1 : len(words)]:
        column.overflow, column.max_width = "ellipsis", _LONGEST_VALUE
    for row, *numbers in zip(shown, *cells, strict=True):
        table.add_row(
            str(row.number),
            *(row.varying.get(key, "") for key in keys),
            Text(row.state, style=_STYLES.get(row.state, "")),
            *numbers,
            style="bold" if row.number in best else "",
        )
    if shown:
        console.print(table)
    if len(rows) > len(shown):
        where = f": {whole}" if whole else ""
        console.print(f"{len(rows) - len(shown):,} more rows{where}", soft_wrap=True)


def _keys(rows: Sequence[TableRow]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row.varying))
