"""`attnlab export RUN`: write a run's model into a folder that works without attnlab."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands import options
from attnlab.export import FORMATS


@click.command("export")
@options.run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    required=True,
    help="; ".join(f"{name}: {form.about}" for name, form in FORMATS.items()) + ".",
)
@options.epoch_options
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to write.  [default: export_FORMAT in the run folder]",
)
@options.runs_option
def command(
    run: str, form: str, epoch: str | None, average: int | None, out: Path | None, runs: str | None
) -> None:
    """Write the model of RUN into a folder that works without attnlab.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    The folder has the model, its tokenizer, example.py and a model card, README.md. The outputs of
    the exported model are compared with attnlab's own on 100 test items, so the data of RUN must
    be there.
    """
    folder = options.find_trained(run, runs, epoch, average)
    from attnlab.export.exporting import PRECISION, export, require_exportable
    from attnlab.runner.loading import TrainedRun

    out = out or folder.path / f"export_{form}"
    require_exportable(folder, form, out)
    trained = TrainedRun.load(folder, epoch, average, precision=PRECISION)
    trained.load_data(folder)
    for line in export(folder, trained, form, out):
        click.echo(line)
    click.echo(f"exported: {out}")
