"""`attnlab runs sync`: copy to MLflow what it lacks of run folders."""

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
@click.option("--uri", metavar="URI", help="Another store: sqlite:///FILE or http://HOST:5000.")
@runs_option
def sync(names: tuple[str, ...], filters: Filters, uri: str | None, runs: str | None) -> int | None:
    """Copy missing data of run folders to MLflow; data that are there stay unchanged.

    Copies all runs, the runs that filters choose, or each RUN (a run folder, an MLflow run id or
    its first characters, or "latest"). A run trained with tracking.enabled=false is copied only if
    RUN names it.

    Each run goes to its own store: its tracking.uri, else $MLFLOW_TRACKING_URI, else mlflow.db in
    the runs folder. A missing mlflow.db is created.
    """
    folder = runs_folder(runs).absolute()
    if names and filters:
        raise RequestError("RUN: name runs, or give filters that choose runs, not both.")
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
    """Copy missing data of a run to MLflow, and print what was copied.

    A faulty run is only reported; a store that can't be used raises `RequestError`.

    Args:
        run: The run's folder.
        uri: The store; None for the run's own.
        named: Whether the user named the run, which copies one with tracking.enabled=false, too.
        stores: The open stores by their URI; a new one is added.

    Returns:
        The outcome, as `_summary` counts them.
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
    """Summarize what was done, in sentences."""
    parts = {"logged": "logged", "completed": "completed", "complete": "had everything already"}
    parts["refused"] = "not logged, see above"
    done = [f"{counts[key]} {text}" for key, text in parts.items() if counts[key]]
    lines = [", ".join(done) + "."] if done else []
    if counts["running"]:
        lines.append(f"{counts['running']} still running: their own processes log them.")
    if counts["untracked"]:
        lines.append(
            f"{counts['untracked']} trained with tracking.enabled=false: name them to log them."
        )
    return lines
