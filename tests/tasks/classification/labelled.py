"""Synthetic labelled texts, and runs that classify them, with attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.classification.data import LabelledTexts
from attnlab.tasks.classification.part import TextPart
from attnlab.tasks.classification.report import build_report

CLASSES = ("bad", "good", "mixed")
_SENTENCES = {
    "bad": ("a dull film", "dull and long", "it was long , and bad"),
    "good": ("a lovely film", "lovely and short", "it was short , and good"),
    "mixed": ("lovely but dull", "short but bad", "it was good , but long"),
}


def part(texts: Sequence[str], labels: Sequence[int], groups: Sequence[str] = ()) -> TextPart:
    numbers = np.array(labels, np.int32)
    return TextPart(
        texts, np.zeros((len(texts), 1), np.int32), numbers, groups or [""] * len(texts)
    )


def labelled(
    train: TextPart, test: TextPart, classes: Sequence[str] = CLASSES, cut: int = 0
) -> LabelledTexts:
    return LabelledTexts(
        "made up", "a test", "0" * 64, classes, {"train": train, "test": test}, cut=cut
    )


def some_texts(count: int, seed: int = 0, grouped: bool = False) -> TextPart:
    """Texts of all three classes, optionally in groups by their number of words."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, count)
    texts = [
        f"{random.choice(_SENTENCES[CLASSES[label]])} {random.integers(9)}" for label in labels
    ]
    groups = [f"{len(text.split())} words" for text in texts] if grouped else ()
    return part(texts, labels.tolist(), groups)


def answers(labels: np.ndarray, right: float, seed: int = 0, classes: int = 3) -> np.ndarray:
    """Probabilities (N, C) for the right class in about this share of the rows."""
    random = np.random.default_rng(seed)
    found = random.dirichlet(np.ones(classes), len(labels))
    won = np.flatnonzero(random.random(len(labels)) < right)
    found[won] = 0.3 * found[won] + 0.7 * np.eye(classes)[labels[won]]
    return found


def write_classifier(
    runs: Path,
    attention: str,
    probabilities: np.ndarray,
    data: LabelledTexts,
    *,
    seed: int = 0,
    metrics: Mapping[str, Any] | None = None,
    kept: Mapping[str, np.ndarray] | None = None,
) -> RunDirectory:
    """Write a run with these probabilities for the test texts."""
    from compared_runs import write_run

    report = build_report(data, "test", probabilities)
    scores = report.scores()
    known = {"test": scores.pop("metrics"), **scores, "notes": report.notes}
    known |= {"monitor": "val_loss", "best_epoch": 2, **(metrics or {})}
    run = write_run(runs, attention, seed, None, task="classify", metrics=known)
    run.write_predictions(report.predictions)
    if kept is not None:
        np.savez(run.path / "attention.npz", **kept)
    return run


def attention(
    texts: TextPart,
    probabilities: np.ndarray,
    rows: Sequence[int],
    heads: int = 1,
    queries: int = 1,
) -> dict[str, np.ndarray]:
    """The arrays of attention.npz for some texts: random weights, 0 on padding."""
    random = np.random.default_rng(0)
    words = [texts.texts[row].split() for row in rows]
    longest = max(map(len, words))
    weights = np.zeros((len(rows), heads, queries, longest), np.float32)
    for number, each in enumerate(words):
        own = random.dirichlet(np.full(len(each), 0.4), (heads, queries))
        weights[number, :, :, : len(each)] = own
    return {
        "weights": weights,
        "tokens": np.array([[*each, *[""] * (longest - len(each))] for each in words]),
        "label": np.array([CLASSES[texts.labels[row]] for row in rows]),
        "prediction": np.array([CLASSES[probabilities[row].argmax()] for row in rows]),
        "index": np.array(rows),
    }
