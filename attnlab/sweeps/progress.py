"""The progress of a sweep: a line for each run that ends, and progress bars."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich.progress import TaskID

from attnlab.errors import RequestError
from attnlab.records import logs
from attnlab.records.logs import standard_error
from attnlab.records.run_directory import RunDirectory
from attnlab.run.console import bars, number
from attnlab.run.find_or_run import COMPLETED, FAILED, KILLED, PRUNED, RUNNING
from attnlab.sweeps.table import TableRow, read_results, result_words
from attnlab.tasks.kinds import kind_of
from attnlab.terminal import plain_console

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_LINES = 30.0  # about unfinished runs, if no bars are drawn
# While many jobs are checked: seconds before the first line, between lines, and how many are many.
_SECONDS_BEFORE_CHECKS, _SECONDS_BETWEEN_CHECKS, _MANY_CHECKS = 1.0, 5.0, 100
_PAUSES_PER_LOOK = 20  # reading a large table takes at most a twentieth of the time
_ENDED = (COMPLETED, FAILED, KILLED, PRUNED)
# If more runs than this are unfinished, one bar with this key stands for all.
_MOST_BARS, _ALL = 8, -1
log = logging.getLogger("attnlab")


class Progress:
    """Shows progress by reading the table with `look(True)` in a thread; any process may work.

    On a terminal there are bars below the lines; otherwise a line every 30 s reports unfinished
    runs. Everything goes to standard error.
    """

    def __init__(
        self, name: str, total: int, before: int, look: Callable[[bool], Sequence[TableRow]]
    ):
        self._total, self._before, self._look = total, before, look
        self._ended: dict[int, str] = {}
        self._seen = {row.number: _mark(row) for row in look(True)}
        self._said = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._end = ExitStack()
        # A copy of file descriptor 2, which is redirected while TensorFlow is imported.
        self._console = plain_console(self._end.enter_context(standard_error()))
        self._bars = bars(self._console, "{task.completed}/{task.total} {task.fields[unit]}")
        self._whole = self._bars.add_task(name, total=total, completed=before, unit="done")
        self._running: dict[int, TaskID] = {}

    def __enter__(self) -> Progress:
        self._bars.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._take_in()
        self._bars.stop()
        self._end.close()

    def say(self, text: str, always: bool = False) -> None:
        """Print a line; with -q only if `always`."""
        self._said = time.monotonic()
        if always or logs.verbosity >= 0:
            self._console.print(f"attnlab: {text}", soft_wrap=True, markup=False)

    def _follow(self) -> None:
        took = 0.0
        while not self._stop.wait(max(_SECONDS_BETWEEN_LOOKS, _PAUSES_PER_LOOK * took)):
            started = time.monotonic()
            self._take_in()
            took = time.monotonic() - started

    def _take_in(self) -> None:
        """Read the table, and print what ended; if the storage fails, skip this time."""
        try:
            rows = self._look(True)
        except Exception as error:
            log.debug("the sweep's table can't be read: %s", error)
            return
        for row in rows:
            before, self._seen[row.number] = self._seen.get(row.number), _mark(row)
            if row.state in _ENDED and before != _mark(row):
                self._ended[row.number] = row.state
                self.say(self._line(row), always=row.state == FAILED)
        self._bars.update(self._whole, completed=self._done)
        running = [row for row in rows if row.state == RUNNING]
        if not self._bars.disable:
            self._show_running(running)
        elif running and time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            under_way = _UnderWay.of(running)
            self.say(f"{under_way.label}: {under_way.done}/{under_way.total} {under_way.unit}")

    def _show_running(self, rows: Sequence[TableRow]) -> None:
        """Draw the bars of unfinished runs: their epochs and their monitored values."""
        groups = {row.number: [row] for row in rows}
        if len(rows) > _MOST_BARS:
            groups = {_ALL: list(rows)}
        for key in self._running.keys() - groups.keys():
            self._bars.remove_task(self._running.pop(key))
        for key, group in groups.items():
            now = _UnderWay.of(group)
            if key not in self._running:
                self._running[key] = self._bars.add_task("", total=now.total, unit="")
            self._bars.update(
                self._running[key],
                description=f"  {now.label}",
                total=now.total,
                completed=now.done,
                unit=now.unit,
            )

    def _line(self, row: TableRow) -> str:
        count = f"{self._done}/{self._total}"
        if row.state == COMPLETED and row.path:
            return f"{count}  {row.label}: {result_words(read_results(row.path))}"
        if row.state == FAILED:
            return f"{count}  {failure(row)}"
        return f"{count}  {row.label}: {row.error or row.state}"

    @property
    def _done(self) -> int:
        """Return the number of runs that ended; an interrupted run doesn't count."""
        return self._before + sum(state != KILLED for state in self._ended.values())


@contextmanager
def checking(total: int) -> Iterator[Callable[[int], None]]:
    """Show how many jobs of a sweep are checked, if they are many and it takes over a second.

    Yields a function to call with the number of checked jobs.
    """
    with ExitStack() as end:
        console = plain_console(end.enter_context(standard_error()))
        progress = bars(console, "{task.completed}/{task.total}")
        entry: list[TaskID] = []  # the bar, once it is shown
        due = time.monotonic() + _SECONDS_BEFORE_CHECKS

        def checked(done: int) -> None:
            nonlocal due
            if entry:
                progress.update(entry[0], completed=done)
            if total < _MANY_CHECKS or time.monotonic() < due or logs.verbosity < 0:
                return
            due = time.monotonic() + _SECONDS_BETWEEN_CHECKS
            if progress.disable:
                console.print(f"attnlab: checked {done:,} of {total:,} jobs", soft_wrap=True)
            elif not entry:
                end.enter_context(progress)
                entry.append(progress.add_task("checking jobs", total=total, completed=done))

        yield checked


@dataclass(frozen=True)
class _UnderWay:
    """The progress of unfinished runs."""

    label: str
    done: int
    total: int
    unit: str  # the word `epochs`, with monitored values

    @classmethod
    def of(cls, rows: Sequence[TableRow]) -> _UnderWay:
        label = rows[0].label if len(rows) == 1 else f"{len(rows)} running"
        done, total = sum(row.epoch for row in rows), sum(row.epochs for row in rows)
        return cls(label, done, total, f"epochs{_spread(rows)}")


def failure(row: TableRow) -> str:
    """Describe which run failed, why, and where its log is."""
    text = row.error or "no error message"
    end = "" if text.endswith((".", "!", "?")) else "."
    log = row.path / "run.log" if row.path else None
    where = f" Log: {log}" if log and log.is_file() else ""
    return f"{row.label}: failed: {text}{end}{where}"


def _spread(rows: Sequence[TableRow]) -> str:
    """Return the range of the runs' monitored values in their last epochs."""
    column, values = kind_of(rows[0].task).scoring.monitored, []
    if len({row.task for row in rows}) > 1:  # values of different tasks have no common scale
        return ""
    for row in rows:
        with suppress(RequestError):
            history = RunDirectory(row.path).history.read() if row.path else {}
            values += history.get(column, [])[-1:]
    values = [value for value in values if math.isfinite(value)]
    ends = [number(end(values)) for end in (min, max) if values]
    return f", {column} {' to '.join(dict.fromkeys(ends))}" if ends else ""


def _mark(row: TableRow) -> tuple[str, Path | None]:
    return row.state, row.path
