"""`attnlab runs sync`: draw missing figures, and copy to MLflow what it lacks of run folders."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands.finding import find
from attnlab.commands.options import complete_run, filter_options, runs_folder, runs_option
from attnlab.comparison.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory, list_runs

_WRONG = 2


@click.command("sync")
@click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@filter_options()
@click.option("--uri", metavar="URI", help="Another store: sqlite:///FILE or http://HOST:5000.")
@click.option("--follow", type=click.Path(path_type=Path), hidden=True)
@runs_option
def sync(
    names: tuple[str, ...],
    filters: Filters,
    uri: str | None,
    follow: Path | None,
    runs: str | None,
) -> int | None:
    """Draw missing figures of runs, and copy to MLflow what it lacks of them.

    Completes all runs, the runs that filters choose, or each RUN (a run folder, an MLflow run id or
    its first characters, or "latest"). A run trained with tracking.enabled=false is copied only
    with --uri.

    Each run goes to its own store: its tracking.uri, else $MLFLOW_TRACKING_URI, else mlflow.db in
    the runs folder. A missing mlflow.db is created.
    """
    from attnlab.runner import follow as following

    if follow is not None:  # started by `runner.follow.start_following`
        lines = following.follow(follow)
        click.echo("\n".join(lines), nl=bool(lines))
        return _WRONG if lines else None
    folder = runs_folder(runs).absolute()
    if names and filters:
        raise RequestError("RUN: name runs, or give filters that choose runs, not both.")
    chosen = _chosen(names, filters, folder)
    problems = {run.path: following.complete(run, uri) for run in chosen}
    sweeps = {str(sweep) for run in chosen if (sweep := ListedRun.of(run).status.get("sweep"))}
    for name in sorted(sweeps):
        sweep = folder / "sweeps" / name
        problems[sweep] = following.complete_sweep(sweep, following.runs_in(sweep), uri=uri)
    failed = set()
    for path, texts in problems.items():
        for text in texts:
            click.echo(f"attnlab: {text}", err=True)
            if not text.startswith("warning: "):  # of a font, although everything is there
                failed.add(path)
    if chosen:
        click.echo(f"{len(problems) - len(failed)} of {len(problems)} are complete in MLflow.")
    return _WRONG if failed else None


def _chosen(names: tuple[str, ...], filters: Filters, folder: Path) -> list[RunDirectory]:
    if names:
        return list({run.path: run for run in (find(name, folder) for name in names)}.values())
    listed = list_runs(folder)
    chosen = filters.apply(listed)
    if not chosen:
        click.echo(none_fits(filters, listed) if listed else f"No runs in {folder} yet.")
    return [entry.run for entry in chosen]
