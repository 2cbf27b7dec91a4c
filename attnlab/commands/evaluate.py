"""`attnlab evaluate RUN`: test metrics of any epoch's weights, or of their mean."""

from __future__ import annotations

import json

import click

from attnlab.commands.options import find, run_argument, runs_option
from attnlab.errors import RequestError


@click.command("evaluate")
@run_argument
@click.option(
    "--epoch", default=None, help="A number, best or last.  [default: best; with --average: last]"
)
@click.option(
    "--average",
    type=click.IntRange(min=1),
    help="The mean of that many epochs' weights: up to --epoch, or with --epoch best the best.",
)
@click.option(
    "--part",
    default="test",
    show_default=True,
    help="What to score: test, validation, train, or an extra part of the run.",
)
@click.option("--beam", type=click.IntRange(1, 100), help="Translations: hypotheses kept.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@runs_option
def command(
    run: str,
    epoch: str | None,
    average: int | None,
    part: str,
    beam: int | None,
    as_json: bool,
    runs: str | None,
) -> None:
    """Score weights of RUN on its test part, beside the baselines.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.
    """
    folder = find(run, runs)
    from attnlab.run import console
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch or ("last" if average else "best"), average)
    same = trained.load_data(folder.status.read().get("data_digest"))
    if not same:
        click.echo("attnlab: warning: the data have changed since this run was trained", err=True)
    settings = {} if beam is None else {"beam": beam}
    kind = trained.task.kind
    if not settings.keys() <= set(kind.evaluation):
        raise RequestError(
            f"--beam: expected a run of another kind, got {folder.path}, which is of {kind.name}."
        )
    report = trained.task.evaluate(trained.model, part, **settings)
    result = {
        "task": trained.config.task.name,
        "attention": trained.config.attention.name,
        "seed": trained.config.seed,
        "part": part,
        "epoch": int(trained.epoch) if trained.epoch.isdecimal() else trained.epoch,
        **report.scores(),
    }
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    console.print_table({**result, "test": report.metrics}, f"{part}, epoch {trained.epoch}")
