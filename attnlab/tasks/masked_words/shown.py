"""Views of runs that fill in words: learning, results by group, words, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.masking import marked
from attnlab.tasks.masked_words.report import chosen_words
from attnlab.tasks.shown.attention_by_epoch import (
    Learned,
    attention_by_epoch,
    attention_by_run,
    learned_records,
    mean_and_heads,
)
from attnlab.tasks.shown.item_tables import (
    Cells,
    Columns,
    accuracy_by_group,
    items_table,
    mean_of,
    of_same_items,
    read_items,
    text_cells,
    which_items,
    worst_first,
)
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
    Figure,
    Record,
    ShadedText,
    ShadedWords,
    Table,
    Text,
    figure,
)

if TYPE_CHECKING:
    from attnlab.tasks.masked_words.data import MaskedPart

_PANELS = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (share of right predictions)": {
        "val_accuracy": ("words", BLUE),
        "val_follows": ("whether texts follow each other", GREEN),
    },
}
# With `val_follows` the training loss is the sum of both tasks.
_PAIRED = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any, words and pairs", ORANGE),
        "val_loss": ("validation, without, words alone", BLUE),
    },
}
_NOTE = (
    "The word between » and « is the query. The darker a word, the larger its weight; the darkest "
    "has the largest weight of its text. Point at the output, or reach it by Tab, to read the "
    "largest weights. Dotted: another word than at the previous epoch."
)
_NAMES = ("text", "word", "said")
_COLUMNS = ("text", "place", "word", "p_word", "prediction", "right", "probability")
_KEPT = {"weights", "tokens", "place", "word", "prediction", "right", "index"}


# Figures


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    history = run.history.read()
    result = result_line(metrics, KIND, "perplexity", with_skill=False)
    panels = {**_PANELS, **(_PAIRED if "val_follows" in history else {})}
    groups = {name: (each["accuracy"], each["n"]) for name, each in metrics["groups"].items()}
    words = {"measure": "accuracy", "items": "words", "result": result}
    found = {
        "loss.png": learning_figure(history, metrics, panels, result),
        "groups.png": groups_figure(groups, metrics["test"]["accuracy"], metrics, **words),
    }
    if kept := read_attention(run):
        found["attention.png"] = attention_figure(kept, metrics)
    return found


def attention_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Draw the attention of masked words on their texts, wrong predictions first.

    Args:
        kept: `weights` (N, H, 1, S); `tokens` (N, S), "" for padding; `place`, `word`,
            `prediction`, `right` and `index` (N,).
        metrics: metrics.json of the run.
    """
    heads = kept["weights"].shape[1]
    subtitle = f"mean over {heads} heads; " if heads > 1 else ""
    subtitle += "the word between » and « is the query; darkest: the largest weight of a text"
    record = ShadedWords(_kept_texts(kept))
    return figure(f"{run_title(metrics)}: attention on words", subtitle, [[record]])


def _kept_texts(kept: Mapping[str, np.ndarray]) -> list[ShadedText]:
    """Return the texts of attention.npz."""
    words = _marked(kept["tokens"], kept["place"])
    return [
        ShadedText(
            own,
            mean_and_heads(np.asarray(kept["weights"][row, :, 0, : len(own)], np.float64)),
            str(kept["prediction"][row]),
            str(kept["word"][row]),
            f"test word {kept['index'][row]}",
            right=bool(kept["right"][row]),
        )
        for row, own in enumerate(words)
    ]


def _marked(tokens: np.ndarray, places: np.ndarray) -> list[list[str]]:
    """Return the words of each row (N, S) without padding, with » « around the one to predict."""
    found = [[str(word) for word in row if word] for row in tokens]
    for words, place in zip(found, places.tolist(), strict=True):
        words[place] = marked(words[place])
    return found


# Words on a page


def word_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a table of test words and predictions, then accuracy by what replaced the words."""
    tables, texts = of_same_items(runs, _read, lambda _: ("text", "place", "word"))
    return [*([_table(tables)] if tables else []), *texts, *accuracy_by_group(runs, "words")]


def _read(run: ReportedRun) -> Columns:
    return read_items(run, KIND, _COLUMNS)


def _table(tables: Mapping[str, Columns]) -> Table:
    """Return the words with the smallest probability, and some others up to the largest."""
    order = np.argsort(mean_of(tables, "p_word"), kind="stable")
    rows = worst_first(order)
    what = "words, by the probability p of the right one"
    title = which_items(len(rows), len(order), what, len(tables))
    shared = text_cells("text", "word")
    own = [
        Cells("prediction", _said, "says {label}"),
        Cells("p", lambda own, row: f"{own['p_word'][row]:.3f}"),
    ]
    return items_table(title, tables, rows, shared, own)


def _said(columns: Columns, row: int) -> str:
    """Return the prediction for a word, with its probability if it is wrong."""
    said = str(columns["prediction"][row])
    return said if columns["right"][row] else f"{said} ✗ ({columns['probability'][row]:.2f})"


# Attention on a page


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run."""
    return attention_by_run(runs, _run_records)


def _run_records(run: ReportedRun) -> list[Record]:
    return [Text(_NOTE, "note"), *learned_records(run, _by_epoch, _best, _record)]


def _record(items: Sequence[ShadedText], names: Sequence[str]) -> ShadedWords:
    return ShadedWords(items, names, _NAMES)


def _by_epoch(run: ReportedRun) -> Learned:
    from attnlab.training.steps import compiled

    task: Any = run.task()
    run.load_data()
    part: MaskedPart = task.data.parts["test"]
    asked = part.asked
    assert asked is not None
    numbers = _numbers(run, len(part.words))
    owners, columns = np.nonzero(asked.known)
    tokens, places = asked.tokens[owners[numbers]], asked.places[owners, columns][numbers]
    words, right = _marked(task.words(tokens), places), task.labels(part.words[numbers])
    given = tokens, places[:, None], np.ones(len(tokens), np.int32)
    found, guess = Learned([], [], 1), None
    for epoch, model, weights in attention_by_epoch(run, tokens):
        guess = guess or compiled(model.guesses, jit=False)
        said = task.labels(np.asarray(guess(*given).logits)[:, 0].argmax(axis=-1))
        own = weights[np.arange(len(places)), :, places]  # (N, H, S)
        texts = [
            ShadedText(each, mean_and_heads(looked[:, : len(each)]), answer, label)
            for each, looked, answer, label in zip(words, own, said, right, strict=True)
        ]
        found.epochs.append(epoch)
        found.frames.append(texts)
        found = found._replace(heads=own.shape[1])
    return found


def _numbers(run: ReportedRun, count: int) -> np.ndarray:
    """Choose some test words, half of them with wrong predictions."""
    columns = read_items(run, KIND, ("right", "row"), count, "words")
    return chosen_words(columns["right"] > 0, columns["row"])


def _best(run: ReportedRun) -> Learned | None:
    """Return the best epoch from attention.npz; None if there is no such file."""
    kept = read_attention(run.run)
    if kept is None or not kept.keys() >= _KEPT:
        return None
    best = int(run.metrics.get("best_epoch", 1))
    return Learned([best], [_kept_texts(kept)], kept["weights"].shape[1])


VIEWS = Views(figures, {"Words": word_records, "Attention": attention_records})
