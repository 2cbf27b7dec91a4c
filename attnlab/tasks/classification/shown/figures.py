"""The figures of a classifying run: learning curves, confusion, calibration, groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.accuracy_tests import wilson_interval
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.measures import Bins, calibration_bins
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.classification.shown import images, texts
from attnlab.tasks.shown import run_figures
from attnlab.tasks.shown.run_figures import learning_figure, read_attention, result_line, run_title
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    Axis,
    Curve,
    Curves,
    Figure,
    Maps,
    figure,
)

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
    predictions = run.read_predictions(KIND.scoring.text_columns)
    nouns = f"{noun_of(predictions)}s"
    found = {
        "loss.png": curves_figure(run.history.read(), metrics),
        "calibration.png": calibration_figure(predictions, metrics, nouns),
    }
    if confusion := metrics.get("confusion"):
        counts = np.array(confusion["counts"])
        found["confusion.png"] = confusion_figure(counts, confusion["classes"], metrics, nouns)
    if groups := metrics.get("groups"):
        found["groups.png"] = groups_figure(groups, metrics)
    kept = read_attention(run) or {}
    if "tokens" in kept:
        found["attention.png"] = texts.attention_figure(kept, metrics)
    if "pixels" in kept:
        found["attention.png"] = images.attention_figure(kept, metrics)
    if "positions" in kept:
        grid = kept["weights"].shape[2:]
        title = f"{run_title(metrics)}: similarity of learned positions"
        found["positions.png"] = images.positions_figure(kept["positions"], grid, title)
    return found


def curves_figure(history: Mapping[str, list[float]], metrics: Mapping[str, Any]) -> Figure:
    """Draw loss and accuracy by epoch, and mark the best epoch.

    The history has `epoch` and `train_loss`; with a validation part also `val_loss` and
    `val_accuracy`. Epochs without a score have NaN.
    """
    return learning_figure(history, metrics, _PANELS, _result(metrics))


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
    return figure(title, _result(metrics), [[record]])


def _cell(count: int, share: float, classes: int) -> str:
    if not count:
        return ""
    return f"{count}\n{share:.0%}" if classes <= _MOST_SHARES else str(count)


def calibration_figure(
    predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any], nouns: str = "texts"
) -> Figure:
    """Draw accuracy by confidence: a reliability diagram, as Guo et al. 2017, figure 1.

    Differences: a bin is a point at its mean confidence, with Wilson's 95 % interval, instead of a
    bar. A second chart shows the number of items per bin.
    """
    right = predictions["label"] == predictions["prediction"]
    found = calibration_bins(predictions["probability"], right)
    error = metrics["test"].get("calibration_error")
    said = "" if error is None else f", expected calibration error {error:.3g}"
    title = f"{run_title(metrics)}: calibration{said}"
    rows = [[_accuracy_chart(found, nouns)], [_counts_chart(found, nouns)]]
    return figure(title, _result(metrics), rows, (7, 5.4), (3, 1))


def _accuracy_chart(found: Bins, nouns: str) -> Curves:
    """Draw the accuracy of the bins by their mean confidence."""
    bins = np.flatnonzero(found.counts)
    shares, counts = found.accuracy[bins], found.counts[bins]
    ends = [
        wilson_interval(round(share * count), int(count))
        for share, count in zip(shares, counts, strict=True)
    ]
    low, high = np.array(ends).T
    name = f"test {nouns} of a bin, 95 % interval"
    return Curves(
        "",
        "",
        "accuracy",
        found.confidence[bins],
        [
            Curve("perfect calibration", [0, 1], GREY, x=[0, 1]),
            Curve(name, shares, BLUE, low, high, "errors"),
        ],
        same_x=True,
        x_limits=(0.0, 1.0),
        y_limits=(-0.02, 1.04),
    )


def _counts_chart(found: Bins, nouns: str) -> Curves:
    """Draw the number of items per bin."""
    size = 1 / len(found.counts)
    return Curves(
        "",
        "probability of the predicted class (below the line: overconfident)",
        nouns,
        (np.arange(len(found.counts)) + 0.5) * size,
        [Curve("", found.counts, BLUE, form="bars")],
        legend="none",
        x_limits=(0.0, 1.0),
    )


def groups_figure(groups: Mapping[str, Mapping[str, float]], metrics: Mapping[str, Any]) -> Figure:
    """Draw the accuracy by group, with Wilson's 95 % interval, and that of all texts.

    With more than 40 groups only the largest are shown.
    """
    shares = {name: (each["accuracy"], int(each["n"])) for name, each in groups.items()}
    words = {"measure": "accuracy", "items": "texts", "result": _result(metrics)}
    return run_figures.groups_figure(shares, metrics["test"]["accuracy"], metrics, **words)


def _result(metrics: Mapping[str, Any]) -> str:
    return result_line(metrics, KIND, "macro_f1", "log_loss")


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """Return a map of a classifier's most frequent words, by file name.

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
    """Draw words in the plane of the principal components of their vectors (N, D).

    A word has the colour of its most probable class; the smaller that probability, the greyer.
    `shares` (N, C) are the class probabilities of a text of only this word.
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
