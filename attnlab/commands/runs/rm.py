"""`attnlab runs rm`: remove run folders together with their copies in MLflow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from attnlab.commands.finding import find
from attnlab.commands.options import complete_run, filter_options, runs_folder, runs_option
from attnlab.commands.runs.table import print_rows, row
from attnlab.comparison.selection import Filters, none_fits
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory, list_runs
from attnlab.records.status import shown_state


@click.command("rm")
@click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@filter_options()
@click.option("--yes", is_flag=True, help="Don't ask before removing.")
@click.option("--keep-mlflow", is_flag=True, help="Remove only the folders, not MLflow's copies.")
@runs_option
def remove(
    names: tuple[str, ...], filters: Filters, yes: bool, keep_mlflow: bool, runs: str | None
) -> None:
    """Remove runs, their folders and their copies in MLflow, after asking.

    RUN is a run folder, an MLflow run id or its first characters, or "latest". Instead of RUN,
    filters may choose the runs: attnlab runs rm --failed. A running run is not removed.

    MLflow still has its copy among its deleted runs until `mlflow gc` runs.
    """
    from attnlab.records.removal import remove_run

    if not yes and not sys.stdin.isatty():
        raise RequestError("--yes: give it, because there is no terminal on which to ask.")
    chosen = _chosen(names, filters, runs_folder(runs).absolute())
    if not chosen:
        return
    print_rows([row(entry) for entry in chosen])
    paths = [entry.run.path for entry in chosen]
    if links := [str(path) for path in paths if path.is_symlink()]:
        raise RequestError(f"RUN: {links[0]} is a link. Name the run's own folder.")
    if not yes and not click.confirm(f"Remove {_count(paths)} ({_size(paths)})?"):
        click.echo("Nothing was removed.")
        return
    in_mlflow = 0
    for number, path in enumerate(paths):
        try:
            in_mlflow += remove_run(path, keep_mlflow)
        except RequestError as error:
            raise RequestError(
                f"{str(error).rstrip('.')}. {number} of {len(paths)} runs were removed. "
                "--keep-mlflow removes only folders."
            ) from error
    click.echo(f"Removed {_count(paths)}.")
    if in_mlflow:
        click.echo("MLflow has the copies among its deleted runs; mlflow gc removes them for good.")


def chosen_runs(names: Sequence[str], folder: Path) -> list[ListedRun]:
    """Find the runs that RUN... name, each once; a damaged run is found only by its folder."""
    listed = list_runs(folder)
    damaged = [entry.run.path for entry in listed if entry.status["state"] == "damaged"]
    found: dict[Path, ListedRun] = {}
    for name in names:
        places = Path(name).absolute(), folder / name
        meant = [path for path in damaged if path in places]
        if not meant and sum(entry.run.path.name == name for entry in listed) == 1:
            meant = [path for path in damaged if path.name == name]
        run = RunDirectory(meant[0]) if meant else find(name, folder)
        found.setdefault(run.path.resolve(), ListedRun.of(run))
    return list(found.values())


def _chosen(names: Sequence[str], filters: Filters, folder: Path) -> list[ListedRun]:
    """Choose the runs to remove, and print which are left out."""
    if bool(names) == bool(filters):
        what = ", not both" if names else ", such as attnlab runs rm --failed"
        raise RequestError(f"RUN: name runs, or give filters that choose runs{what}.")
    if names:
        chosen = chosen_runs(names, folder)
        for entry in chosen:
            if shown_state(entry.status) == "running":
                raise RequestError(f"RUN: {entry.run.path} is running: stop it first.")
        return chosen
    listed = list_runs(folder)
    found = filters.apply(listed)
    chosen = [entry for entry in found if shown_state(entry.status) != "running"]
    if not found:
        click.echo(none_fits(filters, listed))
    elif len(chosen) < len(found):
        click.echo(f"{len(found) - len(chosen)} running: not removed.")
    return chosen


def _count(paths: Sequence[Path]) -> str:
    return f"{len(paths)} run" + ("s" if len(paths) != 1 else "")


def _size(paths: Sequence[Path]) -> str:
    """Return the size of the folders on disk, such as `1.2 MB`."""
    from rich.filesize import decimal

    return decimal(sum(p.lstat().st_size for path in paths for p in path.rglob("*") if p.is_file()))
