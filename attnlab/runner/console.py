"""What a run shows: its progress on standard error, its result on standard output."""

from __future__ import annotations

import logging
import math
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from attnlab.config.options import in_prose, user_folders
from attnlab.records import logs
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.kinds import kind_of
from attnlab.terminal import in_one_format, percent, plain_console, plain_table, width

log = logging.getLogger("attnlab")
_COMPILING = "tracing and compiling"


def print_result(metrics: Mapping[str, Any], folder: Path, file: Any = None) -> None:
    """Print the test result next to its baselines, the notes and the folder.

    With `-q` print only the folder, for scripts.
    """
    if logs.verbosity < 0:
        print(folder)
        return
    console = plain_console(file)
    print_table(metrics, "test", file)
    metric, kind = metrics["metric"], kind_of(metrics["task"])
    for name, extra in metrics.get("extra", {}).items():
        result = "not possible, the weights are tied to the length of the training windows"
        if extra is not None:
            result = f"{metric} {extra['test'][metric]:.4g}"
        meaning = kind.scoring.parts.get(name, "a further part of the test data")
        console.print(f"{name} ({meaning}): {result}", soft_wrap=True)
    console.print(
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"{metrics['parameters']:,} parameters, {metrics['seconds']:.1f} s"
    )
    console.print(f"run folder: {folder}", soft_wrap=True)
    run = RunDirectory(folder).word
    if kind.scoring.is_still_improving(metrics):
        longer = f"resume {run} trainer.epochs={2 * metrics['epochs']}"
        advice = f"{longer}  # still improving in the last epoch"
    else:
        predict = " ".join([kind.predictions.command, run, *kind.predictions.example])
        advice = f"{predict}  # or train with another attention=NAME, then attnlab compare"
    folders = (shlex.join(["--config-dir", os.path.relpath(path)]) for path in user_folders())
    console.print(" ".join(["next: attnlab", *folders, advice]), soft_wrap=True)


def print_table(metrics: Mapping[str, Any], part: str, file: Any = None) -> None:
    """Print the result on one split: a row for the run and one per baseline, best first; the notes.

    The column `beaten by` is the skill, 1 - (error of the run) / (error of the row's baseline).
    """
    console, kind = plain_console(file), kind_of(metrics["task"])
    attention, metric = metrics["attention"], metrics["metric"]
    mechanism = in_prose(attention)
    title = f"{metrics['task']} / {mechanism} / seed {metrics['seed']}: {part}"
    scored = f", {metrics['scored']}" if "scored" in metrics else ""
    console.print(f"{title}{scored}, in {metrics['units']}", soft_wrap=True)
    hidden = {measure.name for measure in kind.scoring.metrics if not measure.in_tables}
    columns = [name for name in metrics["test"] if name not in hidden]
    sign = 1 if kind.scoring.is_lower_better(metric) else -1

    def rank(row: tuple[str, Mapping[str, Any]]) -> float:
        value = row[1].get(metric)
        return math.inf if value is None or math.isnan(value) else sign * value

    result = (attention, metrics["test"])
    rows = sorted([result, *metrics["baselines"].items()], key=rank)
    cells = [in_one_format([scores.get(column) for _, scores in rows]) for column in columns]
    table = plain_table([kind.predictions.item, *columns, "beaten by"], [kind.predictions.item])
    for row, *numbers in zip(rows, *cells, strict=True):
        is_run, skill = row is result, metrics["skills"].get(row[0])
        beaten_by = "" if is_run else percent(skill)
        table.add_row(row[0], *numbers, beaten_by, style="bold" if is_run else "")
    console.width = max(console.width, width(table, console))
    console.print(Padding(table, (1, 0), expand=False))

    best, skill = metrics["best_baseline"], metrics["skill"]
    if rank(result) == math.inf:
        verdict = (
            f"The result of {mechanism} is not finite: a smaller optimizer.learning_rate may help."
        )
    elif skill is None:
        verdict = f"{best} makes practically no error, so no model can do better."
    else:
        share = f"{percent(abs(skill))} {'below' if skill >= 0 else 'above'}"
        verdict = f"The error of {mechanism} is {share} that of {best}, the best baseline."
    for line in (verdict, *(f"note: {note}" for note in metrics.get("notes", []))):
        console.print(line, soft_wrap=True)


