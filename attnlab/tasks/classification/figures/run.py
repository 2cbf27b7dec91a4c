"""The figures of a run that classifies: how it learned, what it mistook, how sure it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from attnlab.figures.groups import shares_figure
from attnlab.figures.labels import drawable, label_font, widest
from attnlab.figures.learning import panels_figure
from attnlab.figures.run import read_attention
from attnlab.figures.style import (
    BLACK,
    BLUE,
    COLOUR_MAP,
    GREY,
    ORANGE,
    new_figure,
    result_line,
    run_title,
    tidy,
)
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.accuracy_tests import wilson_interval
from attnlab.tasks.classification.figures.image_maps import image_maps_figure, positions_figure
from attnlab.tasks.classification.figures.words import words_figure
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.measures import calibration_bins
from attnlab.tasks.classification.report import noun_of

_PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "accuracy": {"val_accuracy": ("validation", BLUE)},
}
_MOST_WRITTEN = 24  # classes up to which cells of a confusion matrix have their numbers
_LABEL = 22  # characters of a class


def classification_figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: Something is missing in one of them.
    """
    predictions = run.read_predictions(KIND.scoring.text_columns)
    nouns = f"{noun_of(predictions)}s"
    figures = {
        "loss.png": curves_figure(run.history.read(), metrics),
        "calibration.png": calibration_figure(predictions, metrics, nouns),
    }
    if confusion := metrics.get("confusion"):
        counts = np.array(confusion["counts"])
        figures["confusion.png"] = confusion_figure(counts, confusion["classes"], metrics, nouns)
    if groups := metrics.get("groups"):
        figures["groups.png"] = groups_figure(groups, metrics)
    kept = read_attention(run) or {}
    if "tokens" in kept:
        figures["attention.png"] = words_figure(kept, metrics)
    if "pixels" in kept:
        figures["attention.png"] = image_maps_figure(kept, metrics)
    if "positions" in kept:
        grid = kept["weights"].shape[2:]
        title = f"{run_title(metrics)}: similarity of learned positions"
        figures["positions.png"] = positions_figure(kept["positions"], grid, title)
    return figures


def curves_figure(history: Mapping[str, list[float]], metrics: Mapping[str, Any]) -> Figure:
    """Loss and accuracy by epoch, the best epoch marked.

    The history has `epoch`, `train_loss` and perhaps `val_loss` and `val_accuracy`; epochs without
    a score have NaN.
    """
    return panels_figure(history, metrics, _PANELS, _result(metrics))


def confusion_figure(
    counts: np.ndarray, classes: Sequence[str], metrics: Mapping[str, Any], nouns: str = "texts"
) -> Figure:
    """Which class was taken for which: counts, and as colours the share of each class's items.

    `counts` are (C, C), a row for the items of a class, a column for those said to be of it.
    """
    number = len(classes)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    cell = float(np.clip(7.0 / number, 0.16, 1.0))
    size = float(np.clip(11 * cell / 0.6, 5, 9))
    names = [drawable(name, _LABEL) for name in classes]
    rows = [f"{name}  ({count})" for name, count in zip(names, totals[:, 0], strict=True)]
    left, below = widest(rows, size), widest(names, size)
    title = f"{run_title(metrics)}: confusion on the test part"
    width = max(2.2 + left + number * cell, 7.0)
    figure = new_figure(width, 1.5 + below + number * cell, title, _result(metrics))
    axes = figure.add_subplot()
    picture = axes.imshow(shares, cmap=COLOUR_MAP, vmin=0, vmax=1, interpolation="nearest")
    bar = figure.colorbar(picture, ax=axes, format=PercentFormatter(1), shrink=0.9)
    bar.set_label(f"share of the {nouns} of a class", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    font = label_font(size)
    axes.set_xticks(range(number), names, rotation=90 if below > 0.9 * cell else 0)
    axes.set_yticks(range(number), rows)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontproperties(font)
        label.set_parse_math(False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("predicted class")
    axes.set_ylabel(f"class ({nouns})")
    if number <= _MOST_WRITTEN:
        for row, column in np.argwhere(counts):
            share = shares[row, column]
            text = f"{counts[row, column]}" + f"\n{share:.0%}" * (cell > 0.45)
            colour = "white" if share < 0.5 else BLACK
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)
    return figure


def calibration_figure(
    predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any], nouns: str = "texts"
) -> Figure:
    """Accuracy by how sure the model was: a reliability diagram, as Guo et al. 2017, figure 1.

    Differences: points at the mean confidence of a bin, with Wilson's 95 % interval, in place of
    bars; below them how many items there are.
    """
    right = predictions["label"] == predictions["prediction"]
    found = calibration_bins(predictions["probability"], right)
    error = metrics["test"].get("calibration_error")
    said = "" if error is None else f", expected calibration error {error:.3g}"
    title = f"{run_title(metrics)}: calibration{said}"
    figure = new_figure(7, 5.4, title, _result(metrics))
    upper, lower = figure.subplots(2, 1, height_ratios=(3, 1), sharex=True)
    upper.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="as right as sure")
    bins = np.flatnonzero(found.counts)
    ends = [
        wilson_interval(round(found.accuracy[n] * found.counts[n]), int(found.counts[n]))
        for n in bins
    ]
    shares = found.accuracy[bins]
    distances = np.abs(np.array(ends).T - shares)
    style: dict[str, Any] = {"color": BLUE, "ecolor": BLUE, "elinewidth": 1, "markersize": 5}
    label = f"test {nouns} of a bin, 95 % interval"
    upper.errorbar(found.confidence[bins], shares, distances, fmt="o-", label=label, **style)
    upper.set_ylim(-0.02, 1.04)
    upper.set_ylabel("share that is right")
    upper.legend(frameon=False, fontsize=9, loc="upper left")
    size = 1 / len(found.counts)
    lower.bar((np.arange(len(found.counts)) + 0.5) * size, found.counts, 0.92 * size, color=BLUE)
    lower.set_ylabel(nouns)
    lower.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    lower.set_xlabel("probability of the predicted class (below the line: too sure)")
    lower.set_xlim(0, 1)
    tidy(upper)
    tidy(lower)
    return figure


def groups_figure(groups: Mapping[str, Mapping[str, float]], metrics: Mapping[str, Any]) -> Figure:
    """Accuracy by group, with Wilson's 95 % interval, and that of all texts.

    Of more than 40 groups the largest are shown.
    """
    shares = {name: (each["accuracy"], int(each["n"])) for name, each in groups.items()}
    words = {"measure": "accuracy", "items": "texts", "result": _result(metrics)}
    return shares_figure(shares, metrics["test"]["accuracy"], metrics, **words)


def _result(metrics: Mapping[str, Any]) -> str:
    return result_line(metrics, KIND, "macro_f1", "log_loss")
