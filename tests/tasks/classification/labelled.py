"""Synthetic labelled texts, and runs that classify them, with attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import Recorded, write_attention
from attnlab.tasks.classification.data import LabelledData, LabelledPart
from attnlab.tasks.classification.report import build_report

CLASSES = ("bad", "good", "mixed")
_SENTENCES = {
    "bad": ("a dull film", "dull and long", "it was long , and bad"),
    "good": ("a lovely film", "lovely and short", "it was short , and good"),
    "mixed": ("lovely but dull", "short but bad", "it was good , but long"),
}


def part(texts: Sequence[str], labels: Sequence[int], groups: Sequence[str] = ()) -> LabelledPart:
    numbers, tokens = np.array(labels, np.int32), np.zeros((len(texts), 1), np.int32)
    return LabelledPart(texts, tokens, numbers, groups or [""] * len(texts))


def labelled(
    train: LabelledPart, test: LabelledPart, classes: Sequence[str] = CLASSES, **fields: Any
) -> LabelledData:
    return LabelledData(
        name="made up",
        source="a test",
        digest="0" * 64,
        longest=1,
        classes=classes,
        parts={"train": train, "test": test},
        **{"noun": "text", "lowercase": True, **fields},
    )


def some_texts(count: int, seed: int = 0, grouped: bool = False) -> LabelledPart:
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
    shares = random.dirichlet(np.ones(classes), len(labels))
    rows = np.flatnonzero(random.random(len(labels)) < right)
    shares[rows] = 0.3 * shares[rows] + 0.7 * np.eye(classes)[labels[rows]]
    return shares


def write_classifier(
    runs: Path,
    attention: str,
    probabilities: np.ndarray,
    data: LabelledData,
    *,
    seed: int = 0,
    recorded: Mapping[int, Mapping[str, np.ndarray]] | None = None,
) -> RunDirectory:
    """Write a run with these probabilities for the test texts, and arrays of attention by epoch."""
    from run_folders import write_run

    report = build_report(data, "test", probabilities)
    scores = report.scores()
    metrics = {"test": scores.pop("metrics"), **scores, "notes": report.notes}
    metrics |= {"monitor": "val_loss", "best_epoch": 2}
    run = write_run(runs, attention, seed, None, task="classify", metrics=metrics)
    run.write_predictions(report.predictions)
    if recorded is not None:
        write_attention(run, Recorded(recorded, best=2))
    return run


def attention(
    texts: LabelledPart,
    probabilities: np.ndarray,
    rows: Sequence[int],
    heads: int = 1,
    queries: int = 1,
) -> dict[str, np.ndarray]:
    """The arrays of attention.npz for some texts: random weights, 0 on padding."""
    random = np.random.default_rng(0)
    words = [texts.names[row].split() for row in rows]
    longest = max(map(len, words))
    weights = np.zeros((len(rows), heads, queries, longest), np.float32)
    for number, text in enumerate(words):
        word_shares = random.dirichlet(np.full(len(text), 0.4), (heads, queries))
        weights[number, :, :, : len(text)] = word_shares
    return {
        "weights": weights,
        "tokens": np.array([[*text, *[""] * (longest - len(text))] for text in words]),
        "label": np.array([CLASSES[texts.labels[row]] for row in rows]),
        "prediction": np.array([CLASSES[probabilities[row].argmax()] for row in rows]),
        "index": np.array(rows),
    }
