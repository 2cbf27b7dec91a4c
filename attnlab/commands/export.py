"""`attnlab export RUN`: write a run's model into a folder that works without attnlab."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands.finding import find_trained
from attnlab.commands.options import epoch_options, run_argument, runs_option
from attnlab.errors import RequestError
from attnlab.export.formats import FORMATS, require_packages


@click.command("export")
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    help="; ".join(f"{name}: {each.about}" for name, each in FORMATS.items()) + ".",
)
@epoch_options
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to write.  [default: export_FORMAT in the run folder]",
)
@runs_option
def command(
    run: str,
    form: str | None,
    epoch: str | None,
    average: int | None,
    out: Path | None,
    runs: str | None,
) -> None:
    """Write the model of RUN into a folder that works without attnlab.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    The folder has the model, its tokenizer, example.py and a model card, README.md. The outputs of
    the exported model are compared with attnlab's own on 100 test items, so the data of RUN must
    be there.
    """
    if form is None:
        raise RequestError(f"--format: expected one of {', '.join(FORMATS)}, got none.")
    require_packages(form)
    folder = find_trained(run, runs, None, epoch, average)
    from attnlab.export.exporting import PRECISION, export, require_exportable

    out = out.expanduser() if out else folder.path / f"export_{form}"
    require_exportable(folder, out)
    from attnlab.runner.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average, precision=PRECISION)
    if not trained.load_data(folder):
        click.echo("attnlab: warning: the data has changed since this run was trained", err=True)
    for line in export(folder, trained, form, out):
        click.echo(line)
    click.echo(f"exported: {out}")
