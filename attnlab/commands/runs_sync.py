"""`attnlab runs sync`: logs run folders that MLflow lacks again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import filter_options, runs_folder, runs_option
from attnlab.compare.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, find_run, list_runs

if TYPE_CHECKING:
    from attnlab.records.mlflow.store import Store
    from attnlab.records.mlflow.sync import Synced

_WRONG = 2


@click.command("sync")
@click.argument("names", metavar="[RUN]...", nargs=-1)
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
    syncing = _Syncing(uri, named=bool(names))
    for run in _chosen(names, filters, folder):
        syncing.sync(run)
    for line in syncing.summary():
        click.echo(line)
    return _WRONG if syncing.refused else None


def _chosen(names: tuple[str, ...], filters: Filters, folder: Path) -> list[RunDirectory]:
    if names:
        return list({run.path: run for run in (find_run(name, folder) for name in names)}.values())
    listed = list_runs(folder)
    found = filters.apply(listed)
    if not found:
        click.echo(none_fits(filters, listed) if listed else f"No runs in {folder} yet.")
    return [entry.run for entry in found]


class _Syncing:
    """Logs runs one after the other, says so, and counts.

    The store is each run's own without a `uri`; `named`: the user has named the runs.
    """

    def __init__(self, uri: str | None, named: bool) -> None:
        self._uri, self._named = uri, named
        self._stores: dict[str, Store] = {}
        self._counts: Counter[str] = Counter()

    @property
    def refused(self) -> int:
        """How many were not logged, since something is wrong with them."""
        return self._counts["refused"]

    def sync(self, run: RunDirectory) -> None:
        """Log what MLflow lacks of a run.

        Raises:
            RequestError: the store can't be used; what is wrong with a run is only said.
        """
        from attnlab.records.mlflow.settings import own_uri
        from attnlab.records.mlflow.snapshot import run_snapshot
        from attnlab.records.mlflow.sync import sync_run

        try:
            state, config = run.status.state(), run.read_config()
            run_snapshot(run)
        except RequestError as error:
            self._counts["refused"] += 1
            click.echo(f"attnlab: not logged: {error}", err=True)
            return
        if state == "running":
            self._counts["running"] += 1
        elif not self._named and not (config.get("tracking") or {}).get("enabled", True):
            self._counts["untracked"] += 1
        else:
            store = self._store(self._uri or own_uri(run.path, config), run)
            self._tell(run, sync_run(run, store, _served))

    def summary(self) -> list[str]:
        """What was done, in sentences."""
        counts, told = self._counts, []
        parts = {
            "logged": "{} logged",
            "completed": "{} completed",
            "complete": "{} had everything already",
            "refused": "{} not logged, see above",
        }
        if done := [text.format(counts[key]) for key, text in parts.items() if counts[key]]:
            told.append(", ".join(done) + ".")
        if counts["running"]:
            told.append(f"{counts['running']} running: MLflow gets them from who runs them.")
        if counts["untracked"]:
            told.append(
                f"{counts['untracked']} trained with tracking.enabled=false: name them to log them."
            )
        return told

    def _store(self, uri: str, run: RunDirectory) -> Store:
        from attnlab.records.mlflow.store import Store

        if uri not in self._stores:
            self._stores[uri] = Store(uri, run.path.parents[2] / "artifacts")
        return self._stores[uri]

    def _tell(self, run: RunDirectory, done: Synced) -> None:
        self._counts["logged" if done.is_new else "completed" if done.added else "complete"] += 1
        if done.is_new:
            click.echo(f"{run.name}: logged as {done.run_id}")
        elif done.added:
            click.echo(f"{run.name}: added {', '.join(done.added)}")
        for sentence in done.missing:
            click.echo(f"attnlab: logged without it: {sentence}", err=True)


def _served(config: Mapping[str, Any]) -> Any:
    """What the model of a run takes and gives, of a version that did not write it down."""
    from attnlab.tasks.base import load
    from attnlab.tasks.kinds import known_kind

    kind = known_kind(config["task"]["name"])
    return load(kind.served)(config) if kind else None
