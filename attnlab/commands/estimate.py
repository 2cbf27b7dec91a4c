"""`attnlab estimate`: what a run takes on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import json_option
from attnlab.terminal import duration

if TYPE_CHECKING:
    from attnlab.config.sections import RunConfig

_FEW = 2  # steps of the first measurement
_AIM = 2.0  # seconds that the measured steps should take
_COMPILING = 10.0  # seconds; a first validation that took less may be mostly compiling


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

    numbers = _measure(from_hydra(compose(words)))
    if as_json:
        print(json.dumps(numbers, indent=2))
        return
    epochs, steps = numbers["epochs"], numbers["steps_per_epoch"]
    for name, text in (
        ("parameters", f"{numbers['parameters']:,}"),
        ("steps", f"{epochs * steps:,}: {epochs:,} epochs of {steps:,}"),
        ("a step", duration(numbers["step"])),
        ("validation", f"{duration(numbers['validation'])} per epoch on average"),
        ("preparing", f"{duration(numbers['preparing'])}, with compiling"),
        ("total", f"{duration(numbers['seconds'])}, without scoring the test part"),
    ):
        click.echo(f"{name:<11}{text}")


def _measure(config: RunConfig) -> dict[str, Any]:
    """Measure some steps of a run, and a validation; returns numbers and seconds, by name."""
    import numpy as np

    from attnlab.runner.console import screen
    from attnlab.runner.train import make_learner, memory_errors_explained, prepare, start_afresh

    started, epochs = time.perf_counter(), config.trainer.epochs
    with screen() as shown, memory_errors_explained(config):
        task, _ = prepare(config, shown)
        start_afresh(config.seed)
        learner = make_learner(config, task)
        chunks = learner.chunks(1)
        shown.working(0, None, "measuring")

        def seconds_per_step(steps: int) -> float:
            chunk = chunks[0].first(steps)
            rates = np.zeros(chunk.steps, np.float32)
            learner.train(chunk, rates, 0)  # compiles
            return _seconds(lambda: learner.train(chunk, rates, 0)) / chunk.steps

        step = seconds_per_step(_FEW)
        validation = _seconds(lambda: learner.validate(epochs))
        preparing = time.perf_counter() - started
        if _FEW * step < _AIM:  # a call has a cost of its own, so many fast steps are measured
            step = seconds_per_step(int(_AIM / step))
        if validation < _COMPILING:
            validation = _seconds(lambda: learner.validate(epochs))
        every = config.task.settings.get("score_every", 1)
        if every > 1 and epochs > 1:  # only some epochs are scored, the last one among them
            share = -(-epochs // every) / epochs
            validation = share * validation + (1 - share) * _seconds(lambda: learner.validate(1))
    steps = sum(chunk.steps for chunk in chunks)
    return {
        "parameters": learner.model.count_params(),
        "epochs": epochs,
        "steps_per_epoch": steps,
        "step": step,
        "validation": validation,
        "preparing": preparing,
        "seconds": preparing + epochs * (steps * step + validation),
    }


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
