"""`attnlab runs sync`: logs run folders that MLflow lacks again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnlab.commands.finding import find
from attnlab.commands.options import complete_run, filter_options, runs_folder, runs_option
from attnlab.compare.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.records.mlflow.settings import own_uri
from attnlab.records.mlflow.snapshot import run_snapshot
from attnlab.records.run_directory import RunDirectory, list_runs

if TYPE_CHECKING:
    from attnlab.records.mlflow.store import Store

_WRONG = 2


@click.command("sync")
@click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@filter_options()
@click.option("--uri", metavar="URI", help="Another store, as sqlite:///FILE or http://HOST:5000.")
@runs_option
def sync(names: tuple[str, ...], filters: Filters, uri: str | None, runs: str | None) -> int | None:
    """Log to MLflow what it lacks of run folders; the rest stays.

    All runs, those that filters choose, or each RUN (a run folder, an MLflow run id or its first
    characters, or "latest"). Runs trained with tracking.enabled=false are only logged when named.

    The store is that of each run: its tracking.uri, else $MLFLOW_TRACKING_URI, else mlflow.db in
    the runs folder, which is made if it is gone.
    """
    folder = runs_folder(runs).absolute()
    if names and filters:
        raise RequestError("RUN: expected runs or filters that choose them, not both.")
    counts: Counter[str] = Counter()
    stores: dict[str, Store] = {}
    for run in _chosen(names, filters, folder):
        counts[_sync(run, uri, bool(names), stores)] += 1
    for line in _summary(counts):
        click.echo(line)
    return _WRONG if counts["refused"] else None


def _chosen(names: tuple[str, ...], filters: Filters, folder: Path) -> list[RunDirectory]:
    if names:
        return list({run.path: run for run in (find(name, folder) for name in names)}.values())
    listed = list_runs(folder)
    found = filters.apply(listed)
    if not found:
        click.echo(none_fits(filters, listed) if listed else f"No runs in {folder} yet.")
    return [entry.run for entry in found]


def _sync(run: RunDirectory, uri: str | None, named: bool, stores: dict[str, Store]) -> str:
    """Log what MLflow lacks of a run, and say so; returns what became of it, as it is counted.

    What is wrong with the run is only said; a store that can't be used raises `RequestError`. It
    is that of `uri`, or the run's own. `named`: the user has named the runs.
    """
    from attnlab.records.mlflow.folder_copy import sync_run
    from attnlab.records.mlflow.store import Store

    try:
        state, config = run.status.state(), run.read_config()
        run_snapshot(run)
    except RequestError as error:
        click.echo(f"attnlab: not logged: {error}", err=True)
        return "refused"
    if state == "running":
        return "running"
    if not named and not (config.get("tracking") or {}).get("enabled", True):
        return "untracked"
    uri = uri or own_uri(run.path, config)
    if uri not in stores:
        stores[uri] = Store(uri, run.path.parents[2] / "artifacts")

    done = sync_run(run, stores[uri])
    if done.is_new:
        click.echo(f"{run.name}: logged as {done.run_id}")
    elif done.added:
        click.echo(f"{run.name}: added {', '.join(done.added)}")
    for sentence in done.missing:
        click.echo(f"attnlab: logged without it: {sentence}", err=True)
    return "logged" if done.is_new else "completed" if done.added else "complete"


def _summary(counts: Counter[str]) -> list[str]:
    """What was done, in sentences."""
    parts = {"logged": "logged", "completed": "completed", "complete": "had everything already"}
    parts["refused"] = "not logged, see above"
    done = [f"{counts[key]} {text}" for key, text in parts.items() if counts[key]]
    told = [", ".join(done) + "."] if done else []
    if counts["running"]:
        told.append(f"{counts['running']} running: MLflow gets them from who runs them.")
    if counts["untracked"]:
        told.append(
            f"{counts['untracked']} trained with tracking.enabled=false: name them to log them."
        )
    return told
