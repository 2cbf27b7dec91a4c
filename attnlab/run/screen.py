"""What a run shows on standard error while it goes."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from attnlab.records import logs
from attnlab.terminal.console import plain_console

log = logging.getLogger("attnlab")
# Seconds between two lines about epochs, and about other long work, where no bars are drawn.
_EPOCHS_EVERY, _REPORT_EVERY = 1.0, 15.0
_COMPILING = "tracing and compiling"


class Screen:
    """Says what is being done and how far it is.

    A terminal has a line with a bar for each thing, and they stay there. Elsewhere, and with `-v`,
    lines of text tell what comes from the training on, and of the newest epoch, once a second at
    most; run.log has every epoch. If `quiet`, they tell only of what takes long.
    """

    def __init__(self, progress: Progress, quiet: bool) -> None:
        self._progress, self._quiet = progress, quiet
        self._entries: dict[str, TaskID] = {}
        self._printed, self._newest_printed = time.monotonic(), -math.inf  # when; of an epoch
        self._newest = self._text = ""  # epoch that is not printed yet; text next to its bar
        self._epochs = self._done = 0
        self._shown: Sequence[str] = ()

    def working(self, done: int, total: int | None, what: str) -> None:
        """Say what is done now, and how far it is; see `tasks.declaration.Progress`."""
        far = f"{done / total:.0%}" if total else f"{done:,}" if done else ""
        if what not in self._entries:
            self._begin(what, total)
        elif not (self._quiet and self._epochs) and self._is_due(_REPORT_EVERY):
            self._print(f"{what}: {far}")
        self._progress.update(self._entries[what], completed=done, total=total, text=far)

    def say(self, lines: Sequence[str]) -> None:
        """Show lines that stay, above the bars; run.log has them, too."""
        for line in lines:
            log.info(line)  # which `-v` shows
            if not self._quiet and logs.verbosity == 0:
                self._progress.console.print(f"attnlab: {line}", soft_wrap=True, markup=False)

    def training(self, epochs: int, done: int, shown: Sequence[str]) -> None:
        """Begin the epochs, of which some may be done; `shown` are columns of the history."""
        self._epochs, self._done, self._shown = epochs, done, shown
        self._begin(_COMPILING, epochs)
        self.within(0.0, _COMPILING)

    def within(self, share: float, text: str | None = None) -> None:
        """Show what share of the epoch under way is done, with a text next to it."""
        self._text = self._text.replace(_COMPILING, "") if text is None else text
        entry, name = self._entries[_COMPILING], f"epoch {self._done}/{self._epochs}"
        done = self._done + share
        self._progress.update(entry, completed=done, description=name, text=self._text)

    def advance(self, row: Mapping[str, float]) -> None:
        """Move on by one epoch, given its row of the history."""
        known = {name: row[name] for name in self._shown if not math.isnan(row.get(name, math.nan))}
        results = [f"{name.replace('_loss', '')} {value:.3g}" for name, value in known.items()]
        self._done += 1
        self.within(0.0, " ".join(results).replace("val_", ""))
        line = f"epoch {self._done}/{self._epochs}: {', '.join(results).replace('_', ' ')}"
        self._newest = f"{line}, {row['seconds']:.2g} s"
        log.info(self._newest)
        if time.monotonic() - self._newest_printed >= _EPOCHS_EVERY:
            self._print_newest()

    def end(self) -> None:
        """Say that what was begun last is over; of the epochs some may be left."""
        self._print_newest()
        for entry in self._progress.tasks[-1:]:
            if entry.id != self._entries.get(_COMPILING):
                total = entry.total or 1
                self._progress.update(entry.id, completed=total, total=total, text="")

    def _begin(self, what: str, total: int | None) -> None:
        self.end()
        self._entries[what] = self._progress.add_task(what, total=total, text="")
        if self._epochs and not self._quiet:
            self._print(what)

    def _print_newest(self) -> None:
        """Tell of the newest epoch; with `-v` the log is shown, which has it."""
        if self._newest and not self._quiet and logs.verbosity == 0:
            self._print(self._newest)
            self._newest, self._newest_printed = "", time.monotonic()

    def _is_due(self, seconds: float) -> bool:
        return time.monotonic() - self._printed >= seconds

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        if self._progress.disable and logs.verbosity >= 0:
            with suppress(BrokenPipeError):  # nobody looks any more
                print(f"attnlab: {text}", file=sys.stderr, flush=True)


def about_losses(document: Mapping[str, Any]) -> list[str]:
    """Say why the train loss may be above the validation loss; nothing if nothing makes it so."""
    task, *others = (document.get(key) or {} for key in ("task", "model", "attention"))
    reasons = ["dropout"] * any(section.get("dropout") for section in others)
    reasons += ["label smoothing"] * bool(task.get("label_smoothing"))
    if not reasons:
        return []
    which = " and ".join(reasons)
    return [f"train is the loss with {which}, val without: train may be the larger one"]


@contextmanager
def screen(quiet: bool = False) -> Iterator[Screen]:
    """The screen of a run; `quiet` of a sweep's job, since sweeps show their own progress."""
    with logs.standard_error() as stream:
        with bars(plain_console(stream), "{task.fields[text]}", hidden=quiet) as progress:
            shown = Screen(progress, quiet)
            shown.working(0, None, "preparing")
            yield shown
            shown.end()


def bars(console: Console, text: str, hidden: bool = False) -> Progress:
    """Bars between what is done and a text, with the time that is left, on a terminal."""
    beside = TextColumn(text, table_column=Column())  # which is cut if there is little room
    left = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = TextColumn("{task.description}"), BarColumn(bar_width=10), beside, left
    hidden = hidden or logs.verbosity != 0 or not console.is_interactive
    return Progress(*columns, console=console, disable=hidden)
