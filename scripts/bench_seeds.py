"""What 32 seeds cost that train together, against one seed, and against 32 one after another.

    python scripts/bench_seeds.py             # all parts
    python scripts/bench_seeds.py training    # training or command

`training` measures gradient steps in turns in one process, after compiling; a line has the median
ratio and the range. `command` is the whole command line, with tracking and figures. Exit code 1: a
bound is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np
from measuring import command, learner_of, missed, report, turns

SEEDS, TURNS = 32, 5
TRAINING = {
    "book_fib_attention": (["experiment=book_fib_attention"], 8, 20),
    "fib, bahdanau": (["task=fib", "attention=bahdanau"], 12, 4),
    "sunspots, bahdanau": (["task=sunspots", "attention=bahdanau"], 12, 4),
    "the same, dropout": (["task=sunspots", "attention=bahdanau", "model.dropout=0.2"], 20, 4),
}
COMMAND = ["-m", "task=sunspots", "attention=bahdanau", f"seed=range({SEEDS})"]
FASTER = 1.3  # reached 1.5; gradient steps alone allow 2.7, imports and figures cost the same


class Seeds:
    """The learners of one configuration for several seeds."""

    def __init__(self, overrides: list[str]) -> None:
        self.learners = [learner_of(overrides, seed) for seed in range(SEEDS)]
        self.epoch = 0

    def seconds(self, count: int, epochs: int) -> float:
        """What some epochs of the first learners take, together where they are several."""
        from attnlab.records.environment import processors
        from attnlab.training.stacking import StackScheduler, width_of

        first, self.epoch = self.epoch + 1, self.epoch + epochs

        def train(learner) -> None:
            learner.width = width_of(learner.stackable)
            for epoch in range(first, first + epochs):
                for chunk in learner.chunks(epoch):
                    learner.train(chunk, np.full(chunk.steps, 1e-3), 0)

        works = [lambda learner=learner: train(learner) for learner in self.learners[:count]]
        start = time.perf_counter()
        if count == 1:
            works[0]()
        else:
            StackScheduler(processors()).run(works)
        return time.perf_counter() - start


def bench_training() -> None:
    """Gradient steps alone: what 32 seeds cost in the price of one."""
    for name, (overrides, bound, epochs) in TRAINING.items():
        seeds = Seeds(overrides)
        seeds.seconds(1, 1), seeds.seconds(SEEDS, 1)  # compiles
        turns = [(seeds.seconds(1, epochs), seeds.seconds(SEEDS, epochs)) for _ in range(TURNS)]
        one, all_ = (float(np.median(part)) / epochs for part in zip(*turns, strict=True))
        detail = f"{one * 1000:.1f} ms an epoch of one seed, {all_ * 1000:.1f} ms of {SEEDS}"
        ratios = [together / alone for alone, together in turns]
        report(f"{name}: {SEEDS} seeds / one", ratios, bound, False, detail)


def bench_command() -> None:
    """The whole command, against the same jobs one by one in one process."""

    def run(together: str) -> None:
        with tempfile.TemporaryDirectory() as runs:
            words = "-m", "attnlab", *COMMAND, f"trainer.together={together}"
            command(*words, environment={"ATTNLAB_RUNS": runs})

    one_by_one, at_once = turns(2, lambda: run("never"), lambda: run("auto"), warm=False).T
    detail = f"{np.median(one_by_one):.0f} s one by one, {np.median(at_once):.0f} s together"
    report("the whole command: one by one / together", one_by_one / at_once, FASTER, True, detail)


if __name__ == "__main__":
    parts = {"training": bench_training, "command": bench_command}
    for name in sys.argv[1:] or parts:
        parts[name]()
    sys.exit(1 if missed else 0)
