"""The report on a part: measures, baselines, skill, the prediction for each item; the item test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.base import Report, skills
from attnlab.tasks.classification.baselines import baselines
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.item_tests import Losses, paired_tester
from attnlab.text.cleaning import one_line

if TYPE_CHECKING:
    from attnlab.tasks.classification.data import LabelledData

_MOST_COLUMNS = 20  # with more classes, predictions.csv has no column per class
_MOST_CONFUSED = 100  # with more classes, metrics.json has no confusion matrix
# The precision of float32, in which networks compute: rounding can make their probabilities 0.
_SMALLEST = float(np.finfo(np.float32).eps)


def measures(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float | None]:
    """Return the measures of predictions by their names in metrics.json; None if it isn't finite.

    Of equally probable classes, the first counts as predicted. Macro F1 is scikit-learn's. The log
    loss is the mean of -ln p(label) in nats; probabilities are raised to 1.2e-7, the precision of
    float32. `labels` are class numbers (N,), `probabilities` (N, C).
    """
    from sklearn.metrics import f1_score

    probabilities = np.asarray(probabilities, np.float64)
    predicted, rows = probabilities.argmax(axis=1), np.arange(len(labels))
    raised = np.maximum(probabilities, _SMALLEST)
    values = {
        "accuracy": np.mean(labels == predicted),
        "macro_f1": f1_score(labels, predicted, average="macro", zero_division=0.0),
        "log_loss": -np.mean(np.log(raised[rows, labels] / raised.sum(axis=1))),
    }
    return {name: float(value) if np.isfinite(value) else None for name, value in values.items()}


def build_report(data: LabelledData, part: str, probabilities: np.ndarray) -> Report:
    """Score probabilities (N, C) for the items of a part, and the baselines.

    The error of the skill is the share of wrong predictions. predictions.csv has each text on one
    line, cut at 1,000 characters, and with more than 20 classes only the largest probability and
    that of the item's class, its likelihood.
    """
    from sklearn.metrics import confusion_matrix

    items, rules = data.parts[part], baselines(data, part)
    predicted, names = probabilities.argmax(axis=1), np.array(data.classes, object)
    metrics = measures(items.labels, probabilities)
    rule_metrics = {name: measures(items.labels, shares) for name, shares in rules.items()}
    errors = {name: 1.0 - (scores["accuracy"] or 0.0) for name, scores in rule_metrics.items()}
    best, by_baseline = skills(1.0 - (metrics["accuracy"] or 0.0), errors)
    details: dict[str, Any] = {}
    if len(names) <= _MOST_CONFUSED:
        counts = confusion_matrix(items.labels, predicted, labels=np.arange(len(names)))
        details["confusion"] = {"classes": list(data.classes), "counts": counts.tolist()}
    shares = np.round(np.asarray(probabilities, np.float64), 6)
    columns = {
        "index": np.arange(len(items)),
        data.noun: np.array([one_line(name) for name in items.names], object),
        "label": names[items.labels],
        "prediction": names[predicted],
        "probability": shares.max(axis=1),
        "likelihood": shares[np.arange(len(items)), items.labels],
    }
    if any(items.groups):
        columns["group"] = np.array(items.groups, object)
        details["groups"] = measure_groups(items.groups, items.labels == predicted)
    if len(names) <= _MOST_COLUMNS:
        columns |= {f"p_{name}": shares[:, number] for number, name in enumerate(names)}
    columns |= {name: names[rule.argmax(axis=1)] for name, rule in rules.items()}
    return Report(
        metrics=metrics,
        baselines=rule_metrics,
        best_baseline=best,
        skill=by_baseline[best],
        notes=[*data.notes],
        predictions=columns,
        units=f"shares of the {data.noun}s (log loss in nats)",
        skills=by_baseline,
        metric="accuracy",
        details=details,
    )


def measure_groups(groups: Sequence[str], right: np.ndarray) -> dict[str, dict[str, float]]:
    """Return items and accuracy of each group."""
    names = np.asarray(groups, str)
    return {
        name: {"n": int((names == name).sum()), "accuracy": float(right[names == name].mean())}
        for name in sorted({*names.tolist()})
    }


def noun_of(columns: Mapping[str, Any]) -> str:
    """Return the column of predictions.csv that identifies its items: `text` or `image`."""
    return "image" if "image" in columns else "text"


def _losses(columns: Mapping[str, np.ndarray], metric: str) -> Losses:
    """Return the items with their classes, and 1 for each that the run classifies wrongly."""
    noun = noun_of(columns)
    items = list(zip(columns[noun].tolist(), columns["label"].tolist(), strict=True))
    wrong = (columns["prediction"] != columns["label"]).astype(float)
    return Losses(items, wrong, f"{noun}s")


item_test = paired_tester(KIND, _losses)
