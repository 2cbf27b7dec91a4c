"""Figures and page sections of runs that classify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Arrays, Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.shown.attention_by_epoch import (
    attention_sliders,
    fitting,
    layer_maps,
)
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    items_table,
    mean_of,
    of_same_items,
)
from attnlab.tasks.shown.run_figures import (
    learning_figure,
    result_line,
    run_title,
    vocabulary_figure,
)
from attnlab.text.cleaning import shorten
from attnlab.text.vocabulary import UNNAMED
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
)

_PANELS: dict[str, dict[str, tuple[str, int]]] = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "accuracy": {"val_accuracy": ("validation", BLUE)},
}
_MOST_WRITTEN = 24  # classes up to which cells of a confusion matrix have their numbers
_MOST_HEADS = 8
_MOST_CHARACTERS = 400
_OF_WORDS = "Dotted: another class than at the previous epoch."
_OF_IMAGES = (
    "First the image, then the rollout of attention through all layers, then the heads of the last "
    "layer. The strongest colour of a map is its largest weight."
)


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name; raise `KeyError` if a file lacks an entry."""
    result = result_line(metrics, KIND, "macro_f1", "log_loss")
    by_name = {"loss.png": learning_figure(run.history.read(), metrics, _PANELS, result)}
    if confusion := metrics.get("confusion"):
        counts = np.array(confusion["counts"])
        by_name["confusion.png"] = confusion_figure(counts, confusion["classes"], metrics)
    if recorded := read_attention(run):
        by_name["attention.png"] = attention_figure(recorded.final(), metrics)
    return by_name


def confusion_figure(
    counts: np.ndarray, classes: Sequence[str], metrics: Mapping[str, Any]
) -> Figure:
    """Draw a confusion matrix: counts, and each class's shares as colours.

    `counts` are (C, C): items by class (row) and predicted class (column).
    """
    totals = counts.sum(axis=1, keepdims=True)
    rows = [f"{name}  ({count})" for name, count in zip(classes, totals[:, 0], strict=True)]
    record = Maps(
        [],
        (counts / np.maximum(totals, 1))[None],
        Axis("predicted class", list(enumerate(classes))),
        Axis("class", list(enumerate(rows))),
        "share of the items of a class",
        (0.0, 1.0),
        texts=counts.astype(str).tolist() if len(classes) <= _MOST_WRITTEN else [],
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

    Of words, weights are means over heads. Of an image, the row has the rollout through all layers,
    and at most eight heads of the last layer.

    Args:
        arrays: of texts, `weights` (N, H, 1, S) and `tokens` (N, S), "" for padding; of images,
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
        subtitle = "mean over heads; darkest: the largest weight of a text"
        record = ShadedWords(sorted(_shaded_texts(arrays), key=lambda text: text.is_right))
    return figure(f"{run_title(metrics)}: {title}", subtitle, [[record]])


def attention_records(runs: Sequence[ReportedRun]) -> Sequence[Record]:
    """Return a slider over the recorded epochs for each run with attention."""
    return attention_sliders(runs, _frames)


def _frames(recorded: Recorded, room: int) -> tuple[str, list[list[Frame]]]:
    """Return an explanation, and the frames of each epoch; `room` is that of `fitting`."""
    epochs = [*recorded.by_epoch.values()]
    if "pixels" in epochs[0]:
        frames = fitting([_image_maps(arrays) for arrays in epochs], room)
        return _OF_IMAGES, [[ImageMaps(images, _image_names(images))] for images in frames]
    texts = fitting([_shaded_texts(arrays) for arrays in epochs], room)
    names, _ = layer_maps(epochs[0]["weights"][:1], "last layer")
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
    weights, is_word = np.asarray(arrays["weights"], np.float32), arrays["tokens"] != ""
    return [
        ShadedText(
            arrays["tokens"][row][is_word[row]].tolist(),
            layer_maps(weights[row, :, 0, is_word[row]].T[None])[1],
            *_answer(arrays, row, "text"),
            notes=UNNAMED,
        )
        for row in range(len(weights))
    ]


def _answer(arrays: Arrays, row: int, noun: str) -> tuple[str, str | None, str]:
    """Return the prediction, the label if it is known, and a note such as `test text 17`."""
    label = str(arrays["label"][row]) if "label" in arrays else None
    note = f"test {noun} {arrays['index'][row]}" if "index" in arrays else ""
    return str(arrays["prediction"][row]), label, note


def item_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of items whose class has a small probability and of some others, and groups.

    Each run's predictions are in the table.
    """

    def words(name: str, columns: Columns, row: int) -> str:
        return shorten(str(columns[name][row]), _MOST_CHARACTERS)

    def predicted(columns: Columns, row: int) -> str:
        prediction = columns["prediction"][row]
        return f"{prediction}{' ✗' * (prediction != columns['label'][row])}"

    needed = ("label", "prediction", "likelihood")
    tables, records = of_same_items(runs, KIND, needed, ("text", "image", "label"))
    if tables:
        first = next(iter(tables.values()))
        noun = noun_of(first)
        order = np.argsort(mean_of(tables, "likelihood"), kind="stable")
        what = f"{noun}s, by the probability p of their class"
        shared = [Cells(noun, partial(words, noun)), Cells("class", partial(words, "label"))]
        shared += [Cells("group", partial(words, "group"))] if "group" in first else []
        per_run = [
            Cells("prediction", predicted, "says {label}"),
            Cells("p", lambda columns, row: f"{columns['likelihood'][row]:.3f}"),
        ]
        records = [items_table(tables, order, what, shared, per_run), *records]
    groups = {run.label: run.metrics["groups"] for run in runs if run.metrics.get("groups")}
    names = dict.fromkeys(name for scores in groups.values() for name in scores)
    rows = [
        [
            name,
            *(
                f"{scores[name]['accuracy']:.3f}" if name in scores else "-"
                for scores in groups.values()
            ),
        ]
        for name in names
    ]
    return [*records, Table("accuracy by group", ["group", *groups], rows)] if rows else records


VIEWS = Views(
    figures, {"Test items": item_records, "Attention": attention_records}, vocabulary_maps
)
