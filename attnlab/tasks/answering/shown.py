"""Figures and page sections of runs that answer questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.attention import Arrays, Recorded, read_attention
from attnlab.tasks.base import ReportedRun, Views
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
from attnlab.tasks.shown.run_figures import learning_figure, result_line, run_title
from attnlab.text.cleaning import shorten
from attnlab.text.vocabulary import UNNAMED
from attnlab.views.records import (
    BLUE,
    GREEN,
    ORANGE,
    AttentionMap,
    AttentionMaps,
    Figure,
    Record,
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
_MOST_MAPS = 6
_MOST_CHARACTERS = 200
_COLUMNS = ("question", "answer", "prediction", "probability", "exact_match", "f1")
_NOTHING = "(no answer)"
_NOTE = "In brackets: the answer at that epoch. Dotted: changed since the previous epoch."


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name; raise `KeyError` if a file lacks an entry."""
    result = result_line(metrics, KIND, "f1")
    by_name = {"loss.png": learning_figure(run.history.read(), metrics, _PANELS, result)}
    if recorded := read_attention(run):
        by_name["attention.png"] = attention_figure(recorded.final(), metrics)
    return by_name


def attention_figure(arrays: Arrays, metrics: Mapping[str, Any]) -> Figure:
    """Draw a map for each of up to six questions, wrongly answered ones first.

    A column is a word of the text, a row a word of the question; a cell is the mean weight over
    heads. A frame surrounds the model's answer, a line is below the right answer.

    Args:
        arrays: the result of `attention_on_questions`; if the right answers are known, with `right`
            and `index`.
        metrics: metrics.json of the run.
    """
    heads = arrays["weights"].shape[1]
    subtitle = f"mean over {heads} heads; " if heads > 1 else ""
    subtitle += "each word of the text (across) attends to the question (down); frame: the answer"
    order = np.arange(len(arrays["weights"]))
    if "right" in arrays:
        subtitle += "; line below: the right answer"
        order = np.argsort(arrays["right"], kind="stable")
    maps = [_attention_map(arrays, row) for row in order[:_MOST_MAPS].tolist()]
    title = f"{run_title(metrics)}: attention on the question"
    return figure(title, subtitle, [[AttentionMaps(maps, across=True)]])


def _attention_map(arrays: Arrays, row: int) -> AttentionMap:
    question, text = (
        [str(word) for word in arrays[side][row] if word] for side in ("question", "text")
    )
    predicted, answer = (
        (int(first), int(last)) if first >= 0 else None
        for first, last in (arrays["prediction"][row], arrays["answer"][row])
    )
    weights = np.asarray(arrays["weights"][row], np.float32)[:, : len(text), : len(question)]
    item = AttentionMap(text, question, layer_maps(weights[None])[1], said=predicted)
    item = item._replace(row_notes=UNNAMED, column_notes=UNNAMED)
    if "right" not in arrays:
        return item
    right = bool(arrays["right"][row])
    return item._replace(
        heading=f"{'right' if right else 'wrong'}   (test question {arrays['index'][row]})",
        right=right,
        answer=answer,
        reference=text[answer[0] : answer[1] + 1] if answer else [_NOTHING],
    )


def attention_records(runs: Sequence[ReportedRun]) -> Sequence[Record]:
    """Return a slider over the epochs for each run with attention."""

    def frames(recorded: Recorded, room: int) -> tuple[str, list[list[AttentionMaps]]]:
        weights = recorded.final()["weights"]
        rows = range(min(len(weights), _MOST_MAPS))
        maps, _ = layer_maps(weights[:1], "last layer")
        epochs = recorded.by_epoch.values()
        items = fitting([[_bracketed(arrays, row) for row in rows] for arrays in epochs], room)
        names = ("question", "answer", "text")
        return _NOTE, [[AttentionMaps(shown, maps, names)] for shown in items]

    return attention_sliders(runs, frames)


def _bracketed(arrays: Arrays, row: int) -> AttentionMap:
    """Return a map with brackets, with weights of 0, around the predicted answer; no heading."""
    item = _attention_map(arrays, row)._replace(heading="", right=None, answer=None)
    if item.said is None:
        return item
    first, end = item.said[0], item.said[1] + 1
    rows = [*item.rows[:first], "[", *item.rows[first:end], "]", *item.rows[end:]]
    return item._replace(rows=rows, weights=np.insert(item.weights, [first, end], 0.0, axis=1))


def answer_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of questions with small F1 and of some others, with each run's answers."""

    def words(name: str, columns: Columns, row: int) -> str:
        return shorten(str(columns[name][row]), _MOST_CHARACTERS) or _NOTHING

    def predicted(columns: Columns, row: int) -> str:
        return words("prediction", columns, row) + " ✗" * (not columns["exact_match"][row])

    tables, records = of_same_items(runs, KIND, _COLUMNS, ("question", "answer"))
    if tables:
        order = np.argsort(mean_of(tables, "f1"), kind="stable")
        shared = [Cells(name, partial(words, name)) for name in ("question", "answer")]
        per_run = [
            Cells("prediction", predicted, "answer of {label}"),
            Cells("F1", lambda columns, row: f"{columns['f1'][row]:.2f}"),
            Cells("p", lambda columns, row: f"{columns['probability'][row]:.3f}"),
        ]
        records = [items_table(tables, order, "questions, by F1", shared, per_run), *records]
    return records


VIEWS = Views(figures, {"Answers": answer_records, "Attention": attention_records})
