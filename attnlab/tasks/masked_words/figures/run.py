"""The figures of a run that fills in words: how it learned, which words it has, where it looked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attnlab.figures.groups import shares_figure
from attnlab.figures.labels import drawable
from attnlab.figures.learning import panels_figure
from attnlab.figures.run import read_attention
from attnlab.figures.shaded_words import ShadedText, shaded_words_figure
from attnlab.figures.style import BLUE, ORANGE, result_line, run_title
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.masked_words.masking import marked

_GREEN = "#009E73"
_PANELS = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (share that is right)": {
        "val_accuracy": ("words", BLUE),
        "val_follows": ("whether texts follow each other", _GREEN),
    },
}
# With it the loss of training is of two tasks.
_PAIRED = {
    "loss (nats)": {
        "train_loss": ("train, with dropout if any, words and pairs", ORANGE),
        "val_loss": ("validation, without, words alone", BLUE),
    },
}


def masked_word_figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: Something is missing in one of them.
    """
    history = run.history.read()
    result = result_line(metrics, KIND, "perplexity", with_skill=False)
    panels = {**_PANELS, **(_PAIRED if "val_follows" in history else {})}
    groups = {name: (each["accuracy"], each["n"]) for name, each in metrics["groups"].items()}
    words = {"measure": "accuracy", "items": "words", "result": result}
    figures = {
        "loss.png": panels_figure(history, metrics, panels, result),
        "groups.png": shares_figure(groups, metrics["test"]["accuracy"], metrics, **words),
    }
    if kept := read_attention(run):
        figures["attention.png"] = words_figure(kept, metrics)
    return figures


def words_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """Where the place of a word that is asked for looked in its text, wrong ones first.

    Args:
        kept: `weights` (N, H, 1, S), of several heads the mean is shown; `tokens` (N, S), "" where
            there is padding; `place`, `word`, `prediction`, `right` and `index` (N,).
        metrics: the run's.
    """
    weights = np.nan_to_num(np.asarray(kept["weights"], np.float64))
    heads = weights.shape[1]
    subtitle = f"mean over {heads} heads; " if heads > 1 else ""
    subtitle += "the word between » and « asks; darkest: the largest weight of a text"
    mean = weights[:, :, 0].mean(axis=1)
    texts = [_text(kept, own, row) for row, own in enumerate(mean)]
    return shaded_words_figure(texts, f"{run_title(metrics)}: attention on words", subtitle)


def _text(kept: Mapping[str, np.ndarray], weights: np.ndarray, row: int) -> ShadedText:
    words = [str(token) for token in kept["tokens"][row] if token]
    own = weights[: len(words)]
    place, right = int(kept["place"][row]), bool(kept["right"][row])
    words[place] = marked(words[place])
    word, said = (drawable(str(kept[name][row]), 40) for name in ("word", "prediction"))
    heading = f"right: {word}" if right else f"wrong: said {said}, is {word}"
    heading += f"   (test word {kept['index'][row]}, largest weight {own.max(initial=0.0):.2g})"
    return ShadedText(heading, right, words, own)
