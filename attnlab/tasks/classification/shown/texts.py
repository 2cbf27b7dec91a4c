"""The attention of a classifier on words: a figure, and records by epoch for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.accuracy_tests import wrong_first
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.shown.items import PREDICTED, likelihood
from attnlab.tasks.classification.word_weights import word_weights
from attnlab.tasks.shown.attention_by_epoch import (
    Learned,
    attention_by_epoch,
    attention_by_run,
    learned_records,
    mean_and_heads,
)
from attnlab.tasks.shown.item_tables import read_items, spread
from attnlab.tasks.shown.run_figures import read_attention, run_title
from attnlab.text.unknown import name_unknown, unknown_notes
from attnlab.views.records import Figure, Record, ShadedText, ShadedWords, Text, figure

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledTexts

_MOST_DRAWN, _MOST_TEXTS = 10, 8  # in a figure, on a page
_NOTE = (
    "The darker a word, the larger its weight; the darkest has the largest weight of its text. "
    "Point at the predicted class, or reach it by Tab, to read the largest weights. Dotted: "
    "another class than at the previous epoch."
)
_SELF = " Each word is a query: a word's weight is the mean over all queries."


def attention_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention on the words of up to ten test texts, wrongly classified ones first.

    Weights are means over heads and over queries without padding. Half of the texts are wrongly
    classified, if there are enough.

    Args:
        kept: `weights` (N, H, T, S); `tokens` (N, S), "" for padding; `prediction` (N,), names of
            classes; if the classes are known also `label` (N,), and `index` (N,), rows of
            predictions.csv.
        metrics: metrics.json of the run.
    """
    _, heads, queries, _ = kept["weights"].shape
    labels = kept.get("label", kept["prediction"])
    rows = wrong_first(labels == kept["prediction"], _MOST_DRAWN)
    means = [f"{heads} heads"] * (heads > 1) + ["the queries of a text"] * (queries > 1)
    subtitle = f"mean over {' and '.join(means)}; " if means else ""
    subtitle += "darkest: the largest weight of a text"
    record = ShadedWords(_kept_texts(kept, rows))
    return figure(f"{run_title(metrics)}: attention on words", subtitle, [[record]])


def _kept_texts(kept: Mapping[str, np.ndarray], rows: Sequence[int]) -> list[ShadedText]:
    """Return the texts of attention.npz."""
    known = kept["tokens"] != ""
    weights = word_weights(np.nan_to_num(np.asarray(kept["weights"], np.float64)), known)
    return [
        ShadedText(
            [str(token) for token in kept["tokens"][row][known[row]]],
            mean_and_heads(weights[row][:, known[row]]),
            str(kept["prediction"][row]),
            str(kept["label"][row]) if "label" in kept else None,
            f"test text {kept['index'][row]}" if "index" in kept else "",
        )
        for row in rows
    ]


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run with attention."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    queries: set[int] = set()
    by_epoch, best = partial(_by_epoch, queries=queries), partial(_best, queries=queries)
    found = learned_records(run, by_epoch, best, ShadedWords)
    return [Text(_NOTE + _SELF * (max(queries) > 1), "note"), *found]


def _by_epoch(run: ReportedRun, queries: set[int]) -> Learned:
    from attnlab.training.steps import compiled

    task: Any = run.task()
    run.load_data()
    data: LabelledTexts = task.data
    part = data.parts["test"]
    rows = _rows(run, part.tokens)
    tokens = part.tokens[rows].astype(np.int32)
    words, notes = _words(task, part, rows)
    found, classify = Learned([], [], 1), None
    for epoch, model, weights in attention_by_epoch(run, tokens):
        classify = classify or compiled(partial(model, training=False), jit=False)
        said = np.asarray(classify(tokens)).argmax(axis=1)
        looked = word_weights(np.nan_to_num(weights), tokens != 0)
        texts = [
            ShadedText(
                own,
                mean_and_heads(looked[place][:, : len(own)]),
                data.classes[said[place]],
                data.classes[part.labels[row]],
                notes=notes,
            )
            for place, (row, own) in enumerate(zip(rows, words, strict=True))
        ]
        found.epochs.append(epoch)
        found.frames.append(texts)
        found = found._replace(heads=weights.shape[1])
        queries.add(weights.shape[2])
    return found


def _words(task: Any, part: Any, rows: Sequence[int]) -> tuple[list[list[str]], dict[str, str]]:
    """Return the words of texts, and notes on those that the model doesn't know."""
    unknown = [task.unknown(part.texts[row]) for row in rows]
    words = [
        name_unknown(task.tokenizer.pieces(part.tokens[row][part.tokens[row] != 0]), own)
        for row, own in zip(rows, unknown, strict=True)
    ]
    return words, unknown_notes(chain.from_iterable(unknown), task.tokenizer.words)


def _best(run: ReportedRun, queries: set[int]) -> Learned | None:
    """Return the best epoch from attention.npz; None if there is no such file."""
    kept = read_attention(run.run)
    if kept is None or not {"weights", "tokens", "label", "prediction"} <= kept.keys():
        return None
    queries.add(kept["weights"].shape[2])
    texts = _kept_texts(kept, range(min(len(kept["tokens"]), _MOST_TEXTS)))
    return Learned([int(run.metrics.get("best_epoch", 1))], [texts], kept["weights"].shape[1])


def _rows(run: ReportedRun, tokens: np.ndarray) -> list[int]:
    """Choose test texts, half of them wrong, at equal distances by their class's probability."""
    columns = read_items(run, KIND, PREDICTED, len(tokens), "texts")
    right = columns["label"] == columns["prediction"]
    # A text without words has no weights.
    order = [row for row in np.argsort(likelihood(columns), kind="stable") if tokens[row].any()]
    wrong = [row for row in order if not right[row]]
    correct = [row for row in order if right[row]]
    count = min(len(wrong), max(_MOST_TEXTS // 2, _MOST_TEXTS - len(correct)))
    found = [*spread(wrong, count), *spread(correct, _MOST_TEXTS - count)]
    if not found:
        raise RequestError(f"{run.run.name}: no test text has a word.")
    return found
