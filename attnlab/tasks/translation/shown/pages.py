"""Sections of a page about runs that translate: sentences, and attention by epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.attention_by_epoch import attention_by_run, fitting
from attnlab.tasks.shown.item_tables import (
    Cells,
    items_table,
    of_same_items,
    read_items,
    text_cells,
)
from attnlab.tasks.translation.kind import KIND
from attnlab.tasks.translation.shown.maps import recorded_sentences
from attnlab.text.unknown import UNNAMED
from attnlab.views.records import AttentionMap, AttentionMaps, Record, Slider, Text

_MOST = 24  # sentences in the table of translations
_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys. A word of the translation lights up "
    "the source words by their weights; a source word lights up the words of the translation. A "
    "row of the map is a word of the translation, a column a word of the source. {links}Dotted: "
    "changed since the previous epoch. Each epoch has its own greedy translation."
)
_ONE = "weights"  # the name of the only map
_LINKS = "A dashed frame is a gold link of the reference. "


def translation_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of sentences and each run's translations, from bad to good ones.

    The sentences are at equal distances in the order of their scores.
    """
    tables, texts = of_same_items(
        runs,
        lambda run: read_items(run, KIND, ("source", "reference", "hypothesis", "sentence_chrf")),
        lambda _: ("source",),
    )
    if not tables:
        return texts
    label, columns = next(iter(tables.items()))
    count = len(columns["source"])
    order = np.argsort(columns["sentence_chrf"], kind="stable")
    rows = order[np.linspace(0, count - 1, min(_MOST, count)).astype(int)] if count else []
    title = f"{len(rows)} of {count:,} test sentences, at equal distances from the worst score to "
    title += "the best one" if len(tables) == 1 else f"the best one of {label}"
    (hypothesis,) = text_cells("hypothesis")
    run_cells = [
        hypothesis._replace(name=label, of_several="{label}"),
        Cells("chrF", lambda columns, row: f"{columns['sentence_chrf'][row]:.1f}"),
    ]
    return [items_table(title, tables, rows, text_cells("source", "reference"), run_cells), *texts]


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the recorded epochs for each run with attention."""
    return attention_by_run(runs, _slider_with_note)


def _slider_with_note(run: ReportedRun) -> list[Record]:
    recorded = read_attention(run.run)
    if recorded is None:
        raise RequestError(f"{run.run.path / 'attention.npz'}: not found.")
    frames = []
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
