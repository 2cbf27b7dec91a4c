"""Views of runs that translate: figures, and the sections of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.shown.attention_by_epoch import attention_by_run, fitting, recorded_attention
from attnlab.tasks.shown.item_tables import (
    Cells,
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
from attnlab.tasks.translation.kind import KIND
from attnlab.text.unknown import UNNAMED
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Figure,
    Record,
    Slider,
    Text,
    figure,
)

_PANELS: dict[str, dict[str, tuple[str, int]]] = {
    "loss (nats a token)": {
        # It is above the validation loss until the model overfits.
        "train_loss": ("train, with dropout and\nlabel smoothing if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "perplexity": {"val_perplexity": ("validation", BLUE)},
    "score (0 to 100)": {
        "val_bleu": ("validation BLEU", BLUE),
        "val_chrf": ("validation chrF", GREY),
    },
}
_OF_FIRST = "encoder", "decoder"  # self-attention, recorded for the first sentence
_START = "<start>"  # the name of START in tokenizers
_HEADINGS = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}
_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys. A word of the translation lights up "
    "the source words by their weights; a source word lights up the words of the translation. A "
    "row of the map is a word of the translation, a column a word of the source. {links}Dotted: "
    "changed since the previous epoch. Each epoch has its own greedy translation."
)
_ONE = "weights"  # the name of the only map
_LINKS = "A dashed frame is a gold link of the reference. "


class Sentence(NamedTuple):
    """A test sentence with its translation after an epoch, and the attention between both."""

    cross: np.ndarray  # (L, H, T, S)
    source: list[str]  # labels of the tokens, END included
    target: list[str]  # labels of the tokens, END included unless the translation was cut
    reference: list[str]  # labels of the reference's tokens
    links: list[tuple[int, int]]  # gold links between a token of the reference and of the source


def recorded_sentences(arrays: Mapping[str, np.ndarray]) -> list[Sentence]:
    """Return the sentences of an epoch in attention.npz; see `recorded_examples`."""
    sentences = []
    for row, cross in enumerate(np.nan_to_num(arrays["cross"].astype(np.float32))):
        source, target, reference = (
            _labels(arrays[side][row]) for side in ("source", "target", "reference")
        )
        links = np.argwhere(arrays["links"][row]).tolist() if "links" in arrays else []
        cross = cross[:, :, : len(target), : len(source)]
        sentences.append(
            Sentence(cross, source, target, reference, [(one, other) for one, other in links])
        )
    return sentences


def _labels(padded: np.ndarray) -> list[str]:
    """Return labels without the padding at the end; a label may be empty."""
    places = np.flatnonzero(padded != "")
    return [str(label) for label in padded[: places[-1] + 1]] if len(places) else []


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: learning, and attention per sentence.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    result = result_line(metrics, KIND, "chrf", "perplexity")
    learning = learning_figure(run.history.read(), metrics, _PANELS, result, "perplexity")
    drawings = {"loss.png": learning}
    recorded = read_attention(run)
    if recorded is None:
        return drawings
    arrays, title = recorded.final(), f"{run_title(metrics)}: attention"
    for number, sentence in enumerate(recorded_sentences(arrays), 1):
        links = sentence.links if sentence.target[:-1] == sentence.reference else []
        texts = sentence.source, sentence.target, links
        drawings[f"attention_{number}.png"] = maps_figure(
            {"cross": sentence.cross}, *texts, title=title
        )
        maps = {name: arrays[name].astype(np.float32) for name in _OF_FIRST if name in arrays}
        maps["cross"] = sentence.cross
        if number == 1 and any(max(weights.shape[:2]) > 1 for weights in maps.values()):
            drawings["attention_heads.png"] = maps_figure(maps, *texts, title=title, all_heads=True)
    return drawings


def maps_figure(
    maps: Mapping[str, np.ndarray],
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
    *,
    title: str = "",
    layer: int | None = None,
    head: int | None = None,
    all_heads: bool = False,
) -> Figure:
    """Draw the attention on one sentence.

    By default it is one map, the mean over all layers and heads, or over those chosen by `layer`
    and `head`, which count from 1. With `all_heads` it is all maps: a block per kind of attention,
    a row per layer, a column per head.

    `maps` has "cross", and for a Transformer "encoder" and "decoder": weights (L, H, T, S). Step t
    predicts target token t. Source and target are readable tokens, END included; rows and columns
    after END are padding. `links` are gold links between a target and a source token.

    Raises:
        RequestError: there is no such layer or head.
    """
    if all_heads:
        labels = {
            "encoder": (source, source),
            "decoder": (target, [_START, *target[:-1]]),
            "cross": (target, source),
        }
        blocks = []
        for kind, (rows, columns) in labels.items():
            if kind in maps:
                weights = np.asarray(maps[kind])[:, :, : len(rows), : len(columns)]
                every = weights.reshape(-1, len(rows), len(columns))
                blocks.append(AttentionMap(rows, columns, every, heading=_HEADINGS[kind]))
        return figure(title, "", [[AttentionMaps(blocks, layers=np.shape(maps["cross"])[0])]])
    weights = np.asarray(maps["cross"], np.float64)
    words = []
    for axis, (name, wanted) in enumerate({"layer": layer, "head": head}.items()):
        count = weights.shape[axis]
        if wanted is not None:
            if not 1 <= wanted <= count:
                raise RequestError(f"--{name}: expected 1 to {count}, got {wanted}.")
            weights = np.take(weights, [wanted - 1], axis)
        words += [f"{name} {wanted}"] if wanted else [f"mean of {count} {name}s"] * (count > 1)
        weights = weights.mean(axis=axis, keepdims=True)
    parts = ", ".join(words), "rows: target, columns: source", "frames: gold links" * bool(links)
    item = AttentionMap(target, source, weights[0, :, : len(target), : len(source)], links)
    return figure(title, "; ".join(filter(None, parts)), [[AttentionMaps([item])]])


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """Return a map of each side's most frequent words, by file name; see `vocabulary_figure`."""
    task, maps = trained.task, {}
    for side, table in trained.model.embeddings().items():
        tokenizer = task.tokenizers[side != "source"]
        ids = tokenizer.most_frequent(words)
        vectors, labels = table[ids.start : ids.stop], [tokenizer.pieces([id])[0] for id in ids]
        title = f"{run_title(trained.config.names)}: {side} embeddings, epoch {trained.epoch}"
        maps[f"embeddings_{side}.png"] = vocabulary_figure(vectors, labels, title=title)
    return maps


