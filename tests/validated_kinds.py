"""Validation losses of a tiny run of every kind: as JSON, run as a program."""

from __future__ import annotations

import json
import sys

import numpy as np

SMALL = ("trainer.batch_size=61", "trainer.jit=false", "seed=3")
RUNS = {
    "forecasting": ("task=fib", "attention=none", "model.units=4", "model.cell=simple"),
    "translation": ("task=translate", "data.pairs=100", "model.units=4", "model.embedding=4"),
    "classification": ("task=classify", "data.texts=100", "model.units=4", "model.embedding=4"),
    "answering": ("task=answer", "data.questions=100", "model.units=4", "model.embedding=4"),
    "language": (
        *("task=language", "data.sentences=100", "task.context=8", "model.units=4"),
        *("attention.heads=1", "model.layers=1", "model.feed_forward=4"),
    ),
    "masked_words": (
        *("task=masked_words", "data.sentences=100", "model.units=4", "attention.heads=1"),
        *("model.layers=1", "model.feed_forward=4"),
    ),
}


def validation_losses(words: tuple[str, ...]) -> list[float]:
    """`val_loss` after the first steps of each of two epochs."""
    from attnlab.config.composing import compose, from_hydra
    from attnlab.runner.building import make_learner, make_task, start_afresh

    config = from_hydra(compose([*words, *SMALL]))
    task = make_task(config)
    task.load(config.seed)
    start_afresh(config.seed)
    learner = make_learner(config, task)
    found = []
    for epoch in (1, 2):
        chunk = learner.chunks(epoch)[0]
        learner.train(chunk, np.full(chunk.steps, 0.02), 0)
        found.append(learner.validate(epoch)["val_loss"])
    return found


if __name__ == "__main__":
    found = {kind: validation_losses(words) for kind, words in RUNS.items()}
    print(json.dumps({"optimize": sys.flags.optimize, **found}))
