"""`attnlab plot`: a run's figures again."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.errors import RequestError
from attnlab.records.run_directory import default_runs_folder, find_run


@click.command("plot")
@click.argument("run")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures; default the run's plots.",
)
@click.option(
    "--runs",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of all runs; default $ATTNLAB_RUNS or ./runs.",
)
def command(run: str, output: Path | None, folder: Path | None) -> None:
    """Draw the figures of RUN from its folder.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find_run(run, folder or default_runs_folder())
    found.require_completed()
    from attnlab.analysis.plots import draw_run

    try:
        drawn = draw_run(found, output)
    except OSError as error:
        where = output or found.plots
        raise RequestError(
            f"--output: a folder that can be written expected, got {str(where)!r} "
            f"({error.strerror or error})"
        ) from error
    for path in drawn:
        click.echo(path)
