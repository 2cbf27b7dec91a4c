"""How attention was learned: the words of a few test texts at each epoch, shaded by weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.by_item import spread
from attnlab.page.by_run import attention_by_run, by_epoch_or_kept
from attnlab.page.parts import Part, Slider, Text
from attnlab.page.shaded import Looked, shaded_texts
from attnlab.tasks.attention_by_epoch import looks_by_epoch
from attnlab.tasks.base import Shown
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.page.items import likelihood
from attnlab.tasks.classification.word_weights import word_weights
from attnlab.text.unknown import UNNAMED, name_unknown, unknown_notes

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledTexts

_MOST_TEXTS = 8
_NOTE = (
    "The darker a word, the more weight it had; the darkest has the largest weight of its text. "
    "Point at the predicted class, or reach it by Tab, for the largest ones in numbers. Dotted: "
    "another class than at the epoch before."
)
_SELF = " Each word asks: a word's weight is the mean over all that do."
_NAMES = ("text", "class", "predicted")


def attention_parts(shown: Sequence[Shown]) -> list[Part]:
    """A slider over the epochs for each run that attends."""
    return attention_by_run(shown, _run_parts)


def _run_parts(run: Shown) -> list[Part]:
    looked, problems = by_epoch_or_kept(run, _by_epoch, _kept)
    note = Text(_NOTE + _SELF * (looked.queries > 1), "note")
    texts = shaded_texts(looked, run.room, _NAMES)
    return [note, Slider(run.frames(looked.epochs), [texts]), *problems, *run.problems()]


def _by_epoch(run: Shown) -> Looked:
    task: Any = run.task()
    run.load_data()
    data: LabelledTexts = task.data
    part = data.parts["test"]
    rows = _rows(run, part.tokens)
    tokens = part.tokens[rows]
    epochs, found, said, queries = _weights(run, tokens)
    unknown = [task.unknown(part.texts[row]) for row in rows]
    words = [
        name_unknown(task.tokenizer.pieces(row[row != 0]), own)
        for row, own in zip(tokens, unknown, strict=True)
    ]
    notes = unknown_notes(chain.from_iterable(unknown), task.tokenizer.words)
    labels = [data.classes[part.labels[row]] for row in rows]
    names = [[data.classes[number] for number in own] for own in said]
    return Looked(epochs, words, labels, names, found, notes, queries)


def _weights(run: Shown, tokens: np.ndarray) -> tuple[list[int], np.ndarray, list[list[int]], int]:
    """Epochs, weights of words (E, N, H, S), predicted classes by epoch, and how many queries."""
    from attnlab.training.steps import compiled

    epochs, found, said, queries, classify = [], [], [], 1, None
    asked = tokens.astype(np.int32)
    for epoch, model, weights in looks_by_epoch(run, asked):
        classify = classify or compiled(partial(model, training=False), jit=False)
        queries = weights.shape[2]
        found.append(word_weights(np.nan_to_num(weights), tokens != 0))
        said.append(np.asarray(classify(asked)).argmax(axis=1).tolist())
        epochs.append(epoch)
    return epochs, np.stack(found), said, queries


def _kept(run: Shown) -> Looked | None:
    """The same of the best epoch alone, as attention.npz has it; None without one."""
    from attnlab.figures.run import read_attention

    kept = read_attention(run.run)
    if kept is None or not {"weights", "tokens", "label", "prediction"} <= kept.keys():
        return None
    kept = {name: values[:_MOST_TEXTS] for name, values in kept.items()}
    tokens, weights = kept["tokens"], np.nan_to_num(kept["weights"])
    words = [[str(token) for token in row if token] for row in tokens]
    labels, said = ([str(name) for name in kept[side]] for side in ("label", "prediction"))
    found = word_weights(weights, tokens != "")[None]
    best = int(run.metrics.get("best_epoch", 1))
    return Looked([best], words, labels, [said], found, UNNAMED, weights.shape[2])


def _rows(run: Shown, tokens: np.ndarray) -> list[int]:
    """Some test texts, half of them wrong: at equal distances by the probability of their class."""
    columns, path = (
        run.run.read_predictions(KIND.scoring.text_columns),
        run.run.path / "predictions.csv",
    )
    if not {"label", "prediction", "probability"} <= columns.keys():
        raise RequestError(f"{path}: damaged: expected predictions.")
    if len(columns["label"]) != len(tokens):
        raise RequestError(f"{path}: expected {len(tokens)} texts, got {len(columns['label'])}.")
    right = columns["label"] == columns["prediction"]
    # One without a word has nothing to look at.
    order = [row for row in np.argsort(likelihood(columns), kind="stable") if tokens[row].any()]
    wrong = [row for row in order if not right[row]]
    correct = [row for row in order if right[row]]
    count = min(len(wrong), max(_MOST_TEXTS // 2, _MOST_TEXTS - len(correct)))
    found = [*spread(wrong, count), *spread(correct, _MOST_TEXTS - count)]
    if not found:
        raise RequestError(f"{run.run.name}: no test text has a word.")
    return found
