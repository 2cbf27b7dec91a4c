"""Arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnlab.errors import RequestError
from attnlab.tasks.kinds import kind_of

if TYPE_CHECKING:
    from attnlab.records.run_directory import ListedRun, RunDirectory
    from attnlab.tasks.base import Kind

run_argument = click.argument("run", metavar="RUN")
runs_option = click.option(
    "--runs",
    metavar="DIR",
    default=None,
    help="Folder of all runs.  [default: $ATTNLAB_RUNS, else ./runs]",
)


def runs_folder(runs: str | None) -> Path:
    """The folder of all runs that `--runs` names, or the default one."""
    from attnlab.records.run_directory import default_runs_folder

    return Path(runs).expanduser() if runs else default_runs_folder()


def listed_runs(runs: str | None) -> list[ListedRun]:
    """All runs of the folder that `--runs` names, the oldest first.

    Raises:
        RequestError: there is no such folder.
    """
    from attnlab.records.run_directory import list_runs

    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    return list_runs(folder)


def require_kind(run: RunDirectory, kind: Kind) -> None:
    """Check that a run is of a kind.

    Raises:
        RequestError: it is of another one, or of none that is known here.
    """
    task = run.read_config().get("task", {}).get("name")
    own = kind_of(task)
    if own.name != kind.name:
        verbs = " or ".join(f"attnlab {verb}" for verb in own.verbs if own.verbs[verb].uses_run)
        use = f"; {verbs} uses it" if verbs else ""
        raise RequestError(
            f"RUN: expected a run of {kind.name}, got {run.path}, which is of {own.name}{use}."
        )


def find(run: str, runs: str | None) -> RunDirectory:
    """The run that RUN names.

    Raises:
        RequestError: none fits, or it is damaged.
    """
    from attnlab.records.run_directory import find_run

    return find_run(run, runs_folder(runs))
