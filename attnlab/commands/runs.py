"""`attnlab runs`: a table of runs."""

from __future__ import annotations

import json
import math
import sys
from datetime import datetime, timezone
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnlab.commands.options import runs_folder, runs_option
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory, list_runs
from attnlab.records.status import actual_state

_STYLES = {"completed": "green", "running": "cyan", "damaged": "magenta"}
_UNITS = (("y", 31_557_600), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60))
_ENOUGH_COLUMNS = 100  # for every column of the table
_LEFT_OUT_WHEN_NARROW = ("seed", "best", "skill")


@click.command("runs")
@runs_option
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Newest runs shown."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(runs: str | None, limit: int, as_json: bool) -> None:
    """List runs, the newest last: state, task, attention, seed, epoch, result, age."""
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    found = list_runs(folder)
    rows = [_row(entry) for entry in found[-limit:]]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        _print(rows, len(found) - len(rows))
    else:
        click.echo(f"No runs in {folder} yet. Start one: attnlab task=fib attention=bahdanau")


def _row(entry: ListedRun) -> dict[str, Any]:
    """What the table says of a run; None where there is nothing to say."""
    status = entry.status
    return {
        "run": entry.run.path.name,
        "state": actual_state(status),
        "task": status["task"],
        "attention": status["attention"],
        "seed": status["seed"],
        "epoch": status.get("epoch"),
        **_results(entry.run),
        "age": _age(status["started"]),
        "path": str(entry.run.path),
        "mlflow_run_id": status.get("mlflow_run_id"),
        "error": status.get("error"),
    }


def _results(run: RunDirectory) -> dict[str, Any]:
    """The best monitored value and the test result; of an unfinished run the value so far."""
    try:
        metrics = run.read_metrics()
        test = metrics.get("test", {}).get("rmse")
        return {"best": metrics.get("best_value"), "test_rmse": test, "skill": metrics.get("skill")}
    except RequestError:
        return {"best": _best_so_far(run), "test_rmse": None, "skill": None}


def _best_so_far(run: RunDirectory) -> float | None:
    try:
        history = run.read_history()
    except RequestError:
        return None
    losses = history.get("val_loss", history.get("train_loss", []))
    return min((loss for loss in losses if math.isfinite(loss)), default=None)


def _age(started: str) -> float | None:
    """Seconds since a run began."""
    try:
        return (datetime.now(timezone.utc) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return None


def _print(rows: list[dict[str, Any]], hidden: int) -> None:
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)
    columns = ["run", "state", "task", "attention", "seed", "epoch", "best", "test_rmse", "skill"]
    if console.width < _ENOUGH_COLUMNS:
        columns = [column for column in columns if column not in _LEFT_OUT_WHEN_NARROW]
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in [*columns, "age"]:
        words = column in ("run", "state", "task", "attention")
        table.add_column(
            column.replace("test_rmse", "test"), justify="left" if words else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(*(_cell(column, row[column]) for column in columns), _ago(row["age"]))
    console.print(table)
    if hidden:
        console.print(f"{hidden} older runs are not shown; --limit shows more.")


def _cell(column: str, value: Any) -> Text:
    if value is None:
        return Text("-")
    if column == "state":
        return Text(value, style=_STYLES.get(value, "yellow"))
    if column == "skill":
        return Text(f"{value:.2f}" if abs(value) < 100 else f"{value:.0e}")
    return Text(f"{value:.3g}" if isinstance(value, float) else str(value))


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
