"""`attnlab runs`, and its own verbs `rm` and `sync`."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from attnlab.commands import options
from attnlab.comparison.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.records.files import Checkpoints
from attnlab.records.run_directory import ListedRun, list_runs, shown_state
from attnlab.tasks.kinds import known_kind
from attnlab.terminal import NOTHING, WIDTH, in_one_format, percent, plain_console, plain_table

_WRONG = 2
_SORTS = ("started", "best", "test", "skill")
_STYLES = {"completed": "green", "running": "cyan", "failed": "red", "damaged": "magenta"}
_UNITS = (("y", 31_557_600), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60))
_WORDS = ("run", "state", "task", "attention")
_COLUMNS = (*_WORDS, "seed", "epoch", "best", "test", "skill", "age")
# Columns of numbers -> the entry of a row that names the number's metric.
_NUMBERS = {"best": "monitor", "test": "metric"}
_LEFT_OUT_WHEN_NARROW = ("seed", "best", "skill")


@click.group("runs", invoke_without_command=True)
@options.filter_options
@click.option(
    "--sort",
    type=click.Choice(_SORTS),
    default="started",
    show_default=True,
    help="Sort by this column; skill is `beats baseline`. With best, test and skill the best run "
    "comes first.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Show at most this many runs: the newest, or with --sort the best.",
)
@options.json_option
@options.runs_option
@click.pass_context
def command(
    context: click.Context, filters: Filters, sort: str, limit: int, as_json: bool, runs: str | None
) -> None:
    """List runs, the newest last: state, task, attention, seed, epoch, result, age.

    The states are: completed; running; failed (an error ended it); killed (attnlab resume continues
    it); pruned (a search stopped it early); damaged (its folder is incomplete).
    """
    if context.invoked_subcommand:
        return
    listed = options.listed_runs(runs)
    chosen = filters.apply(listed)
    by_age = sort == "started"
    # Reading results takes time: only those of the runs shown are read, unless they are sorted by.
    rows = [row(entry) for entry in (chosen[-limit:] if by_age else chosen)]
    rows = rows if by_age else _best_first(rows, sort)[:limit]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        _print_rows(rows, errors=filters.failed or bool({"failed", "damaged"} & {*filters.states}))
        if hidden := len(chosen) - len(rows):
            plain_console().print(f"{hidden} more runs are not shown; --limit shows more.")
    else:
        _say_none(listed, options.runs_folder(runs))


@command.command("rm")
@options.run_arguments
@options.filter_options
@click.option("--yes", is_flag=True, help="Don't ask before removing.")
@options.runs_option
def remove(names: tuple[str, ...], filters: Filters, yes: bool, runs: str | None) -> None:
    """Remove runs, their folders and their copies in MLflow, after asking.

    RUN is a run folder, an MLflow run id or its first characters, or "latest". Instead of RUN,
    filters may choose the runs: attnlab runs rm --failed. A running run is not removed.

    MLflow still has its copy among its deleted runs until `mlflow gc` runs.
    """
    from attnlab.records.mlflow import remove_run

    if not names and not filters:
        raise RequestError("RUN: name runs, or give filters, such as attnlab runs rm --failed.")
    if not yes and not sys.stdin.isatty():
        raise RequestError("--yes: give it, because there is no terminal on which to ask.")
    entries = _chosen(names, filters, runs)
    if not entries:
        return
    for entry in entries:
        if shown_state(entry.status) == "running":
            raise RequestError(f"RUN: {entry.run.path} is running: stop it first.")
    _print_rows([row(entry) for entry in entries])
    if not yes and not click.confirm(f"Remove {_count(entries)}?"):
        click.echo("Nothing was removed.")
        return
    copies = sum(remove_run(entry.run.path) for entry in entries)
    click.echo(f"Removed {_count(entries)}.")
    if copies:
        click.echo("MLflow has the copies among its deleted runs; mlflow gc removes them for good.")


@command.command("sync")
@options.run_arguments
@options.filter_options
@click.option("--uri", metavar="URI", help="Another store: sqlite:///FILE or http://HOST:5000.")
@click.option("--follow", type=click.Path(path_type=Path), hidden=True)
@options.runs_option
def sync(
    names: tuple[str, ...],
    filters: Filters,
    uri: str | None,
    follow: Path | None,
    runs: str | None,
) -> int | None:
    """Draw missing figures of runs, and complete their copies in MLflow.

    Completes all runs, the runs that filters choose, or each RUN (a run folder, an MLflow run id or
    its first characters, or "latest"). A run trained with tracking.enabled=false is copied only
    with --uri.

    Each run goes to its own store: its tracking.uri, else $MLFLOW_TRACKING_URI, else mlflow.db in
    the runs folder. A missing mlflow.db is created.
    """
    from attnlab.runner import follow as following

    if follow is not None:  # started by `runner.resume.start_following`
        lines = following.follow(follow)
        click.echo("\n".join(lines), nl=bool(lines))
        return _WRONG if lines else None
    entries = _chosen(names, filters, runs)
    problems = {entry.run.path: following.complete(entry.run, uri) for entry in entries}
    sweeps = {entry.status["sweep"] for entry in entries if entry.status.get("sweep")}
    for name in sorted(sweeps):
        sweep = options.runs_folder(runs).absolute() / "sweeps" / name
        problems[sweep] = following.complete_sweep(sweep, following.runs_in(sweep), uri=uri)
    failed = set()
    for path, texts in problems.items():
        for text in texts:
            click.echo(f"attnlab: {text}", err=True)
            if not text.startswith("warning: "):  # of a font, although everything is there
                failed.add(path)
    if entries:
        click.echo(f"{len(problems) - len(failed)} of {len(problems)} are complete in MLflow.")
    return _WRONG if failed else None


def _chosen(names: Sequence[str], filters: Filters, runs: str | None) -> list[ListedRun]:
    """Return the runs that are named, each once, or that the filters choose; also damaged ones."""
    folder = options.runs_folder(runs).absolute()
    listed = list_runs(folder)
    if names and filters:
        raise RequestError("RUN: name runs, or give filters that choose runs, not both.")
    chosen = {} if names else {entry.run.path: entry for entry in filters.apply(listed)}
    for name in names:
        paths = (Path(name).absolute(), folder / name)
        matches = [e for e in listed if e.run.path.name == name or e.run.path in paths]
        entry = matches[0] if len(matches) == 1 else ListedRun.of(options.find(name, folder))
        chosen.setdefault(entry.run.path.resolve(), entry)
    if not chosen:
        _say_none(listed, folder)
    return [*chosen.values()]


def _say_none(listed: Sequence[ListedRun], folder: Path) -> None:
    """Print why no run is chosen."""
    start = f"No runs in {folder} yet. Start one: attnlab task=fib attention=bahdanau"
    click.echo(none_fits(listed) if listed else start)


def _count(entries: Sequence[ListedRun]) -> str:
    return f"{len(entries)} run{'s' * (len(entries) != 1)}"


def row(entry: ListedRun) -> dict[str, Any]:
    """Return the entries of a run in the table; None where there is no value."""
    status, state, age = entry.status, shown_state(entry.status), None
    checkpoint = Checkpoints(entry.run.checkpoint)  # a killed run continues after its epoch
    with suppress(ValueError):  # a damaged run has no time
        age = time.time() - datetime.fromisoformat(str(status["started"])).timestamp()
    return {
        "run": entry.run.path.name,
        "state": state,
        "task": status["task"],
        "attention": status["attention"],
        "seed": status["seed"],
        "epoch": checkpoint.epochs() if state == "killed" else status.get("epoch"),
        **_results(entry),
        "age": age,
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


def _best_first(rows: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
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


def _print_rows(rows: Sequence[dict[str, Any]], errors: bool = False) -> None:
    """Print a table that fits the terminal; without a terminal it is 100 columns wide.

    With `errors`, it is followed by the reasons why runs failed.
    """
    console = plain_console()
    is_narrow = console.width < WIDTH
    columns = [name for name in _COLUMNS if not (is_narrow and name in _LEFT_OUT_WHEN_NARROW)]
    titles = ["beats\nbaseline" if name == "skill" else name for name in columns]
    table = plain_table(titles, _WORDS, ruled=False)
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
    if name == "skill":
        return [Text(percent(value)) for value in values]
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
