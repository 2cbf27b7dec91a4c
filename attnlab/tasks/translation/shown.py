"""Views of runs that translate: figures, and the sections of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.shown.attention_by_epoch import (
    attention_sliders,
    fitting,
    layer_maps,
)
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
from attnlab.text.vocabulary import UNNAMED
from attnlab.views.records import (
    BLUE,
    GREY,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Figure,
    Record,
    figure,
    head_maps,
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
_NOTE = "Dotted: changed since the previous epoch. Each epoch has its own greedy translation."
_LINKS = " A dashed frame is a gold link of the reference."


class Sentence(NamedTuple):
    """A test sentence with its translation after an epoch, in labels of tokens."""

    cross: np.ndarray  # attention weights (L, H, T, S)
    source: list[str]  # END included
    target: list[str]  # END included unless the translation was cut
    reference: list[str]
    links: list[tuple[int, int]]  # gold links between a token of the reference and of the source


def recorded_sentences(arrays: Mapping[str, np.ndarray]) -> list[Sentence]:
    """Return the sentences of an epoch in attention.npz; see `recorded_examples`."""
    sentences = []
    for row, cross in enumerate(np.nan_to_num(arrays["cross"].astype(np.float32))):
        labels = []
        for side in ("source", "target", "reference"):
            padded = arrays[side][row]  # with "" at the end; a label may be empty, too
            count = max(np.flatnonzero(padded != ""), default=-1) + 1
            labels.append([*map(str, padded[:count])])
        source, target, reference = labels
        links = np.argwhere(arrays["links"][row]).tolist() if "links" in arrays else []
        cross = cross[:, :, : len(target), : len(source)]
        sentences.append(Sentence(cross, source, target, reference, [(a, b) for a, b in links]))
    return sentences


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: learning, and attention per sentence."""
    result = result_line(metrics, KIND, "chrf", "perplexity")
    learning = learning_figure(run.history.read(), metrics, _PANELS, result, "perplexity")
    drawings = {"loss.png": learning}
    recorded = read_attention(run)
    if recorded is None:
        return drawings
    title = f"{run_title(metrics)}: attention"
    for number, sentence in enumerate(recorded_sentences(recorded.final()), 1):
        links = sentence.links if sentence.target[:-1] == sentence.reference else []
        drawings[f"attention_{number}.png"] = maps_figure(
            sentence.cross, sentence.source, sentence.target, links, title=title
        )
    return drawings


def maps_figure(
    cross: np.ndarray,
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
    *,
    title: str = "",
    all_heads: bool = False,
) -> Figure:
    """Draw the cross-attention on one sentence: the mean over all layers and heads.

    With `all_heads` it is a map for each layer and head, without links.

    `cross` are weights (L, H, T, S); step t predicts target token t. Source and target are readable
    tokens, END included; rows and columns after END are padding. `links` are gold links between a
    target and a source token.
    """
    weights = np.asarray(cross, np.float64)[:, :, : len(target), : len(source)]
    sides = "rows: target, columns: source"
    if all_heads:
        return figure(title, sides, [[head_maps(weights, target, source)]])
    counts = zip(weights.shape[:2], ("layers", "heads"), strict=True)
    means = ", ".join(f"mean of {count} {name}" for count, name in counts if count > 1)
    words = filter(None, [means, sides, "frames: gold links" if links else ""])
    item = AttentionMap(target, source, weights.mean(axis=(0, 1))[None], links)
    return figure(title, "; ".join(words), [[AttentionMaps([item])]])


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
    return attention_sliders(runs, _frames)


def _frames(recorded: Recorded, room: int) -> tuple[str, list[list[AttentionMaps]]]:
    frames, links = [], False
    for epoch in recorded.epochs:
        items = []
        for sentence in recorded_sentences(recorded.at(epoch)):
            names, maps = layer_maps(sentence.cross)
            items.append(
                AttentionMap(
                    sentence.target,
                    sentence.source,
                    maps,
                    reference=sentence.reference,
                    reference_links=[(column, row) for row, column in sentence.links],
                    row_notes=UNNAMED,
                    column_notes=UNNAMED,
                )
            )
            links |= bool(sentence.links)
        frames.append(items)
    frames = fitting(frames, room)
    return _NOTE + _LINKS * links, [[AttentionMaps(items, names)] for items in frames]


VIEWS = Views(
    figures, {"Translations": translation_records, "Attention": attention_records}, vocabulary_maps
)
