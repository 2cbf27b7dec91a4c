"""`attnlab heads RUN`: what each attention head of a model looks at."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.finding import find_trained
from attnlab.commands.options import (
    check_figure,
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    save_figure,
)
from attnlab.errors import RequestError
from attnlab.records.files import json_text
from attnlab.terminal import plain_console, plain_table

if TYPE_CHECKING:
    from attnlab.records.run_directory import RunDirectory
    from attnlab.runner.loading import TrainedRun


@click.command("heads")
@run_argument
@epoch_options
@click.option(
    "--epochs",
    metavar="EPOCHS",
    help="A row per epoch and head, for all saved epochs (all) or some (1,2,5).",
)
@click.option("--part", default="test", show_default=True, help="Part of the data to read.")
@click.option(
    "--items",
    default=64,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Number of items to read, and of rows of random tokens.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --epochs: draw the induction score of each head over epochs, above the validation "
    "metric. Models that don't read one sequence of tokens: how spread out the weights are.",
)
@form_options("table", "csv", "json")
@runs_option
def command(
    run: str,
    epoch: str | None,
    average: int | None,
    epochs: str | None,
    part: str,
    items: int,
    plot: Path | None,
    form: str,
    runs: str | None,
) -> None:
    """Print what each attention head of RUN looks at: a row per head.

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
    if epochs and (epoch or average):
        raise RequestError("--epochs: use it without --epoch and --average.")
    if plot and not epochs:
        raise RequestError("--plot: it needs epochs, such as --epochs all.")
    check_figure(plot, "--plot")
    folder = find_trained(run, runs, None, "last" if epochs else epoch, average)
    numbers = _numbers(folder, epochs) if epochs else []
    from attnlab.report.heads import LEFT, head_cells, head_rows, heads_figure
    from attnlab.runner.loading import TrainedRun

    trained = TrainedRun.load(folder, "last" if epochs else epoch, average)
    if not trained.load_data(folder):
        click.echo("attnlab: warning: the data has changed since this run was trained", err=True)
    if epochs:
        rows = list(_by_epoch(folder, trained, numbers, part, items))
    else:
        rows = list(head_rows(trained.task, trained.model, part, items))
    if form == "json":
        click.echo(json_text(rows))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    else:
        left = ("epoch", *LEFT) if epochs else LEFT
        header, cells = head_cells(rows, left)
        table = plain_table(header, left)
        for row in cells:
            table.add_row(*row)
        plain_console().print(table)
    if plot:
        save_figure(heads_figure(folder, rows), plot, "--plot")


def _numbers(run: RunDirectory, text: str) -> Sequence[int]:
    """Return the epochs that --epochs means."""
    from attnlab.runner.loading import spans

    saved = run.weights_epochs()
    words = text.replace(" ", "").split(",")
    numbers = saved if text == "all" else [int(word) for word in words if word.isdecimal()]
    if not {*numbers} <= {*saved} or (text != "all" and len(numbers) < len(words)):
        raise RequestError(
            f"--epochs: expected all, or saved epochs ({spans(saved)}) with commas between them, "
            f"got {text}."
        )
    return sorted({*numbers})


def _by_epoch(
    run: RunDirectory, trained: TrainedRun, epochs: Sequence[int], part: str, items: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of each epoch; the model gets its weights."""
    from attnlab.report.heads import head_rows
    from attnlab.runner.loading import load_weights

    for epoch in epochs:
        load_weights(trained.model, [run.weights_path(epoch)], f"the weights of epoch {epoch}")
        for row in head_rows(trained.task, trained.model, part, items):
            yield {"epoch": epoch, **row}
