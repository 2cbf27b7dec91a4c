"""What a run shows on the terminal: a progress bar while it trains, a table at its end."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from attnlab.tasks.kinds import kind_of
from attnlab.terminal.console import plain_console

# Seconds between two lines about a long preparation where there is no terminal.
_REPORT_EVERY = 15.0
# The same of a training; None: there are none.
seconds_between_lines: float | None = None


class Bar:
    """The progress of a training; lines at times where there is no terminal."""

    def __init__(
        self, progress: Progress, entry: TaskID, done: int, shown: Sequence[str], every: float
    ) -> None:
        self._progress, self._entry, self._done, self._shown = progress, entry, done, shown
        self._every, self._said, self._results = every, time.monotonic(), ""

    def within(self, share: float) -> None:
        """Say what share of the epoch under way is done."""
        self._progress.update(self._entry, completed=self._done + share)
        if time.monotonic() - self._said >= self._every:
            self._said, task = time.monotonic(), self._progress.tasks[0]
            text = f"{task.description}: {task.completed:.1f} of {task.total:.0f} epochs"
            print(text + self._results, file=sys.stderr, flush=True)

    def advance(self, row: Mapping[str, float]) -> None:
        """Move on by one epoch, given its row of the history."""
        self._done += 1
        known = {name: row[name] for name in self._shown if not math.isnan(row.get(name, math.nan))}
        results = " ".join(
            f"{name.replace('_loss', '').replace('_', ' ')} {value:.3g}"
            for name, value in known.items()
        )
        self._results = f", {results}"
        self._progress.update(self._entry, completed=self._done, epoch=self._done, results=results)


@contextmanager
def progress_bar(
    title: str, epochs: int, done: int, shown: Sequence[str], quiet: bool
) -> Iterator[Bar]:
    """A bar with epoch, results and time left, if not `quiet` and standard error is a terminal.

    `shown` are columns of the history whose last values stand beside it. Without a terminal there
    are lines, if `seconds_between_lines` says so.
    """
    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    every = math.inf if quiet or not hidden else seconds_between_lines or math.inf
    texts = "epoch {task.fields[epoch]}/{task.total:.0f}", "{task.fields[results]}"
    progress = bars(console, *texts)  # shows nothing unless it is entered
    entry = progress.add_task(title, total=epochs, completed=done, epoch=done, results="starting")
    with nullcontext() if hidden else progress:
        yield Bar(progress, entry, done, shown, every)


@contextmanager
def preparation(quiet: bool = False) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show how far preparing the data is: a bar; if `quiet` or without a terminal, lines."""
    console, last = Console(stderr=True), time.monotonic()

    def say(done: int, total: int | None, what: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _REPORT_EVERY:
            last = time.monotonic()
            whole = f" of {total:,}" if total else ""
            print(f"attnlab: {what}: {done:,}{whole}", file=sys.stderr, flush=True)

    if quiet or not console.is_terminal:
        yield say
        return
    with bars(console, "{task.completed:,.0f}") as progress:
        entries: dict[str, TaskID] = {}

        def report(done: int, total: int | None, what: str) -> None:
            if what not in entries:
                entries[what] = progress.add_task(what, total=total)
            progress.update(entries[what], completed=done, total=total)

        yield report


def bars(console: Console, *texts: str) -> Progress:
    """Bars between what is done and these texts, with the time that is left, on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), *map(TextColumn, texts))
    remaining, hidden = TimeRemainingColumn(compact=True), not console.is_terminal
    return Progress(*columns, remaining, console=console, transient=True, disable=hidden)


def print_result(metrics: Mapping[str, Any], folder: Path, file: Any = None) -> None:
    """The test result beside its baselines, the caveats, and where everything lies."""
    console = plain_console(file)
    print_table(metrics, "test", file)
    metric = metrics["metric"]
    for name, extra in metrics.get("extra", {}).items():
        result = "not possible, the weights are tied to the length of the training windows"
        if extra is not None:
            result = f"{metric} {number(extra['test'][metric])}"
        console.print(f"{name}: {result}", soft_wrap=True)
    for note in metrics.get("notes", []):
        console.print(f"note: {note}", soft_wrap=True)
    console.print(
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"{metrics['parameters']:,} parameters, {metrics['seconds']:.1f} s"
    )
    console.print(f"run folder: {folder}", soft_wrap=True)


def print_table(metrics: Mapping[str, Any], part: str, file: Any = None) -> None:
    """The result of one part: a row for the run and one for each baseline, best first.

    The column `skill` is 1 - error / error of that row: what the run gains on it.
    """
    console = plain_console(file)
    name = f"{metrics['task']} / {metrics['attention']} / seed {metrics['seed']}"
    console.print(f"{name}: {part}, in {metrics['units']}", soft_wrap=True)
    kind = kind_of(metrics["task"])
    known = {metric.name: metric for metric in kind.metrics}
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(kind.item, no_wrap=True)
    columns = [name for name in metrics["test"] if name not in known or known[name].in_tables]
    for column in [*columns, "skill"]:
        table.add_column(column, justify="right")
    rows = [(metrics["attention"], metrics["test"]), *metrics["baselines"].items()]
    metric, sign = metrics["metric"], 1 if kind.is_lower_better(metrics["metric"]) else -1

    def rank(row: Sequence[Any]) -> float:
        value = row[1].get(metric)
        return math.inf if value is None or value != value else sign * value

    for row in sorted(rows, key=rank):
        cells = [number(row[1].get(column)) for column in columns]
        own = row is rows[0]
        skill = "" if own else number(metrics["skills"].get(row[0]))
        table.add_row(row[0], *cells, skill, style="bold" if own else "")
    console.print(table)
    console.print(_verdict(metrics), soft_wrap=True)


def _verdict(metrics: Mapping[str, Any]) -> str:
    """What came out, in a sentence."""
    own, best, skill = metrics["attention"], metrics["best_baseline"], metrics["skill"]
    result = metrics["test"].get(metrics["metric"])
    if result is None or not math.isfinite(result):
        return f"What {own} gives is not finite: a smaller optimizer.learning_rate may help."
    if skill is None:
        return f"{best} knows the rule of these data: no model can do better than it."
    share = f"{abs(skill):.1%}"
    if skill >= 0:
        return f"{share} of the error of {best}, the best baseline, is gone with {own} (skill)."
    return f"The error of {own} is {share} above that of {best}, the best baseline (skill below 0)."


def number(value: float | None, form: str = ".4g") -> str:
    """A number as tables show it."""
    return "-" if value is None else f"{value:{form}}"
