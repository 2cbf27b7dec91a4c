"""`attnlab heads RUN`: what each attention head of a model looks at."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from typing import Any

import click

from attnlab.commands.finding import find_trained
from attnlab.commands.options import epoch_options, form_options, run_argument, runs_option
from attnlab.records.files import json_text
from attnlab.terminal import plain_console, plain_table

_LEFT = ("on", "layer", "head")
_LONGEST = 25  # random tokens that are said twice


@click.command("heads")
@run_argument
@epoch_options
@click.option("--part", default="test", show_default=True, help="Part of the data to read.")
@click.option(
    "--items",
    default=64,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Number of items to read, and of rows of random tokens.",
)
@form_options("table", "csv", "json")
@runs_option
def command(
    run: str,
    epoch: str | None,
    average: int | None,
    part: str,
    items: int,
    form: str,
    runs: str | None,
) -> None:
    """Print what each attention head of RUN looks at: a row per head.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    entropy (nats) and share (of the largest possible entropy) say how spread out the weights are;
    distance is how many steps away a head looks on average. first and previous are the weights on
    the first and on the previous step. duplicate is the weight on earlier occurrences of the same
    token, induction that on the tokens after them. Where the model reads one sequence of tokens,
    all are also measured on random tokens said twice (`repeated`). A `-` stands for what isn't
    defined, such as entropy of weights below 0. `attnlab explain induction` says more.
    """
    folder = find_trained(run, runs, None, epoch, average)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average)
    if not trained.load_data(folder):
        click.echo("attnlab: warning: the data has changed since this run was trained", err=True)
    rows = list(_rows(trained, part, items))
    if form == "json":
        click.echo(json_text(rows))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    else:
        _print(rows)


def _rows(trained: Any, part: str, items: int) -> Iterator[dict[str, Any]]:
    """Yield the measures of each head, None where one is not defined."""
    import numpy as np

    from attnlab.attention.head_measures import measured, recorded
    from attnlab.errors import RequestError
    from attnlab.text.tokenizers import END

    task, model = trained.task, trained.model
    inputs, tokens = task.head_inputs(model, part, items)
    given = [(part, inputs, tokens)]
    if tokens is not None and tokens.shape[1] > 1 and not model.fixed_length:
        words = np.unique(tokens[tokens > END]) if tokens.max() > END else np.unique(tokens)
        shape = items, min(_LONGEST, tokens.shape[1] // 2)
        half = np.random.default_rng(0).choice(words[words >= 0], shape)
        twice = np.tile(half, 2).astype(inputs.dtype)
        given.append(("repeated", twice, twice))
    for name, data, read in given:
        with recorded(model) as found:
            model(data, training=False)
        if not found:
            raise RequestError(
                "RUN: it has no attention layer of attnlab, so there are no heads to measure."
            )
        for layer, looked in found.items():
            measures = measured(looked, read)
            for head in range(looked.weights.shape[1]):
                values = {key: float(each[head]) for key, each in measures.items()}
                numbers = {k: None if math.isnan(v) else v for k, v in values.items()}
                yield {"on": name, "layer": layer, "head": head + 1, **numbers}


def _print(rows: list[dict[str, Any]]) -> None:
    columns = [name for name in rows[0] if name not in _LEFT]
    columns = [name for name in columns if any(row[name] is not None for row in rows)]
    table = plain_table([*_LEFT, *columns], _LEFT)
    for row in rows:
        numbers = ("-" if row[name] is None else f"{row[name]:.3f}" for name in columns)
        table.add_row(*(str(row[name]) for name in _LEFT), *numbers)
    plain_console().print(table)