def translation_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of sentences and each run's translations, from bad to good ones."""
    needed = ("source", "reference", "hypothesis", "sentence_chrf")
    tables, texts = of_same_items(runs, KIND, needed, ["source"])
    if not tables:
        return texts
    order = np.argsort(mean_of(tables, "sentence_chrf"), kind="stable")
    run_cells = [
        Cells("hypothesis", of_several="{label}"),
        Cells("chrF", lambda columns, row: f"{columns['sentence_chrf'][row]:.1f}"),
    ]
    shared = [Cells("source"), Cells("reference")]
    return [items_table(tables, order, "sentences, by chrF", shared, run_cells), *texts]


def attention_records(runs: Sequence[ReportedRun]) -> Sequence[Record]:
    """Return a slider over the recorded epochs for each run with attention."""
    return attention_by_run(runs, _slider_with_note)


def _slider_with_note(run: ReportedRun) -> list[Record]:
    recorded, frames = recorded_attention(run), []
    for epoch in recorded.epochs:
        sentences = recorded_sentences(recorded.at(epoch))
        frames.append(
            [
                AttentionMap(
                    sentence.target,
                    sentence.source,
                    mean_and_all(sentence.cross),
                    reference=sentence.reference,
                    reference_links=[(column, row) for row, column in sentence.links],
                    row_notes=UNNAMED,
                    column_notes=UNNAMED,
                )
                for sentence in sentences
            ]
        )
    frames = fitting(frames, run.room)
    layers, heads = sentences[0].cross.shape[:2]
    names = map_names(layers, heads, len(frames[0][0].weights))
    note = _NOTE.format(links=_LINKS if any(sentence.links for sentence in sentences) else "")
    if len(names) == 1 and names[0] != _ONE:
        note += f" Weights are the {names[0]}."
    slider = Slider(
        run.epochs(recorded.epochs), [[AttentionMaps(items, names)] for items in frames]
    )
    return [Text(note, "note"), slider]


def mean_and_all(cross: np.ndarray) -> np.ndarray:
    """Convert weights (L, H, T, S) to maps: the mean over layers and heads, then each head."""
    mean, single = cross.mean(axis=(0, 1))[None], cross.reshape(-1, *cross.shape[2:])
    return np.concatenate([mean, single]) if len(single) > 1 else mean


def map_names(layers: int, heads: int, maps: int) -> list[str]:
    """Return the names of the first `maps` of `mean_and_all`."""
    words = [f"{layers} layers"] * (layers > 1) + [f"{heads} heads"] * (heads > 1)
    mean = f"mean of {' and '.join(words)}" if words else _ONE
    single = [f"layer {n + 1}, head {m + 1}" for n in range(layers) for m in range(heads)]
    return [mean, *single[: maps - 1]]


VIEWS = Views(
    figures, {"Translations": translation_records, "Attention": attention_records}, vocabulary_maps
)
