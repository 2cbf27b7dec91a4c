"""The report on a part: measures, baselines, skill, and the prediction for each item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.accuracy_tests import natural, skill
from attnlab.tasks.base import Report
from attnlab.tasks.classification.measures import confusion, scores

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledImages, LabelledTexts

    Data = LabelledTexts | LabelledImages

NOUNS = ("text", "image")  # the columns of predictions.csv that identify an item
_MOST_COLUMNS = 20  # with more classes, predictions.csv has no column per class
_MOST_CONFUSED = 100  # with more classes, metrics.json has no confusion matrix


def build_report(data: Data, part: str, probabilities: np.ndarray) -> Report:
    """Score probabilities (N, C) for the items of a part, and the baselines.

    The skill is 1 - error / error of the best baseline, with the share of wrong predictions as the
    error; None if that baseline makes no error. predictions.csv has each text on one line, cut at
    1,000 characters, and with more than 20 classes only the largest probability.
    """
    asked, rules = data.parts[part], data.baselines(part)
    metrics = _known(scores(asked.labels, probabilities))
    others = {name: _known(scores(asked.labels, each)) for name, each in rules.items()}
    # Of equally accurate baselines the last one, which uses more of the items.
    best = max(reversed(others), key=lambda name: others[name]["accuracy"] or 0.0)
    skills = {name: skill(metrics, other) for name, other in others.items()}
    predicted = probabilities.argmax(axis=1)
    details: dict[str, Any] = {"left_out": dict(data.left_out)} if data.left_out else {}
    if len(data.classes) <= _MOST_CONFUSED:
        matrix = confusion(asked.labels, predicted, len(data.classes))
        details["confusion"] = {"classes": list(data.classes), "counts": matrix.tolist()}
    if any(asked.groups):
        details["groups"] = by_group(asked.groups, asked.labels == predicted)
    return Report(
        metrics=metrics,
        baselines=others,
        best_baseline=best,
        skill=skills[best],
        notes=data.notes(),
        predictions=_predictions(data, part, probabilities, rules),
        units=f"shares of the {data.noun}s (log loss in nats)",
        skills=skills,
        metric="accuracy",
        details=details,
    )


def by_group(groups: Sequence[str], right: np.ndarray) -> dict[str, dict[str, float]]:
    """Return items and accuracy of each group, in natural order: `2 nouns` before `10 nouns`."""
    names = np.asarray(groups, str)
    found = {}
    for name in sorted(set(names.tolist()), key=natural):
        own = right[names == name]
        found[name] = {"n": len(own), "accuracy": float(own.mean())}
    return found


def noun_of(columns: Mapping[str, Any]) -> str:
    """Return the column of predictions.csv that identifies its items: `text` or `image`.

    Raises:
        KeyError: there is neither column.
    """
    for noun in NOUNS:
        if noun in columns:
            return noun
    raise KeyError(" or ".join(NOUNS))


def _known(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def _predictions(
    data: Data, part: str, probabilities: np.ndarray, rules: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    asked, names = data.parts[part], np.array(data.classes, object)
    digits = np.round(np.asarray(probabilities, np.float64), 6)
    columns = {
        "index": np.arange(len(asked)),
        **asked.identity(),
        "label": names[asked.labels],
        "prediction": names[probabilities.argmax(axis=1)],
        "probability": digits.max(axis=1),
    }
    if any(asked.groups):
        columns["group"] = np.array(asked.groups, object)
    if len(names) <= _MOST_COLUMNS:
        columns |= {f"p_{name}": digits[:, number] for number, name in enumerate(names)}
    return columns | {name: names[each.argmax(axis=1)] for name, each in rules.items()}
