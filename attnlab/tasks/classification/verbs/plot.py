"""`attnlab plot vocabulary`: which words speak for which class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from attnlab.commands.options import run_argument, runs_option
from attnlab.commands.plot import output_option, say, writing
from attnlab.commands.runs.finding import find_trained
from attnlab.errors import RequestError
from attnlab.tasks.classification.either import has_images
from attnlab.tasks.classification.kind import KIND


@click.command(
    "vocabulary",
    short_help="The vocabulary of a RUN that classifies, as a map.",
    context_settings={"show_default": True},
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
def vocabulary(run: str, words: int, epoch: str, output: Path | None, runs: str | None) -> None:
    """Draw the vocabulary of a RUN that classifies as a map: PCA of the embeddings.

    A word has the colour of the class that it speaks for, were it the whole text; grey ones speak
    for none. RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find_trained(run, runs, KIND, epoch, prefers=lambda task: not has_images(task))
    if has_images(found.read_config()["task"]["name"]):
        raise RequestError("RUN: expected a run that classifies texts, got one of images.")
    import numpy as np

    from attnlab.figures.style import run_title, save
    from attnlab.run.loading import TrainedRun
    from attnlab.tasks.classification.figures.vocabulary import vocabulary_figure

    trained = TrainedRun.load(found, epoch)
    task: Any = trained.task
    model: Any = trained.model
    # That of a run's encoder, or none that can be asked for its vectors.
    embedding = getattr(
        model, "embedding", getattr(getattr(model, "encoder", None), "embedding", 0)
    )
    if not hasattr(embedding, "embeddings"):
        raise RequestError("RUN: expected a run with embeddings that can be read, got a preset's.")
    ids = task.tokenizer.most_frequent(words)
    shares = task.shares_of(trained.model, np.array(ids)[:, None])
    figure = vocabulary_figure(
        embedding.embeddings.numpy()[ids.start : ids.stop],
        [task.tokenizer.pieces([token])[0] for token in ids],
        shares,
        task.classes,
        title=f"{run_title(trained.config.names)}: vocabulary, epoch {trained.epoch}",
    )
    folder = output or found.plots
    with writing(folder):
        say([save(figure, folder / "vocabulary.png")])
