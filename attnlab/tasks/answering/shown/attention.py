"""Attention by epoch: the weights of a few texts' words on the words of their questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.answering.examples import placed, shown_window
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.shown.figures import MOST_QUESTIONS, NOTHING, kept_map, span
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.shown.attention_by_epoch import (
    Learned,
    attention_by_epoch,
    attention_by_run,
    learned_records,
    mean_and_heads,
)
from attnlab.tasks.shown.item_tables import read_items
from attnlab.tasks.shown.run_figures import read_attention
from attnlab.text.tokenizers import UNKNOWN
from attnlab.text.unknown import name_unknown, unknown_notes
from attnlab.views.records import (
    AttentionMap,
    AttentionMaps,
    Record,
    Text,
)

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import AskedPart, AskedTexts

_NOTE = (
    "Point at a word, or reach it by Tab and the arrow keys. A word of the text lights up the "
    "words of the question that it looks at; a word of the question lights up the words that look "
    "at it. In brackets: the answer at that epoch. Dotted: changed since the previous epoch."
)
_NAMES = ("question", "answer", "text")
_OPEN, _CLOSE = "[", "]"


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run with attention."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    return [Text(_NOTE, "note"), *learned_records(run, _by_epoch, _best, _record)]


def _record(items: Sequence[AttentionMap], names: Sequence[str]) -> AttentionMaps:
    return AttentionMaps(items, names, _NAMES)


def _bracketed(item: AttentionMap) -> AttentionMap:
    """Put brackets, with weights of 0, around the answer."""
    first, last = item.said or (-1, -1)
    if not 0 <= first <= last < len(item.rows):
        return item
    text = item.rows
    rows = [*text[:first], _OPEN, *text[first : last + 1], _CLOSE, *text[last + 1 :]]
    return item._replace(rows=rows, weights=np.insert(item.weights, [first, last + 1], 0.0, axis=1))


def _by_epoch(run: ReportedRun) -> Learned:
    """Return the same windows at each epoch: those around the best epoch's answers."""
    task: Any = run.task()
    run.load_data()
    data: AskedTexts = task.data
    part = data.parts["test"]
    predictions = read_items(run, KIND, ("exact_match", "start", "end"), len(part), "questions")
    # Half of the answers are wrong.
    numbers = chosen_examples(predictions["exact_match"] > 0, MOST_QUESTIONS)
    rows = [
        shown_window(part, number, _best_said(predictions, number), task.text_places)
        for number in numbers
    ]
    windows = _windows(task, part, numbers, rows)
    found = Learned([], [], 1)
    for epoch, model, weights in attention_by_epoch(run, part.rows.tokens[rows]):
        maps = []
        for number, row, window, own in zip(numbers, rows, windows, weights, strict=True):
            asked = part.questions[number]
            said = placed(part, row, task.answer(model, asked.question, asked.text)[0])
            own = own[:, : len(window.rows), : len(window.columns)]
            window = window._replace(weights=mean_and_heads(own), said=span(np.array(said)))
            maps.append(_bracketed(window))
        found.epochs.append(epoch)
        found.frames.append(maps)
        found = found._replace(heads=weights.shape[1])
    return found


def _windows(
    task: Any, part: AskedPart, numbers: Sequence[int] | np.ndarray, rows: Sequence[int]
) -> list[AttentionMap]:
    """Return questions and windows of their texts as words, without weights."""
    first = 1 + task.question_places
    tokens = part.rows.tokens[rows]
    unknown = [_unknown(task, part, row) for row in rows]
    questions, texts = (
        _named(words, [own[side] for own in unknown])
        for side, words in enumerate(
            (task.words(tokens[:, 1:first]), task.words(tokens[:, first:]))
        )
    )
    notes = unknown_notes(chain.from_iterable(chain(*unknown)), task.tokenizer.words)
    answers = [_words_of(part.questions[number].answers) for number in numbers]
    weights = np.empty((0, 0, 0))
    return [
        AttentionMap(text, question, weights, reference=answer, row_notes=notes, column_notes=notes)
        for text, question, answer in zip(texts, questions, answers, strict=True)
    ]


def _unknown(task: Any, part: AskedPart, row: int) -> tuple[list[str], list[str]]:
    """Return the unknown words of a window: those of its question, and those of its text."""
    number, start = int(part.rows.owners[row]), int(part.rows.starts[row])
    question, text = part.questions[number].question, part.questions[number].text
    before = part.texts[number].tokens[:start].count(UNKNOWN)
    return task.unknown(question), task.unknown(text)[before:]


def _named(rows: np.ndarray, unknown: Sequence[list[str]]) -> list[list[str]]:
    """Return words without padding, with their text in place of unknown tokens."""
    return [
        name_unknown([str(word) for word in row if word], own)
        for row, own in zip(rows, unknown, strict=True)
    ]


def _best_said(predictions: Any, number: int) -> Any:
    """Return the best epoch's answer; only its place is set."""
    from attnlab.tasks.answering.spans import PredictedAnswer

    start, end = (int(predictions[name][number]) for name in ("start", "end"))
    known = start >= 0
    return PredictedAnswer("", start if known else None, end if known else None, 0.0)


def _words_of(answers: Sequence[Any]) -> list[str]:
    return answers[0].text.split() if answers else NOTHING


def _best(run: ReportedRun) -> Learned | None:
    """Return the best epoch from attention.npz; None if there is no such file."""
    kept = read_attention(run.run)
    needed = {"weights", "question", "text", "answer", "prediction"}
    if kept is None or not needed <= kept.keys():
        return None
    count = min(len(kept["weights"]), MOST_QUESTIONS)
    maps = [_bracketed(kept_map(kept, row)) for row in range(count)]
    return Learned([int(run.metrics.get("best_epoch", 1))], [maps], kept["weights"].shape[1])
