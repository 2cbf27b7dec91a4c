"""The rows of `attnlab runs`, and the table that shows them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.text import Text

from attnlab.comparison.selection import began
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.records.status import shown_state
from attnlab.tasks.kinds import known_kind
from attnlab.terminal import NOTHING, WIDTH, in_one_format, plain_console, plain_table

SORTS = ("started", "best", "test", "skill")
_STYLES = {"completed": "green", "running": "cyan", "failed": "red", "damaged": "magenta"}
_UNITS = (("y", 31_557_600), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60))
_WORDS = ("run", "state", "task", "attention")
_COLUMNS = (*_WORDS, "seed", "epoch", "best", "test", "skill", "age")
# Columns of numbers -> the entry of a row that names the number's metric.
_NUMBERS = {"best": "monitor", "test": "metric", "skill": "task"}
_LEFT_OUT_WHEN_NARROW = ("seed", "best", "skill")


def row(entry: ListedRun) -> dict[str, Any]:
    """Return the entries of a run in the table; None where there is no value."""
    status = entry.status
    started = began(status)
    return {
        "run": entry.run.path.name,
        "state": shown_state(status),
        "task": status["task"],
        "attention": status["attention"],
        "seed": status["seed"],
        "epoch": status.get("epoch"),
        **_results(entry),
        "age": time.time() - started if started else None,
        "started": status["started"],
        "sweep": status.get("sweep"),
        "path": str(entry.run.path),
        "mlflow_run_id": status.get("mlflow_run_id"),
        "error": status.get("error"),
    }


def _results(entry: ListedRun) -> dict[str, Any]:
    """Return the best monitored value and the test result; if unfinished, the best so far."""
    metrics: dict[str, Any] = {}
    with suppress(RequestError):
        metrics = entry.run.read_metrics()
    task, trained = entry.status["task"], entry.status.get("epoch", 0)
    if metrics and metrics.get("epochs", trained) >= trained:
        return {
            "monitor": metrics.get("monitor"),
            "best": metrics.get("best_value"),
            "metric": metrics.get("metric"),
            "test": metrics.get("test", {}).get(metrics.get("metric")),
            "skill": metrics.get("skill"),
            "seconds": metrics.get("seconds"),
        }
    history: dict[str, list[float]] = {}  # there is no result, or it is older than the last epochs
    with suppress(RequestError):
        history = entry.run.history.read()
    kind = known_kind(task)
    monitor = kind.scoring.monitored if kind else ""
    values = [value for value in history.get(monitor, []) if math.isfinite(value)]
    best = min if _is_lower_better(task, monitor) else max
    seconds = sum(history["seconds"]) if "seconds" in history else None
    none = dict.fromkeys(("metric", "test", "skill"))
    return {"monitor": monitor, "best": best(values, default=None), **none, "seconds": seconds}


def _is_lower_better(task: str, name: str) -> bool:
    kind = known_kind(task)
    return kind is not None and kind.scoring.is_lower_better(name)


def best_first(rows: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Sort rows by a result, the best first; results of different metrics are not mixed.

    Rows without a value come last.
    """

    def rank(row: dict[str, Any]) -> tuple[bool, str, float]:
        if row[by] is None:
            return True, "", 0.0
        name = "" if by == "skill" else row[_NUMBERS[by]] or ""
        rises = by != "skill" and _is_lower_better(row["task"], name)
        return False, name, row[by] if rises else -row[by]

    return sorted(rows, key=rank)


def print_rows(rows: Sequence[dict[str, Any]], errors: bool = False) -> None:
    """Print a table that fits the terminal; without a terminal it is 100 columns wide.

    With `errors`, it is followed by the reasons why runs failed.
    """
    console = plain_console()
    is_narrow = console.width < WIDTH
    columns = [name for name in _COLUMNS if not (is_narrow and name in _LEFT_OUT_WHEN_NARROW)]
    table = plain_table(columns, _WORDS, ruled=False)
    for cells in zip(*(_column(name, rows) for name in columns), strict=True):
        table.add_row(*cells)
    console.print(table)
    if metrics := {row["metric"] for row in rows if row["metric"]}:
        console.print(f"test is {' or '.join(sorted(metrics))}, the task's main metric.")
    for row in rows if errors else ():
        if row["error"]:
            text = f"{row['run']}: {' '.join(str(row['error']).split())}"
            console.print(Text(text), soft_wrap=True)


def _column(name: str, rows: Sequence[dict[str, Any]]) -> list[Text]:
    """Write the cells of a column; numbers of the same task and metric get the same format."""
    values = [row[name] for row in rows]
    if name in _NUMBERS:
        groups = [(row["task"], row[_NUMBERS[name]]) for row in rows]
        return [Text(cell) for cell in in_one_format(values, groups, digits=3)]
    if name == "age":
        return [Text(NOTHING if value is None else _ago(value)) for value in values]
    styles = [_STYLES.get(value, "yellow") if name == "state" else "" for value in values]
    texts = [NOTHING if value is None else str(value) for value in values]
    return [Text(text, style=style) for text, style in zip(texts, styles, strict=True)]


def _ago(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
