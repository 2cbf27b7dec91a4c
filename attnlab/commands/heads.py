"""`attnlab heads RUN`: what each attention head of a model looks at."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.records.files import json_text
from attnlab.terminal import plain_console, plain_table

_ITEMS = 64  # test items that are read, and rows of random tokens


@click.command("heads")
@options.run_argument
@options.epoch_options
@click.option("--epochs", is_flag=True, help="A row per saved epoch and head.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --epochs: instead of rows, draw a measure of each head over epochs, above the "
    "validation metric.",
)
@click.option(
    "--measure",
    metavar="COLUMN",
    help="With --plot: what to draw, such as `distance`.  [default: induction; share for models "
    "that don't read one sequence of tokens]",
)
@options.json_option
@options.runs_option
def command(
    run: str,
    epoch: str | None,
    average: int | None,
    epochs: bool,
    plot: Path | None,
    measure: str | None,
    as_json: bool,
    runs: str | None,
) -> None:
    """Print what each attention head of RUN looks at in 64 test items: a row per head.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    entropy (nats) and share (of the largest possible entropy) say how spread out the weights are;
    distance is how many steps away a head looks on average. first and previous are the weights on
    the first and on the previous step. duplicate is the weight on earlier occurrences of the same
    token, induction that on the tokens after them. Where the model reads one sequence of tokens,
    all are also measured on random tokens said twice (`repeated`). Such rows don't fit models that
    answer questions, which have fixed places for a question and its text. A `-` stands for what
    isn't defined, such as entropy of weights below 0. `attnlab explain "induction score"` says
    more.
    """
    if (epochs and (epoch or average)) or (plot and not epochs):
        raise RequestError("--epochs: --plot needs it, and --epoch and --average can't be with it.")
    if measure and not plot:
        raise RequestError("--measure: it needs --plot.")
    options.check_figure(plot, "--plot")
    epoch = "last" if epochs else epoch
    folder = options.find_trained(run, runs, epoch, average)
    from attnlab.report.heads import LEFT, head_cells, head_rows, heads_figure
    from attnlab.runner.loading import TrainedRun
    from attnlab.runner.train import load_weights

    trained = TrainedRun.load(folder, epoch, average)
    trained.load_data(folder)
    rows = [] if epochs else [*head_rows(trained.task, trained.model, _ITEMS)]
    for number in folder.weights_epochs() if epochs else ():
        path = folder.weights_path(number)
        load_weights(trained.model, [path], f"the weights of epoch {number}")
        measures = head_rows(trained.task, trained.model, _ITEMS)
        rows += [{"epoch": number, **row} for row in measures]
    if as_json:
        click.echo(json_text(rows))
    elif not plot:
        header, cells = head_cells(rows)
        table = plain_table(header, LEFT)
        for row in cells:
            table.add_row(*row)
        plain_console().print(table)
    if plot:
        options.save_figure(heads_figure(folder, rows, measure), plot, "--plot")