class Screen:
    """Shows the progress of a run.

    On a terminal each activity has a line with a progress bar, which stays. Otherwise activities
    from training on are printed as lines of text, epochs at most once a second; run.log has every
    epoch. If `quiet`, nothing is printed.
    """

    def __init__(self, progress: Progress, quiet: bool) -> None:
        self._progress, self._quiet = progress, quiet
        self._entries: dict[str, TaskID] = {}
        self._printed = -math.inf  # when an epoch was printed
        self._text = ""  # next to the bar of epochs
        self._epochs = self._done = 0
        self._columns: Sequence[str] = ()

    def working(self, done: int, total: int | None, what: str) -> None:
        """Show the current activity and its progress; see `tasks.kinds.Progress`."""
        if what not in self._entries:
            self.end()
            self._entries[what] = self._progress.add_task(what, total=total, text="")
            if self._epochs and self._progress.disable:
                self._print(what)
        share = f"{done / total:.0%}" if total else f"{done:,}" if done else ""
        self._progress.update(self._entries[what], completed=done, total=total, text=share)

    def say(self, lines: Sequence[str]) -> None:
        """Print lines above the bars, and log them."""
        for line in lines:
            log.info(line)
            self._print(line)

    def training(self, epochs: int, done: int, columns: Sequence[str]) -> None:
        """Start to show epochs, `done` of them finished, with columns of the history."""
        self._epochs, self._done, self._columns = epochs, done, columns
        self.working(done, epochs, _COMPILING)
        self.within(0.0, _COMPILING)

    def within(self, share: float, text: str | None = None) -> None:
        """Show the finished share of the current epoch, with a text next to the bar."""
        self._text = self._text.replace(_COMPILING, "") if text is None else text
        entry, name = self._entries[_COMPILING], f"epoch {self._done}/{self._epochs}"
        done = self._done + share
        self._progress.update(entry, completed=done, description=name, text=self._text)

    def advance(self, row: Mapping[str, float]) -> None:
        """Show that an epoch is finished, given its row of the history."""
        values = {name: row.get(name, math.nan) for name in self._columns}
        results = [
            f"{name.replace('_loss', '')} {value:.3g}"
            for name, value in values.items()
            if not math.isnan(value)
        ]
        self._done += 1
        self.within(0.0, " ".join(results).replace("val_", ""))
        line = f"epoch {self._done}/{self._epochs}: {', '.join(results).replace('_', ' ')}"
        line = f"{line}, {row['seconds']:.2g} s"
        log.info(line)
        now = time.monotonic()
        is_due = now - self._printed >= 1.0 or self._done == self._epochs
        if is_due and self._progress.disable:
            self._printed = now
            self._print(line)

    def end(self) -> None:
        """End the current activity; early stopping may leave epochs untrained."""
        for entry in self._progress.tasks[-1:]:
            if entry.id != self._entries.get(_COMPILING):
                total = entry.total or 1
                self._progress.update(entry.id, completed=total, total=total, text="")

    def _print(self, text: str) -> None:
        """Print a line; not with `-v`, which shows the log."""
        if logs.verbosity == 0 and not self._quiet:
            self._progress.console.print(f"attnlab: {text}", soft_wrap=True, markup=False)


@contextmanager
def screen(quiet: bool = False) -> Iterator[Screen]:
    """Yield the screen of a run; `quiet` for a sweep's job, because sweeps show their progress."""
    with logs.standard_error() as stream:
        with bars(plain_console(stream), "{task.fields[text]}", hidden=quiet) as progress:
            shown = Screen(progress, quiet)
            shown.working(0, None, "preparing")
            yield shown
            shown.end()


def bars(console: Console, text: str, hidden: bool = False) -> Progress:
    """Return progress bars with a description, a text and the remaining time, for a terminal."""
    status = TextColumn(text, table_column=Column())  # cut on a narrow terminal
    remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = TextColumn("{task.description}"), BarColumn(bar_width=10), status, remaining
    hidden = hidden or logs.verbosity != 0 or not console.is_interactive
    return Progress(*columns, console=console, disable=hidden)
