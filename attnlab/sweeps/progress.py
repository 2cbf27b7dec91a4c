"""What a sweep shows while it goes: a line for each job that ends, and how far it is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import IO, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from attnlab.sweeps.jobs import DONE, FAILED, KILLED, PRUNED, RUNNING, Job
from attnlab.sweeps.sweep_folder import SweepFolder
from attnlab.sweeps.table import result_words

_SECONDS_BETWEEN_LOOKS = 0.2
_ENDED = (DONE, FAILED, KILLED, PRUNED)
_MOST_RUNNING = 8


class Progress:
    """Follows the records of jobs in a thread of its own, whatever process runs them.

    On a terminal there is a bar below the lines. All goes to standard error.

    Args:
        folder: the sweep's.
        total: how many jobs the sweep has.
        before: how many of them need not run.
    """

    def __init__(self, folder: SweepFolder, total: int, before: int):
        self._folder, self._total, self._before = folder, total, before
        self._jobs: dict[str, Job] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, int] = {}
        self._ended: dict[str, str] = {}
        self._started = self._last = time.monotonic()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

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
        self._look()
        if self._console.is_terminal:
            self._live.stop()
        if self._stream is not sys.stderr:
            self._stream.close()

    def follow(self, jobs: Iterable[Job]) -> None:
        """Follow these jobs, too; their records lie in the folder."""
        with self._lock:
            self._jobs |= {job.key: job for job in jobs}

    def say(self, text: str) -> None:
        """Show a line."""
        self._console.print(f"attnlab: {text}", soft_wrap=True, markup=False)

    def _follow(self) -> None:
        while not self._stop.wait(_SECONDS_BETWEEN_LOOKS):
            self._look()

    def _look(self) -> None:
        """Read the records that have changed, and say what ended."""
        with self._lock:
            for key, job in self._jobs.items():
                if key in self._ended or not self._has_changed(key):
                    continue
                record = self._records[key] = self._folder.record(key)
                if record.get("state") in _ENDED:
                    self._ended[key] = record["state"]
                    self._last = time.monotonic()
                    self.say(self._line(job, record))

    def _has_changed(self, key: str) -> bool:
        try:
            changed = os.stat(self._folder.record_path(key)).st_mtime_ns
        except OSError:
            return False
        before, self._seen[key] = self._seen.get(key), changed
        return changed != before

    def _line(self, job: Job, record: Mapping[str, Any]) -> str:
        count = f"{self._done}/{self._total}"
        state, error = record["state"], record.get("error")
        if state == DONE:
            return f"{count}  {job.label}: {result_words(record.get('results', {}))}"
        log = f" Log: {record['folder']}/run.log" if record.get("folder") else ""
        if state == FAILED:
            return f"{count}  {job.label}: failed: {_ended(error)}{log}"
        return f"{count}  {job.label}: {error or state}"

    @property
    def _done(self) -> int:
        """How many jobs came to an end; one that was interrupted did not."""
        return self._before + sum(state != KILLED for state in self._ended.values())

    def _picture(self) -> Group:
        running = [key for key, r in self._records.items() if r.get("state") == RUNNING]
        done = self._done
        failed = sum(state == FAILED for state in self._ended.values())
        words = [f"{done}/{self._total} done", f"{len(running)} running", f"{failed} failed"]
        if left := self._left():
            words.append(f"{left} left")
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._total or 1, completed=done, width=20)
        line.add_row(self._folder.name, bar, ", ".join(words))
        return Group(line, *(self._running_line(key) for key in running[:_MOST_RUNNING]))

    def _running_line(self, key: str) -> str:
        job, epoch = self._jobs[key], self._records[key].get("epoch") or 0
        how_far = f"epoch {epoch}/{job.config.trainer.epochs}" if epoch else "starting"
        return f"  {job.label}: {how_far}"

    def _left(self) -> str:
        """Time left, by the jobs that ended; empty before the first has."""
        if not self._ended:
            return ""
        rate = (self._last - self._started) / len(self._ended)
        remaining = self._total - self._before - len(self._ended)
        return duration(max(0.0, rate * remaining - (time.monotonic() - self._last)))


def duration(seconds: float) -> str:
    """A time in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return (
        f"{minutes} min" if minutes >= 10 else f"{minutes} min {rest} s" if minutes else f"{rest} s"
    )


def _ended(text: str | None) -> str:
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
