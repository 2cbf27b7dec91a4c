"""`attnlab estimate`: what a run takes on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from attnlab.commands.options import form_options
from attnlab.terminal import duration, plain_console, plain_table

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from attnlab.run.estimating import Estimate

_GIB = 2**30


@click.command("estimate")
@click.argument("words", nargs=-1, metavar="[OPTION=NAME]... [KEY=VALUE]...")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Time for measuring steps; compiling and a validation come on top.",
)
@form_options("table", "json")
@click.pass_obj
def command(train: Callable[..., int], words: tuple[str, ...], seconds: float, form: str) -> int:
    """Estimate parameters, steps, memory and time of a run, without running it.

    The words are those of a run, such as task=translate attention=bahdanau. The data are prepared
    and a few gradient steps are measured. A run that doesn't fit into memory is refused with a
    setting that would fit. Time is for all epochs: early stopping may end the run before.
    """
    from attnlab.run.estimating import estimate

    found: list[Estimate] = []

    def job(config: DictConfig) -> int:
        from attnlab.config.composing import from_hydra

        found.append(estimate(from_hydra(config), seconds))
        return 0

    train(list(words), job)
    for each in found:
        print(_as_json(each)) if form == "json" else _print(each)
    return 0


def _as_json(found: Estimate) -> str:
    return json.dumps({**found._asdict(), "seconds": found.seconds}, indent=2)


def _print(found: Estimate) -> None:
    console, table = plain_console(), plain_table(("", " "), {"", " "}, ruled=False)
    for name, text in _rows(found):
        table.add_row(name, text)
    table.show_header = False
    console.print(table)


def _rows(found: Estimate) -> list[tuple[str, str]]:
    steps = found.epochs * found.steps_per_epoch
    memory = "unknown" if found.memory is None else f"{found.memory / _GIB:.1f} GiB so far"
    if found.memory_there is not None:
        memory += f"; this machine has {found.memory_there / _GIB:.1f} GiB"
    return [
        ("parameters", f"{found.parameters:,}"),
        ("steps", f"{steps:,}: {found.epochs:,} epochs of {found.steps_per_epoch:,}"),
        (
            "a step",
            f"{duration(found.step)}, {found.compiler}, median of {found.measured_steps:,} steps",
        ),
        ("validation", f"{duration(found.validation)} per epoch on average"),
        ("preparing", f"{duration(found.preparing)}, with compiling"),
        ("total", f"{duration(found.seconds)}, without scoring the test part"),
        ("main memory", memory),
    ]
