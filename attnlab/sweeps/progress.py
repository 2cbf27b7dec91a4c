"""What a sweep shows while it goes: a line for each run that ends, and how far it is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from attnlab.run.index import COMPLETED, FAILED, KILLED, RUNNING
from attnlab.sweeps.table import TableRow, read_results, result_words
from attnlab.sweeps.worker import PRUNED

_SECONDS_BETWEEN_LOOKS = 0.5
_ENDED = (COMPLETED, FAILED, KILLED, PRUNED)
_MOST_RUNNING = 8


class Progress:
    """Looks at the table in a thread of its own, whatever process does the work.

    On a terminal there is a bar below the lines. All goes to standard error.

    Args:
        name: the sweep's.
        total: how many runs the sweep has.
        before: how many of them need not run.
        look: called with True returns the table as it is noted.
    """

    def __init__(
        self, name: str, total: int, before: int, look: Callable[[bool], Sequence[TableRow]]
    ):
        self._name, self._total, self._before, self._look = name, total, before, look
        self._ended: dict[int, str] = {}
        self._running: list[TableRow] = []
        self._started = self._last = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._seen = {row.number: _mark(row) for row in look(True)}

    def __enter__(self) -> Progress:
        self._stream = _terminal_of_its_own()
        self._console = Console(file=self._stream, highlight=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._picture,
            refresh_per_second=4,
            transient=True,
        )
        if self._console.is_terminal:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._take_in()
        if self._console.is_terminal:
            self._live.stop()
        if self._stream is not sys.stderr:
            self._stream.close()

    def say(self, text: str) -> None:
        """Show a line."""
        self._console.print(f"attnlab: {text}", soft_wrap=True, markup=False)

    def _follow(self) -> None:
        while not self._stop.wait(_SECONDS_BETWEEN_LOOKS):
            self._take_in()

    def _take_in(self) -> None:
        """Look at the table, and say what ended."""
        rows = self._look(True)
        self._running = [row for row in rows if row.state == RUNNING]
        for row in rows:
            before, self._seen[row.number] = self._seen.get(row.number), _mark(row)
            if row.state in _ENDED and before != _mark(row):
                self._ended[row.number] = row.state
                self._last = time.monotonic()
                self.say(self._line(row))

    def _line(self, row: TableRow) -> str:
        count = f"{self._done}/{self._total}"
        if row.state == COMPLETED and row.path:
            return f"{count}  {row.label}: {result_words(read_results(row.path))}"
        if row.state == FAILED:
            log = row.path / "run.log" if row.path else None
            where = f" Log: {log}" if log and log.is_file() else ""
            return f"{count}  {row.label}: failed: {_sentence(row.error)}{where}"
        return f"{count}  {row.label}: {row.error or row.state}"

    @property
    def _done(self) -> int:
        """How many runs came to an end; one that was interrupted did not."""
        return self._before + sum(state != KILLED for state in self._ended.values())

    def _picture(self) -> Group:
        done = self._done
        failed = sum(state == FAILED for state in self._ended.values())
        words = [f"{done}/{self._total} done", f"{len(self._running)} running", f"{failed} failed"]
        if left := self._left():
            words.append(f"{left} left")
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._total or 1, completed=done, width=20)
        line.add_row(self._name, bar, ", ".join(words))
        return Group(line, *map(_running_line, self._running[:_MOST_RUNNING]))

    def _left(self) -> str:
        """Time left, by the runs that ended; empty before the first has."""
        if not self._ended:
            return ""
        rate = (self._last - self._started) / len(self._ended)
        remaining = self._total - self._before - len(self._ended)
        return duration(max(0.0, rate * remaining - (time.monotonic() - self._last)))


def _mark(row: TableRow) -> tuple[str, Path | None]:
    return row.state, row.path


def _running_line(row: TableRow) -> str:
    return f"  {row.label}: " + (f"epoch {row.epoch}/{row.epochs}" if row.epoch else "starting")


def duration(seconds: float) -> str:
    """A time in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return (
        f"{minutes} min" if minutes >= 10 else f"{minutes} min {rest} s" if minutes else f"{rest} s"
    )


def _sentence(text: str | None) -> str:
    text = text or "without a word"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _terminal_of_its_own() -> IO[str]:
    """Standard error, but for its number: importing TensorFlow turns number 2 away for a while."""
    try:
        if sys.stderr.fileno() == 2:
            return os.fdopen(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding)
    except (OSError, ValueError, AttributeError):
        pass  # captured, as in a notebook
    return sys.stderr
