"""Arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from attnlab.records.run_directory import RunDirectory

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


def find(run: str, runs: str | None) -> RunDirectory:
    """The run that RUN names.

    Raises:
        RequestError: none fits, or it is damaged.
    """
    from attnlab.records.run_directory import find_run

    return find_run(run, runs_folder(runs))
