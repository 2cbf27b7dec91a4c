"""The figures of an answering run: learning curves, results by question word, attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.accuracy_tests import wrong_first
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.shown.attention_by_epoch import mean_and_heads
from attnlab.tasks.shown.run_figures import (
    groups_figure,
    learning_figure,
    read_attention,
    result_line,
    run_title,
)
from attnlab.views.records import (
    BLUE,
    GREEN,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Figure,
    figure,
)

_PANELS = {
    "loss (nats, mean of start and end)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (% of the questions)": {
        "val_exact_match": ("exact match", BLUE),
        "val_f1": ("F1", GREEN),
    },
}
MOST_QUESTIONS = 6
_MOST_COLUMNS, _MOST_ROWS = 60, 24
NOTHING = ["(no answer)"]
_Span = tuple[int, int]


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    result = result_line(metrics, KIND, "f1")
    groups = {
        name: (each["exact_match"] / 100, int(each["n"]))
        for name, each in metrics["groups"].items()
    }
    whole = metrics["test"]["exact_match"] / 100
    words = {"measure": "exact match", "items": "questions", "result": result}
    found = {
        "loss.png": learning_figure(run.history.read(), metrics, _PANELS, result),
        "groups.png": groups_figure(groups, whole, metrics, **words),
    }
    if kept := read_attention(run):
        found["attention.png"] = attention_figure(kept, metrics)
    return found


def attention_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Draw a map for each of up to six questions, wrongly answered ones first.

    A column is a word of the text, a row a word of the question; a cell is the mean weight over
    heads. A frame surrounds the model's answer, a line is below the right answer. A long text is
    cut to 60 words around the answer.

    Args:
        kept: the result of `looked_at`; `right` and `index` may be missing.
        metrics: metrics.json of the run.
    """
    heads = kept["weights"].shape[1]
    right = kept.get("right", np.ones(len(kept["weights"]), bool))
    rows = wrong_first(right, MOST_QUESTIONS)
    maps = [_around_answer(kept_map(kept, row)) for row in rows]
    subtitle = f"mean over {heads} heads; " if heads > 1 else ""
    subtitle += "each word of the text (across) attends to the question (down); frame: the answer"
    if "right" in kept:
        subtitle += "; line below: the right answer"
    title = f"{run_title(metrics)}: attention on the question"
    return figure(title, subtitle, [[AttentionMaps(maps, across=True)]])


def kept_map(kept: Mapping[str, np.ndarray], row: int) -> AttentionMap:
    """Return the map of a question in attention.npz, with the right answer if it is known."""
    question, text = (
        [str(word) for word in kept[side][row] if word] for side in ("question", "text")
    )
    weights = mean_and_heads(kept["weights"][row, :, : len(text), : len(question)])
    said, answer = (span(kept[name][row]) for name in ("prediction", "answer"))
    found = AttentionMap(text, question, weights, said=said)
    found = found._replace(reference=text[answer[0] : answer[1] + 1] if answer else NOTHING)
    if "right" not in kept:
        return found
    right = bool(kept["right"][row])
    heading = f"{'right' if right else 'wrong'}   (test question {kept['index'][row]})"
    return found._replace(heading=heading, right=right, answer=answer)


def span(places: np.ndarray) -> _Span | None:
    """Return first and last place; None if they are below 0."""
    first, last = (int(place) for place in places)
    return (first, last) if first >= 0 else None


def _around_answer(item: AttentionMap) -> AttentionMap:
    """Cut a map to the words around the answer that a figure has room for."""
    around = max((span[0] for span in (item.said, item.answer) if span), default=0)
    first = max(min(around - _MOST_COLUMNS // 2, len(item.rows) - _MOST_COLUMNS), 0)
    rows = slice(first, first + _MOST_COLUMNS)

    def moved(span: _Span | None) -> _Span | None:
        return (span[0] - first, span[1] - first) if span and span[0] >= first else None

    return item._replace(
        rows=item.rows[rows],
        columns=item.columns[:_MOST_ROWS],
        weights=item.weights[:, rows, :_MOST_ROWS],
        said=moved(item.said),
        answer=moved(item.answer),
    )
