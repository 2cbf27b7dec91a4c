"""`attnlab estimate`: what a run takes on this machine."""

from __future__ import annotations

import json

import click

from attnlab.commands.options import json_option
from attnlab.terminal import duration, plain_console, plain_table


@click.command("estimate")
@click.argument("words", nargs=-1, metavar="[OPTION=NAME]... [KEY=VALUE]...")
@json_option
def command(words: tuple[str, ...], as_json: bool) -> None:
    """Estimate parameters, steps and time of a run, without running it.

    The words are those of a run, such as task=translate attention=bahdanau. The data are prepared,
    and a few gradient steps and a validation are measured. Time is for all epochs: early stopping
    may end the run before.
    """
    from attnlab.config.composing import compose, from_hydra
    from attnlab.runner.estimating import estimate

    result = estimate(from_hydra(compose(words)))
    if as_json:
        print(json.dumps({**result._asdict(), "seconds": result.seconds}, indent=2))
        return
    steps = f"{result.epochs * result.steps_per_epoch:,}"
    table = plain_table(("", " "), {"", " "}, ruled=False)
    table.show_header = False
    for name, text in (
        ("parameters", f"{result.parameters:,}"),
        ("steps", f"{steps}: {result.epochs:,} epochs of {result.steps_per_epoch:,}"),
        ("a step", duration(result.step)),
        ("validation", f"{duration(result.validation)} per epoch on average"),
        ("preparing", f"{duration(result.preparing)}, with compiling"),
        ("total", f"{duration(result.seconds)}, without scoring the test part"),
    ):
        table.add_row(name, text)
    plain_console().print(table)
