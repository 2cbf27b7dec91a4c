"""`attnlab plot`: a run's figures again."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands.options import find, run_argument, runs_option
from attnlab.errors import RequestError


@click.command("plot")
@run_argument
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures; default the run's plots.",
)
@runs_option
def command(run: str, output: Path | None, runs: str | None) -> None:
    """Draw the figures of RUN from its folder.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find(run, runs)
    found.require_completed()
    from attnlab.analysis.plots import draw_run

    try:
        drawn = draw_run(found, output)
    except OSError as error:
        where = output or found.plots
        raise RequestError(
            f"--output: expected a folder that can be written, got {str(where)!r} "
            f"({error.strerror or error})."
        ) from error
    for path in drawn:
        click.echo(path)
