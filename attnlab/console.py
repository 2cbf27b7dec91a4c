"""What a run shows on the terminal: a progress bar while it trains, a table at its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


class Advance(Protocol):
    """Called after each epoch with its row of the history."""

    def __call__(self, row: Mapping[str, float]) -> None:
        """Move the bar on by one epoch."""


@contextmanager
def progress_bar(title: str, epochs: int, done: int = 0) -> Iterator[Advance]:
    """A bar with epoch, losses and time left; nothing where standard error is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda row: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("epoch {task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[losses]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        entry = bar.add_task(title, total=epochs, completed=done, losses="starting")

        def advance(row: Mapping[str, float]) -> None:
            losses = [
                f"{part} {row[f'{part}_loss']:.3g}"
                for part in ("train", "val")
                if f"{part}_loss" in row
            ]
            bar.update(entry, advance=1, losses=" ".join(losses))

        yield advance


def print_result(metrics: Mapping[str, Any], folder: Path, file: Any = None) -> None:
    """The test result beside its baselines, the caveats, and where everything lies."""
    console = _plain(file)
    print_table(metrics, "test", file)
    for name, extra in metrics.get("extra", {}).items():
        console.print(f"{name}: {_extra(extra)}", soft_wrap=True)
    for note in metrics.get("notes", []):
        console.print(f"note: {note}", soft_wrap=True)
    console.print(
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"{metrics['parameters']:,} parameters, {metrics['seconds']:.1f} s"
    )
    console.print(f"run folder: {folder}", soft_wrap=True)


def print_table(metrics: Mapping[str, Any], part: str, file: Any = None) -> None:
    """The result of one part beside its baselines."""
    console = _plain(file)
    name = f"{metrics['task']} / {metrics['attention']} / seed {metrics['seed']}"
    console.print(f"{name}: {part}, in {metrics['units']}", soft_wrap=True)
    console.print(result_table(metrics))


def _extra(extra: Mapping[str, Any] | None) -> str:
    if extra is None:
        return "not possible, the weights are tied to the length of the training windows"
    return f"rmse {_number(extra['test']['rmse'])}"


def result_table(metrics: Mapping[str, Any]) -> Table:
    """A row for the run and one for each baseline, best first.

    The column `skill` is 1 - rmse / rmse of that row: what the run gains on it.
    """
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("forecast")
    columns = list(metrics["test"])
    for column in [*columns, "skill"]:
        table.add_column(column, justify="right")
    rows = [(metrics["attention"], metrics["test"], None)]
    rows += [
        (name, values, metrics["skills"].get(name)) for name, values in metrics["baselines"].items()
    ]
    for number, (label, values, skill) in sorted(
        enumerate(rows), key=lambda row: _sortable(row[1][1].get("rmse"))
    ):
        cells = [_number(values.get(column)) for column in columns]
        style = "bold" if number == 0 else ""
        table.add_row(label, *cells, "" if number == 0 else _number(skill), style=style)
    return table


def _plain(file: Any) -> Console:
    return Console(file=file or sys.stdout, highlight=False)


def _sortable(value: float | None) -> float:
    return float("inf") if value is None or value != value else value


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
