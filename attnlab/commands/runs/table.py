"""The rows of `attnlab runs`, and the table that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from rich.text import Text

from attnlab.comparison.metrics import check_metric, reported_metric
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory
from attnlab.records.status import shown_state
from attnlab.tasks.kinds import known_kind
from attnlab.terminal import NOTHING, WIDTH, in_one_format, plain_console, plain_table

SORTS = ("started", "best", "test", "skill", "seconds", "epoch", "seed")
# Every run has these, also a run of a task that isn't installed here.
_LOSSES = ("val_loss", "train_loss")
_STYLES = {"completed": "green", "running": "cyan", "failed": "red", "damaged": "magenta"}
_UNITS = (("y", 31_557_600), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60))
_WORDS = ("run", "state", "task", "attention")
_COLUMNS = (*_WORDS, "seed", "epoch", "best", "test", "skill", "age")
# Columns of numbers -> the entry of a row that names the number's metric.
_NUMBERS = {"best": "monitor", "test": "metric", "skill": None}
_LEFT_OUT_WHEN_NARROW = ("seed", "best", "skill")


def row(entry: ListedRun, metric: str | None = None) -> dict[str, Any]:
    """Return the entries of a run in the table; None where there is no value.

    The result is that of the test metric `metric`, by default the one that the task reports.
    """
    status = entry.status
    return {
        "run": entry.run.path.name,
        "state": shown_state(status),
        "task": status["task"],
        "attention": status["attention"],
        "seed": status["seed"],
        "epoch": status.get("epoch"),
        **_results(entry, status["task"], metric),
        "age": _age(status["started"]),
        "started": status["started"],
        "sweep": status.get("sweep"),
        "path": str(entry.run.path),
        "mlflow_run_id": status.get("mlflow_run_id"),
        "error": status.get("error"),
    }


def check_test_metric(metric: str, entries: Sequence[ListedRun]) -> None:
    """Raise `RequestError` if no run has this test metric."""
    found: list[Mapping[str, Any]] = []
    for entry in entries:
        with suppress(RequestError):
            found.append({"test": entry.run.read_metrics().get("test", {})})
    if found:
        check_metric(metric, found)


def arranged(
    rows: Sequence[dict[str, Any]], by: str = "started", reverse: bool = False
) -> list[dict[str, Any]]:
    """Sort rows, which come in the order of their start, by one of `SORTS`.

    Results are sorted from best to worst, other columns upwards. Rows without a value come last,
    also in reverse.
    """
    if by == "started":
        return list(reversed(rows)) if reverse else list(rows)
    known = [each for each in rows if each[by] is not None]
    unknown = [each for each in rows if each[by] is None]
    return sorted(known, key=lambda each: _rank(each, by), reverse=reverse) + unknown


def print_rows(rows: Sequence[dict[str, Any]], metric: str | None = None) -> None:
    """Print a table that fits the terminal; without a terminal it is 100 columns wide.

    `metric` is the metric that the user named, if any.
    """
    console = plain_console()
    is_narrow = console.width < WIDTH
    columns = [name for name in _COLUMNS if not (is_narrow and name in _LEFT_OUT_WHEN_NARROW)]
    table = plain_table(columns, _WORDS, ruled=False)
    cells = [_column(column, rows) for column in columns]
    for row_cells in zip(*cells, strict=True):
        table.add_row(*row_cells)
    console.print(table)
    metrics = {each["metric"] for each in rows if each["metric"]}
    if metrics:
        why = "" if metric else ", the task's main metric"
        console.print(f"test is {' or '.join(sorted(metrics))}{why}.")
    if is_narrow:
        console.print(f"a wider terminal also shows {', '.join(_LEFT_OUT_WHEN_NARROW)}")


def print_errors(rows: Sequence[dict[str, Any]]) -> None:
    """Print why runs failed, one line per run."""
    console = plain_console()
    for each in rows:
        if each["error"]:
            error = " ".join(str(each["error"]).split())
            name = "" if each["run"] in error else f"{each['run']}: "
            console.print(Text(name + error), soft_wrap=True)


def _results(entry: ListedRun, task: str, metric: str | None) -> dict[str, Any]:
    """Return the best monitored value and the test result; if unfinished, the best so far."""
    try:
        metrics, trained = entry.run.read_metrics(), entry.status.get("epoch", 0)
    except RequestError:
        return _results_so_far(entry.run, task)
    if metrics.get("epochs", trained) < trained:  # the results are older than the last epochs
        return _results_so_far(entry.run, task)
    metric = metric or metrics.get("metric") or reported_metric(metrics, known_kind(task))
    return {
        "monitor": metrics.get("monitor"),
        "best": metrics.get("best_value"),
        "metric": metric,
        "test": metrics.get("test", {}).get(metric),
        "skill": metrics.get("skill"),
        "seconds": metrics.get("seconds"),
    }


def _results_so_far(run: RunDirectory, task: str) -> dict[str, Any]:
    history: dict[str, list[float]] = {}
    with suppress(RequestError):
        history = run.history.read()
    monitor = _monitored(run, task, history)
    best = min if monitor and _is_lower_better(task, monitor) else max
    values = [value for value in history.get(monitor or "", []) if math.isfinite(value)]
    seconds = sum(history["seconds"]) if "seconds" in history else None
    unknown = dict.fromkeys(("metric", "test", "skill"))
    return {"monitor": monitor, "best": best(values, default=None), **unknown, "seconds": seconds}


def _monitored(run: RunDirectory, task: str, history: Mapping[str, Sequence[float]]) -> str | None:
    """Return the column of the history that chooses the best epoch; None without a history."""
    if not history:
        return None
    asked = None
    with suppress(RequestError, KeyError, AttributeError):
        asked = run.read_config()["task"].get("monitor")
    kind = known_kind(task)
    wanted = (asked, kind.scoring.monitored if kind else None, *_LOSSES)
    return next((column for column in wanted if column in history), None)


def _is_lower_better(task: str, name: str) -> bool:
    kind = known_kind(task)
    return kind.scoring.is_lower_better(name) if kind else name in _LOSSES


def _rank(each: dict[str, Any], by: str) -> tuple[str, float]:
    """Return the sort key of a row. Results of different metrics are not mixed."""
    name = each.get({"best": "monitor", "test": "metric"}.get(by, "")) or ""
    is_result = by in ("best", "test")
    falling = by == "skill" or (is_result and not _is_lower_better(each["task"], name))
    return name, -each[by] if falling else each[by]


def _age(started: str) -> float | None:
    """Return the seconds since a run started."""
    try:
        return (datetime.now(timezone.utc) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return None


def _column(name: str, rows: Sequence[dict[str, Any]]) -> list[Text]:
    """Write the cells of a column; numbers of the same task and metric get the same format."""
    values = [each[name] for each in rows]
    if name in _NUMBERS:
        metric = _NUMBERS[name]
        groups = [(each["task"], each[metric] if metric else None) for each in rows]
        return [Text(cell) for cell in in_one_format(values, groups, digits=3)]
    return [_cell(name, value) for value in values]


def _cell(column: str, value: Any) -> Text:
    if value is None:
        return Text(NOTHING)
    if column == "age":
        return Text(_ago(value))
    return Text(str(value), style=_STYLES.get(value, "yellow") if column == "state" else "")


def _ago(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
