"""Figures and page sections of runs that classify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Arrays, Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.classification.data import word_weights
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.shown.attention_by_epoch import (
    attention_sliders,
    fitting,
    map_names,
    mean_and_heads,
)
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    items_table,
    mean_of,
    of_same_items,
    results_by_group,
)
from attnlab.tasks.shown.run_figures import (
    learning_figure,
    result_line,
    run_title,
    vocabulary_figure,
)
from attnlab.text.cleaning import shortened
from attnlab.text.unknown import UNNAMED
from attnlab.views.records import (
    BLUE,
    ORANGE,
    Axis,
    Figure,
    Frame,
    ImageMap,
    ImageMaps,
    Maps,
    Record,
    ShadedText,
    ShadedWords,
    Table,
    figure,
    tabs,
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
_MOST_HEADS = 8
_CELLS = 32**2  # least cells of an image on a page
_OF_WORDS = (
    "The darker a word, the larger its weight, a mean over the queries of self-attention; the "
    "darkest has the largest weight of its text. Point at the predicted class, or reach it by Tab, "
    "to read the largest weights. Dotted: another class than at the previous epoch."
)
_OF_IMAGES = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)
_MOST_CHARACTERS = 400
_MOST_CLASSES = 12  # of a confusion table; the figure of a run has up to 100


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
            [
                f"{count}\n{share:.0%}" * bool(count)
                if number <= _MOST_SHARES
                else str(count or "")
                for count, share in zip(*row, strict=True)
            ]
            for row in zip(counts.tolist(), shares, strict=True)
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


def attention_figure(arrays: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention on texts or images, wrongly classified ones first.

    Of words, weights are means over heads and over queries without padding. Of an image, the row
    has the rollout through all layers, and at most eight heads of the last layer.

    Args:
        arrays: of texts, `weights` (N, H, T, S) and `tokens` (N, S), "" for padding; of images,
            `weights` (N, 1 + H, rows, columns), the rollout first, and `pixels` (N, height, width,
            channels) of bytes. `prediction` (N,) has names of classes; if the classes are known
            `label` (N,), too, and `index` (N,), rows of predictions.csv.
        metrics: metrics.json of the run.
    """
    if "pixels" in arrays:
        title, heads = "attention on images", arrays["weights"].shape[1] - 1
        subtitle = "brightest: the largest weight of a map; heads are those of the last layer"
        subtitle += f", {_MOST_HEADS} of {heads}" if heads > _MOST_HEADS else ""
        images = sorted(_image_maps(arrays), key=lambda image: image.is_right)
        record: Frame = ImageMaps(images, _image_names(images))
    else:
        title = "attention on words"
        subtitle = "mean over heads and queries; darkest: the largest weight of a text"
        record = ShadedWords(sorted(_shaded_texts(arrays), key=lambda text: text.is_right))
    return figure(f"{run_title(metrics)}: {title}", subtitle, [[record]])


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the recorded epochs for each run with attention."""
    return attention_sliders(runs, _frames)


def _frames(recorded: Recorded, room: int) -> tuple[str, list[list[Frame]]]:
    epochs = [*recorded.by_epoch.values()]
    if "pixels" in epochs[0]:
        frames = [_image_maps(arrays) for arrays in epochs]
        # A page also has the image at each epoch.
        size = len(frames) * sum(max(weights.size, _CELLS) for weights in frames[0][0].weights)
        count = max(room // (size + len(frames) * _CELLS), 1)
        return _OF_IMAGES, [[ImageMaps(images[:count], _image_names(images))] for images in frames]
    texts = fitting([_shaded_texts(arrays) for arrays in epochs], room)
    names = map_names(epochs[0]["weights"].shape[1], len(texts[0][0].weights))
    return _OF_WORDS, [[ShadedWords(items, names)] for items in texts]


def _image_names(images: Sequence[ImageMap]) -> list[str]:
    return ["rollout", *(f"head {number}" for number in range(1, len(images[0].weights)))]


def _image_maps(arrays: Arrays) -> list[ImageMap]:
    weights = np.nan_to_num(np.asarray(arrays["weights"], np.float32)[:, : 1 + _MOST_HEADS])
    return [
        ImageMap(arrays["pixels"][row], weights[row], *_answer(arrays, row, "image"))
        for row in range(len(weights))
    ]


def _shaded_texts(arrays: Arrays) -> list[ShadedText]:
    is_word = arrays["tokens"] != ""
    weights = word_weights(np.nan_to_num(np.asarray(arrays["weights"], np.float64)), is_word)
    return [
        ShadedText(
            arrays["tokens"][row][is_word[row]].tolist(),
            mean_and_heads(weights[row][:, is_word[row]]),
            *_answer(arrays, row, "text"),
            notes=UNNAMED,
        )
        for row in range(len(weights))
    ]


def _answer(arrays: Arrays, row: int, noun: str) -> tuple[str, str | None, str]:
    """Return the prediction, the label if it is known, and which test item it is."""
    label = str(arrays["label"][row]) if "label" in arrays else None
    which = f"test {noun} {arrays['index'][row]}" if "index" in arrays else ""
    return str(arrays["prediction"][row]), label, which


def item_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of items and predictions, then confusion tables, then results by group."""
    needed = ("label", "prediction", "likelihood")
    tables, texts = of_same_items(runs, KIND, needed, ("text", "image", "label"))
    nouns = f"{noun_of(next(iter(tables.values())))}s" if tables else "items"
    matrices = {run.label: run.metrics.get("confusion") for run in runs}
    confused = {
        label: [_confusion(matrix, nouns)]
        for label, matrix in matrices.items()
        if matrix and len(matrix["classes"]) <= _MOST_CLASSES
    }
    return [
        *([_table(tables)] if tables else []),
        *texts,
        *tabs(confused, named=len(runs) > 1),
        *results_by_group(
            runs, "accuracy by group", ("group", nouns), {"accuracy": ("accuracy", ".3f")}
        ),
    ]


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the items with the smallest probability of their class, and some up to the largest."""
    first = next(iter(tables.values()))
    noun = noun_of(first)
    order = np.argsort(mean_of(tables, "likelihood"), kind="stable")
    what = f"{noun}s, by the probability p of their class"

    def cell(name: str) -> Callable[[Columns, int], str]:
        return lambda own, row: shortened(str(own[name][row]), _MOST_CHARACTERS)

    def predicted(own: Columns, row: int) -> str:
        return (
            f"{own['prediction'][row]}{'' if own['prediction'][row] == own['label'][row] else ' ✗'}"
        )

    shared = [Cells(noun, cell(noun)), Cells("class", cell("label"))]
    shared += [Cells("group", cell("group"))] if "group" in first else []
    per_run = [
        Cells("prediction", predicted, "says {label}"),
        Cells("p", lambda own, row: f"{own['likelihood'][row]:.3f}"),
    ]
    return items_table(tables, order, what, shared, per_run)


def _confusion(confusion: Mapping[str, Any], nouns: str) -> Table:
    """Return a table of classes by predicted class."""
    classes, counts = confusion["classes"], np.array(confusion["counts"])
    rows = []
    for number, (name, row) in enumerate(zip(classes, counts, strict=True)):
        share = f"{row[number] / row.sum():.1%}" if row.any() else "-"
        rows.append([name, *map(str, row), str(row.sum()), share])
    title = f"{nouns} of each class (rows) by predicted class (columns)"
    return Table(title, ["class", *classes, nouns, "right"], rows)


VIEWS = Views(
    figures, {"Test items": item_records, "Attention": attention_records}, vocabulary_maps
)
