"""The figures of a classifying run: learning curves, confusion, groups, attention, vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.classification.shown.attention import attention_figure
from attnlab.tasks.shown.run_figures import (
    groups_figure,
    learning_figure,
    result_line,
    run_title,
    vocabulary_figure,
)
from attnlab.views.records import BLUE, ORANGE, Axis, Figure, Maps, figure

_PANELS: dict[str, dict[str, tuple[str, int]]] = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "accuracy": {"val_accuracy": ("validation", BLUE)},
}
# Classes up to which cells of a confusion matrix have their numbers, and their shares.
_MOST_WRITTEN, _MOST_SHARES = 24, 15


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    nouns = f"{noun_of(run.read_predictions(KIND.scoring.text_columns))}s"
    result = result_line(metrics, KIND, "macro_f1", "log_loss")
    by_name = {"loss.png": learning_figure(run.history.read(), metrics, _PANELS, result)}
    if confusion := metrics.get("confusion"):
        counts = np.array(confusion["counts"])
        by_name["confusion.png"] = confusion_figure(counts, confusion["classes"], metrics, nouns)
    if groups := metrics.get("groups"):
        shares = {name: (own["accuracy"], int(own["n"])) for name, own in groups.items()}
        words = {"measure": "accuracy", "items": nouns, "result": result}
        accuracy = metrics["test"]["accuracy"]
        by_name["groups.png"] = groups_figure(shares, accuracy, metrics, **words)
    if recorded := read_attention(run):
        by_name["attention.png"] = attention_figure(recorded.final(), metrics)
    return by_name


def confusion_figure(
    counts: np.ndarray, classes: Sequence[str], metrics: Mapping[str, Any], nouns: str = "texts"
) -> Figure:
    """Draw a confusion matrix: counts, and each class's shares as colours.

    `counts` are (C, C): items by class (row) and predicted class (column).
    """
    number = len(classes)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    rows = [f"{name}  ({count})" for name, count in zip(classes, totals[:, 0], strict=True)]
    cells = []
    if number <= _MOST_WRITTEN:
        cells = [
            [_cell(count, share, number) for count, share in zip(*row, strict=True)]
            for row in zip(counts, shares, strict=True)
        ]
    record = Maps(
        [],
        shares[None],
        Axis("predicted class", list(enumerate(classes))),
        Axis(f"class ({nouns})", list(enumerate(rows))),
        f"share of the {nouns} of a class",
        (0.0, 1.0),
        texts=cells,
        percent=True,
        square=True,
    )
    title = f"{run_title(metrics)}: confusion on the test part"
    return figure(title, result_line(metrics, KIND, "macro_f1", "log_loss"), [[record]])


def _cell(count: int, share: float, classes: int) -> str:
    if not count:
        return ""
    return f"{count}\n{share:.0%}" if classes <= _MOST_SHARES else str(count)


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """Return a map of a classifier's most frequent words, by file name.

    The words are in the plane of the principal components of their vectors. The colour of a word is
    the most probable class of a text of only this word; the smaller that probability, the greyer.

    Raises:
        RequestError: its encoder is a preset, whose embeddings can't be read.
    """
    task, embedding = trained.task, trained.model.embedding
    if embedding is None:
        raise RequestError("RUN: its encoder is a preset, whose embeddings can't be read.")
    ids = task.tokenizer.most_frequent(words)
    shares, chance = task.shares_of(trained.model, np.array(ids)[:, None]), 1 / len(task.classes)
    figure = vocabulary_figure(
        embedding.embeddings.numpy()[ids.start : ids.stop],
        [task.tokenizer.pieces([token])[0] for token in ids],
        title=f"{run_title(trained.config.names)}: vocabulary, epoch {trained.epoch}",
        groups=task.classes,
        members=shares.argmax(axis=1),
        strengths=np.sqrt((shares.max(axis=1) - chance) / (1 - chance)),
    )
    return {"vocabulary.png": figure}
