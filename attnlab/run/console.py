"""What a run shows on the terminal: a progress bar while it trains, a table at its end."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


_silent = False


@contextmanager
def silence() -> Iterator[None]:
    """Show no bars of preparations in the body: a sweep shows its own."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


class Bar:
    """The progress of a training; this one shows nothing.

    Without a terminal there is nobody to watch it.
    """

    def within(self, share: float) -> None:
        """Say what share of the epoch under way is done."""

    def advance(self, row: Mapping[str, float]) -> None:
        """Move on by one epoch, given its row of the history."""


class _TerminalBar(Bar):
    def __init__(self, progress: Progress, entry: TaskID, done: int, shown: Sequence[str]) -> None:
        self._progress, self._entry, self._done, self._shown = progress, entry, done, shown

    def within(self, share: float) -> None:
        self._progress.update(self._entry, completed=self._done + share)

    def advance(self, row: Mapping[str, float]) -> None:
        self._done += 1
        known = {name: row[name] for name in self._shown if not math.isnan(row.get(name, math.nan))}
        results = " ".join(
            f"{name.replace('_loss', '').replace('_', ' ')} {value:.3g}"
            for name, value in known.items()
        )
        self._progress.update(self._entry, completed=self._done, epoch=self._done, results=results)


@contextmanager
def progress_bar(
    title: str, epochs: int, done: int = 0, shown: Sequence[str] = ("train_loss", "val_loss")
) -> Iterator[Bar]:
    """A bar with epoch, results and time left; nothing where standard error is no terminal.

    `shown` are columns of the history whose last values stand beside it.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    texts = "epoch {task.fields[epoch]}/{task.total:.0f}", "{task.fields[results]}"
    with _progress(console, *texts) as progress:
        entry = progress.add_task(
            title, total=epochs, completed=done, epoch=done, results="starting"
        )
        yield _TerminalBar(progress, entry, done, shown)


@contextmanager
def preparation() -> Iterator[Callable[[int, int | None, str], None]]:
    """Show how far preparing the data is: a bar, or without a terminal a line now and then."""
    console = Console(stderr=True)
    if _silent or not console.is_terminal:
        yield _Lines()
        return
    with _progress(console, "{task.completed:,.0f}") as progress:
        entries: dict[str, TaskID] = {}

        def report(done: int, total: int | None, what: str) -> None:
            if what not in entries:
                entries[what] = progress.add_task(what, total=total)
            progress.update(entries[what], completed=done, total=total)

        yield report


def _progress(console: Console, *texts: str) -> Progress:
    """A bar between what is done and these texts, with the time that is left."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), *map(TextColumn, texts))
    remaining = TimeRemainingColumn(compact=True)
    return Progress(*columns, remaining, console=console, transient=True)


class _Lines:
    """A line on standard error every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if time.monotonic() - self._last < _REPORT_EVERY:
            return
        self._last = time.monotonic()
        whole = f" of {total:,}" if total else ""
        print(f"attnlab: {what}: {done:,}{whole}", file=sys.stderr, flush=True)


def print_result(metrics: Mapping[str, Any], folder: Path, file: Any = None) -> None:
    """The test result beside its baselines, the caveats, and where everything lies."""
    console = plain_console(file)
    print_table(metrics, "test", file)
    metric = metrics["metric"]
    for name, extra in metrics.get("extra", {}).items():
        console.print(f"{name}: {_extra(extra, metric)}", soft_wrap=True)
    for note in metrics.get("notes", []):
        console.print(f"note: {note}", soft_wrap=True)
    console.print(
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"{metrics['parameters']:,} parameters, {metrics['seconds']:.1f} s"
    )
    console.print(f"run folder: {folder}", soft_wrap=True)


def print_table(metrics: Mapping[str, Any], part: str, file: Any = None) -> None:
    """The result of one part beside its baselines."""
    console = plain_console(file)
    name = f"{metrics['task']} / {metrics['attention']} / seed {metrics['seed']}"
    console.print(f"{name}: {part}, in {metrics['units']}", soft_wrap=True)
    console.print(result_table(metrics))


def _extra(extra: Mapping[str, Any] | None, metric: str) -> str:
    if extra is None:
        return "not possible, the weights are tied to the length of the training windows"
    return f"{metric} {_number(extra['test'][metric])}"


def result_table(metrics: Mapping[str, Any]) -> Table:
    """A row for the run and one for each baseline, best first.

    The column `skill` is 1 - error / error of that row: what the run gains on it.
    """
    kind = kind_of(metrics["task"])
    known = {metric.name: metric for metric in kind.metrics}
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(kind.item, no_wrap=True)
    columns = [name for name in metrics["test"] if name not in known or known[name].in_tables]
    for column in [*columns, "skill"]:
        table.add_column(column, justify="right")
    rows = [(metrics["attention"], metrics["test"], None)]
    rows += [
        (name, values, metrics["skills"].get(name)) for name, values in metrics["baselines"].items()
    ]
    metric, sign = metrics["metric"], 1 if kind.is_lower_better(metrics["metric"]) else -1
    for number, (label, values, skill) in sorted(
        enumerate(rows), key=lambda row: _sortable(row[1][1].get(metric), sign)
    ):
        cells = [_number(values.get(column)) for column in columns]
        style = "bold" if number == 0 else ""
        table.add_row(label, *cells, "" if number == 0 else _number(skill), style=style)
    return table


def _sortable(value: float | None, sign: int) -> float:
    return math.inf if value is None or value != value else sign * value


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
