"""The figures of a translation run: learning curves, scores by length, attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import read_attention
from attnlab.tasks.shown.run_figures import (
    learning_figure,
    result_line,
    run_title,
    vocabulary_figure,
)
from attnlab.tasks.translation.kind import KIND
from attnlab.tasks.translation.shown.maps import maps_figure, recorded_sentences
from attnlab.views.records import BLUE, GREY, ORANGE, Curve, Curves, Figure, figure

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
_MOST_GROUPS, _FEWEST_SENTENCES = 8, 10
_OF_FIRST = "encoder", "decoder"  # self-attention, recorded for the first sentence


def figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a run by file name: learning, lengths, and attention per sentence.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: A file of the run lacks an entry.
    """
    drawings = {
        "loss.png": curves_figure(run.history.read(), metrics),
        "lengths.png": lengths_figure(run.read_predictions(KIND.scoring.text_columns), metrics),
    }
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


def translation_result(metrics: Mapping[str, Any]) -> str:
    """Return the test scores and those of the best baseline in one line."""
    return result_line(metrics, KIND, "chrf", "perplexity", with_skill=False)


def curves_figure(history: Mapping[str, list[float]], metrics: Mapping[str, Any]) -> Figure:
    """Draw loss, perplexity and scores by epoch, and mark the best epoch.

    The history has `epoch` and `train_loss`; with a validation part also `val_loss`,
    `val_perplexity`, `val_bleu` and `val_chrf`. Epochs without a score have NaN.
    """
    return learning_figure(history, metrics, _PANELS, translation_result(metrics), "perplexity")


def lengths_figure(predictions: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Draw mean scores of sentences by source length, as figure 2 of Bahdanau et al. 2015.

    Difference: a point is the mean of sentence scores, with the standard error, instead of the BLEU
    of a group. There are up to 8 groups of similar sizes; one of fewer than ten sentences is left
    out.
    """
    lengths = np.array([len(str(text).split()) for text in predictions["source"]])
    count = min(_MOST_GROUPS, max(len(lengths) // _FEWEST_SENTENCES, 1))
    borders = np.unique(np.quantile(lengths, np.linspace(0, 1, count + 1)[1:-1]))
    numbers = np.searchsorted(borders, lengths)
    groups = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    groups = [rows for rows in groups if len(rows) >= min(_FEWEST_SENTENCES, len(lengths))]
    curves = []
    for name, (label, colour) in {"bleu": ("BLEU", BLUE), "chrf": ("chrF", ORANGE)}.items():
        values = np.asarray(predictions[f"sentence_{name}"], np.float64)
        means = np.array([values[rows].mean() for rows in groups])
        errors = np.array([values[rows].std() / np.sqrt(len(rows)) for rows in groups])
        curves.append(Curve(label, means, colour, means - errors, means + errors, "errors"))
    record = Curves(
        "",
        "words of the source sentence (bars: standard error)",
        "mean score of a sentence",
        [float(lengths[rows].mean()) for rows in groups],
        curves,
        legend="above",
        y_limits=(0.0, 105.0),
    )
    title = f"{run_title(metrics)}: test scores by length"
    return figure(title, translation_result(metrics), [[record]], (7, 4.2))


def vocabulary_maps(trained: Any, words: int) -> dict[str, Figure]:
    """Return a map of each side's most frequent words, by file name; see `vocabulary_figure`."""
    task, figures = trained.task, {}
    for side, table in trained.model.embeddings().items():
        tokenizer = task.source_tokenizer if side == "source" else task.target_tokenizer
        ids = tokenizer.most_frequent(words)
        vectors, labels = table[ids.start : ids.stop], [tokenizer.pieces([id])[0] for id in ids]
        title = f"{run_title(trained.config.names)}: {side} embeddings, epoch {trained.epoch}"
        figures[f"embeddings_{side}.png"] = vocabulary_figure(vectors, labels, title=title)
    return figures
