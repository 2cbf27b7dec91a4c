"""Tiny runs of every kind with dropout, trained for three epochs in this process."""

from __future__ import annotations

import json
import sys

import numpy as np

SMALL = ("trainer.batch_size=8", "trainer.jit=false", "seed=3", "model.dropout=0.2")
SGD = ("optimizer=sgd", "optimizer.clip_norm=1")
# With a large epsilon Adam doesn't enlarge rounding where a gradient is 0.
ADAM = ("optimizer=adamw", "optimizer.clip_norm=1", "optimizer.epsilon=1.0")
SIZES = ("attention.heads=2", "model.layers=1", "model.feed_forward=4", "model.units=4")
WIDTHS = ("model.units=4", "model.embedding=4", "attention.dropout=0.2")
RUNS = {
    "forecaster": (*SGD, "task=fib", "task.count=101", "attention=bahdanau", "model.units=4"),
    "recurrent_translator": (
        *SGD,
        "task=translate",
        "data.pairs=100",
        "trainer.batch_by=items",
        *WIDTHS,
    ),
    "transformer_translator": (
        *(
            *SGD,
            "task=translate",
            "data.pairs=100",
            "trainer.batch_by=items",
            "model=transformer",
            "attention=multi_head",
        ),
        *("attention.dropout=0.2", *SIZES),
    ),
    "classifier": (*SGD, "task=classify", "data.texts=100", *WIDTHS),
    "images": (
        *(*SGD, "task=digits", "data.limit=100", "task.flip=true", "task.shift=1", *SIZES),
        "model.stochastic_depth=0.2",
    ),
    "language": (*ADAM, "task=language", "data.sentences=100", "task.context=8", *SIZES),
    "masked_words": (*ADAM, "task=masked_words", "data.sentences=100", *SIZES),
    "reader": (*SGD, "task=answer", "data.questions=100", *WIDTHS),
}


def trained(config, epochs: int = 3) -> list[np.ndarray]:
    """The values of all variables after some epochs with a constant learning rate."""
    from attnlab.runner.train import make_learner, make_task, start_afresh

    task = make_task(config)
    task.load(config.seed)
    start_afresh(config.seed)
    learner, step = make_learner(config, task), 0
    for epoch in range(1, epochs + 1):
        for chunk in learner.chunks(epoch):
            learner.train(chunk, np.full(chunk.steps, 0.02), step)
            step += chunk.steps
    names = [variable.path for variable in learner.model.variables]
    return [v for v, name in zip(learner.values(), names, strict=True) if "seed" not in name]


def difference(first: list[np.ndarray], second: list[np.ndarray]) -> float:
    """The largest difference of two lists of arrays."""
    return max(np.abs(one - other).max() for one, other in zip(first, second, strict=True))


def main(kinds: list[str]) -> None:
    """Print how far two devices are from one, by kind, as JSON; a process of its own."""
    from attnlab.config.composing import compose, from_hydra
    from attnlab.internals import import_tensorflow

    differences = {}
    for kind in kinds:
        words = [*SMALL, *RUNS[kind], "tracking.enabled=false"]
        configs = [from_hydra(compose([*words, f"trainer.devices={number}"])) for number in (2, 1)]
        import_tensorflow()
        from attnlab.training.step import strategy_for

        strategy_for(configs[0].trainer)
        differences[kind] = float(difference(*map(trained, configs)))
    print(json.dumps(differences))


if __name__ == "__main__":
    main(sys.argv[1:])
