"""Where a classifier looked: the words of test texts, the darker the more weight they had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attnlab.figures.labels import drawable
from attnlab.figures.shaded_words import ShadedText, shaded_words_figure
from attnlab.figures.style import run_title
from attnlab.tasks.accuracy_tests import wrong_first
from attnlab.tasks.classification.word_weights import word_weights

_MOST_TEXTS, _LONGEST_NAME = 10, 24


def words_figure(kept: Mapping[str, np.ndarray], metrics: Mapping[str, Any]) -> Figure:
    """The attention on the words of some test texts, those that it got wrong first.

    The colour of a word is its weight beside the largest one of its text. Of several heads and of
    several queries, those of padding left out, the mean is shown. Up to ten texts, half of them
    wrong ones where there are as many; of each the first six lines.

    Args:
        kept: `weights` (N, H, T, S); `tokens` (N, S), "" where there is padding; `prediction` (N,),
            names of classes; of texts whose class is known also `label` (N,), and `index` (N,),
            rows of predictions.csv.
        metrics: the run's.
    """
    weights = np.nan_to_num(np.asarray(kept["weights"], np.float64))
    _, heads, queries, _ = weights.shape
    mean = word_weights(weights, kept["tokens"] != "").mean(axis=1)
    labels = kept.get("label", kept["prediction"])
    rows = wrong_first(labels == kept["prediction"], _MOST_TEXTS)
    means = [f"{heads} heads"] * (heads > 1) + ["the queries of a text"] * (queries > 1)
    subtitle = f"mean over {' and '.join(means)}; " if means else ""
    subtitle += "darkest: the largest weight of a text"
    texts = [_text(kept, mean[row], row) for row in rows]
    return shaded_words_figure(texts, f"{run_title(metrics)}: attention on words", subtitle)


def _text(kept: Mapping[str, np.ndarray], weights: np.ndarray, row: int) -> ShadedText:
    tokens = [str(token) for token in kept["tokens"][row]]
    known = [place for place, token in enumerate(tokens) if token]
    words, own = [tokens[place] for place in known], weights[known]
    largest = float(own.max(initial=0.0))
    said = drawable(str(kept["prediction"][row]), _LONGEST_NAME)
    if "label" not in kept:
        return ShadedText(f"{said}   (largest weight {largest:.2g})", True, words, own)
    label = drawable(str(kept["label"][row]), _LONGEST_NAME)
    right = bool(kept["label"][row] == kept["prediction"][row])
    heading = f"right: {label}" if right else f"wrong: said {said}, is {label}"
    heading += f"   (test text {kept['index'][row]}, largest weight {largest:.2g})"
    return ShadedText(heading, right, words, own)
