"""`attnlab plot positional-encoding`, `plot embeddings`: positions and vocabularies drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from attnlab.commands.options import run_argument, runs_option
from attnlab.commands.plot import output_option, say, writing
from attnlab.commands.runs.finding import find_trained
from attnlab.errors import RequestError
from attnlab.tasks.translation.kind import KIND

_SHOW_DEFAULTS = {"show_default": True}


@click.command(
    "positional-encoding",
    short_help="The sinusoidal encoding: matrix, waves, likeness.",
    context_settings=_SHOW_DEFAULTS,
)
@click.option("--length", default=100, type=click.IntRange(2, 2000), help="Number of positions.")
@click.option("--units", default=128, type=click.IntRange(2, 4096), help="Width of the vectors.")
@click.option(
    "--dimensions", metavar="I,J,...", help="Draw the waves of these, from 0; default a choice."
)
@click.option(
    "--offset",
    type=click.IntRange(1),
    help="Steps that the circles show.  [default: 10, or half the length]",
)
@click.option(
    "--output",
    default="positional-encoding",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures.",
)
def positional_encoding(
    length: int, units: int, dimensions: str | None, offset: int | None, output: Path
) -> None:
    """Draw the sinusoidal encoding: matrix, waves, rotating circles, distances.

    P(k, 2i) = sin(k / 10000^(2i/units)), P(k, 2i+1) = cos(k / 10000^(2i/units)).
    """
    chosen = None if dimensions is None else _dimensions(dimensions, units)
    steps = min(10, max(length // 2, 1)) if offset is None else offset
    if steps >= length:
        raise RequestError(f"--offset: expected 1 to {length - 1}, below --length, got {steps}.")
    from attnlab.layers.sinusoids import sinusoidal
    from attnlab.tasks.translation.figures.positions import draw_positional_encoding

    encoding = sinusoidal(length, units)
    with writing(output):
        say(draw_positional_encoding(encoding, output, dimensions=chosen, offset=steps))


@click.command(
    "embeddings",
    short_help="The vocabularies of a RUN that translates, as maps.",
    context_settings=_SHOW_DEFAULTS,
)
@run_argument
@click.option(
    *("--words",),
    default=150,
    type=click.IntRange(3, 2000),
    help="How many of the most frequent words.",
)
@click.option("--epoch", default="best", help="A number, best or last.")
@output_option
@runs_option
def embeddings(run: str, words: int, epoch: str, output: Path | None, runs: str | None) -> None:
    """Draw the vocabularies that a translation RUN learned as maps: PCA of the embeddings.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find_trained(run, runs, KIND, epoch)
    from attnlab.figures.style import run_title, save
    from attnlab.figures.word_map import word_map
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(found, epoch)
    task: Any = trained.task
    folder = output or found.plots
    drawn = []
    for side, table in trained.model.embeddings().items():
        tokenizer = task.source_tokenizer if side == "source" else task.target_tokenizer
        ids = tokenizer.most_frequent(words)
        vectors, labels = table[ids.start : ids.stop], [tokenizer.pieces([id])[0] for id in ids]
        title = f"{run_title(trained.config.names)}: {side} embeddings, epoch {trained.epoch}"
        figure = word_map(vectors, labels, title=title)
        with writing(folder):
            drawn.append(save(figure, folder / f"embeddings_{side}.png"))
    say(drawn)


def _dimensions(text: str, units: int) -> list[int]:
    words = text.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isdecimal() and len(word) < 10]
    if not 1 <= len(numbers) == len(words) <= 12 or max(numbers) >= units:
        raise RequestError(
            f"--dimensions: expected 1 to 12 numbers from 0 to {units - 1} with commas between, "
            f"got {text}."
        )
    return numbers
