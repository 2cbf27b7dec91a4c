"""`attnlab evaluate RUN`: test metrics of any epoch's weights."""

from __future__ import annotations

import json

import click

from attnlab.commands.options import find, run_argument, runs_option


@click.command("evaluate")
@run_argument
@click.option("--epoch", default="best", show_default=True, help="A number, best or last.")
@click.option(
    "--part",
    default="test",
    show_default=True,
    type=click.Choice(["test", "validation", "train"]),
    help="What to score.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@runs_option
def command(run: str, epoch: str, part: str, as_json: bool, runs: str | None) -> None:
    """Score the weights of one epoch of RUN on its test part, beside the baselines.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.
    """
    folder = find(run, runs)
    from attnlab import console
    from attnlab.errors import RequestError
    from attnlab.trained import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    same = trained.load_data(folder.read_status().get("data_digest"))
    if not same:
        click.echo("attnlab: warning: the data have changed since this run was trained", err=True)
    parts = trained.task.splits.describe()
    if not parts[part]:
        raise RequestError(f"--part: expected a part that the run has, got {part}.")
    windows = trained.task.splits.part(part)
    forecast = trained.model.predict(windows.history, batch_size=256, verbose=0)
    report = trained.task.report(forecast, part)
    result = {
        "task": trained.config.task.name,
        "attention": trained.config.attention.name,
        "seed": trained.config.seed,
        "part": part,
        "epoch": trained.epoch,
        **report.scores(),
    }
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    console.print_table({**result, "test": report.metrics}, f"{part}, epoch {trained.epoch}")
