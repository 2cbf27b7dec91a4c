"""What a sweep shows while it goes: a line for each run that ends, and how far it is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.progress import TaskID

from attnlab.records import logs
from attnlab.records.logs import standard_error
from attnlab.run.index import COMPLETED, FAILED, KILLED, PRUNED, RUNNING
from attnlab.run.screen import bars
from attnlab.sweeps.table import TableRow, read_results, result_words
from attnlab.terminal.console import plain_console

_SECONDS_BETWEEN_LOOKS = 0.5
_PAUSES_PER_LOOK = 20  # a large table takes a twentieth of the time at most
_ENDED = (COMPLETED, FAILED, KILLED, PRUNED)
_MOST_RUNNING = 8
log = logging.getLogger("attnlab")


class Progress:
    """Looks at the table, by `look(True)`, in a thread of its own, whatever process does the work.

    On a terminal there are bars below the lines. All goes to standard error.
    """

    def __init__(
        self, name: str, total: int, before: int, look: Callable[[bool], Sequence[TableRow]]
    ):
        self._total, self._before, self._look = total, before, look
        self._ended: dict[int, str] = {}
        self._seen = {row.number: _mark(row) for row in look(True)}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._end = ExitStack()
        # Not number 2 itself, which is turned away while TensorFlow is imported.
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
        """Show a line, with `-q` only one that is to be shown `always`."""
        if always or logs.verbosity >= 0:
            self._console.print(f"attnlab: {text}", soft_wrap=True, markup=False)

    def _follow(self) -> None:
        took = 0.0
        while not self._stop.wait(max(_SECONDS_BETWEEN_LOOKS, _PAUSES_PER_LOOK * took)):
            started = time.monotonic()
            self._take_in()
            took = time.monotonic() - started

    def _take_in(self) -> None:
        """Look at the table, and say what ended; a storage that fails costs the look only."""
        try:
            rows = self._look(True)
        except Exception as error:
            log.debug("the sweep can't be looked at: %s", error)
            return
        for row in rows:
            before, self._seen[row.number] = self._seen.get(row.number), _mark(row)
            if row.state in _ENDED and before != _mark(row):
                self._ended[row.number] = row.state
                self.say(self._line(row), always=row.state == FAILED)
        self._bars.update(self._whole, completed=self._done)
        self._show_running([row for row in rows if row.state == RUNNING][:_MOST_RUNNING])

    def _show_running(self, rows: Sequence[TableRow]) -> None:
        """A bar with its epochs for each run under way."""
        for number in self._running.keys() - {row.number for row in rows}:
            self._bars.remove_task(self._running.pop(number))
        for row in rows:
            if row.number not in self._running:
                self._running[row.number] = self._bars.add_task(
                    f"  {row.label}", total=row.epochs, unit="epochs"
                )
            self._bars.update(self._running[row.number], completed=row.epoch)

    def _line(self, row: TableRow) -> str:
        count = f"{self._done}/{self._total}"
        if row.state == COMPLETED and row.path:
            return f"{count}  {row.label}: {result_words(read_results(row.path))}"
        if row.state == FAILED:
            text = row.error or "without a word"
            end = "" if text.endswith((".", "!", "?")) else "."
            log = row.path / "run.log" if row.path else None
            where = f" Log: {log}" if log and log.is_file() else ""
            return f"{count}  {row.label}: failed: {text}{end}{where}"
        return f"{count}  {row.label}: {row.error or row.state}"

    @property
    def _done(self) -> int:
        """How many runs came to an end; one that was interrupted did not."""
        return self._before + sum(state != KILLED for state in self._ended.values())


def _mark(row: TableRow) -> tuple[str, Path | None]:
    return row.state, row.path
