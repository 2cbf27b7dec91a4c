"""A map of the vocabulary: which words suggest which class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.shown import run_figures
from attnlab.tasks.shown.run_figures import run_title
from attnlab.views.records import Figure


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """The map of a classifier's most frequent words, by file name.

    Raises:
        RequestError: its encoder is a preset, whose embeddings can't be read.
    """
    task, embedding = trained.task, trained.model.embedding
    if embedding is None:
        raise RequestError("RUN: its encoder is a preset, whose embeddings can't be read.")
    ids = task.tokenizer.most_frequent(words)
    figure = vocabulary_figure(
        embedding.embeddings.numpy()[ids.start : ids.stop],
        [task.tokenizer.pieces([token])[0] for token in ids],
        task.shares_of(trained.model, np.array(ids)[:, None]),
        task.classes,
        title=f"{run_title(trained.config.names)}: vocabulary, epoch {trained.epoch}",
    )
    return {"vocabulary.png": figure}


def vocabulary_figure(
    vectors: np.ndarray,
    words: Sequence[str],
    shares: np.ndarray,
    classes: Sequence[str],
    *,
    title: str,
) -> Figure:
    """Words at their places in the plane of their vectors (N, D).

    A word has the colour of its likeliest class, the greyer the less it says: `shares` (N, C) are
    the probabilities of the classes of a text that has this word alone.
    """
    chance = 1 / len(classes)
    strengths = np.sqrt((shares.max(axis=1) - chance) / (1 - chance))
    return run_figures.vocabulary_figure(
        vectors,
        words,
        title=title,
        groups=classes,
        members=shares.argmax(axis=1),
        strengths=strengths,
    )
