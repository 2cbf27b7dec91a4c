"""How fast attnlab trains and starts, as ratios against a peer measured in the same run.

    python scripts/bench_training.py            # all parts
    python scripts/bench_training.py epochs     # book, epochs, answers, jit, startup, whole, extras

Each line has the median of the turns' ratios, their range, and the bound that the project holds
itself to. The exit code is 1 if a bound is missed.
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from measuring import checked, command, milliseconds, missed, report, turns

MECHANISMS = ("none", "bahdanau", "luong_local", "multi_head")


class Pair:
    """One configuration trained both ways: `Program` and `keras.Model.fit`, equal weights."""

    def __init__(self, overrides: list[str], jit: bool = True) -> None:
        from attnlab.run.building import make_model, make_task, start_afresh
        from attnlab.training.epoch_program import Program
        from attnlab.training.optimizers import make_optimizer

        self.config = checked(overrides)
        self.task = make_task(self.config)
        self.inputs, self.targets = self.arrays(self.task.load(self.config.seed))
        self.rate = self.config.optimizer.settings["learning_rate"]

        def optimizer():
            return make_optimizer(self.config.optimizer.name, self.config.optimizer.settings)

        start_afresh(self.config.seed)
        model = make_model(self.config, self.task)
        arrays = self.inputs, self.targets
        self.program = Program(model, optimizer(), self.task.loss, *arrays, jit=jit)
        start_afresh(self.config.seed)
        self.peer = make_model(self.config, self.task)
        self.peer.compile(optimizer(), loss=self.peer_loss())

    def arrays(self, data) -> tuple[np.ndarray, np.ndarray]:
        """What goes in and what should come out, of the training part."""
        return data.train.history, data.train.target

    def peer_loss(self):
        """The same loss as Keras takes it."""
        return "mse"

    def plan(self, epoch: int):
        """The batches of an epoch."""
        from attnlab.training.batches import shuffled_plan

        rows = np.arange(len(self.inputs))
        return shuffled_plan(rows, self.config.trainer.batch_size, self.config.seed, epoch)

    def ours(self, epoch: int) -> float:
        """One epoch as one program; the mean loss."""
        plan = self.plan(epoch)
        steps = len(plan.indices)
        losses = self.program.train(plan, np.full(steps, self.rate), (epoch - 1) * steps)
        return float(np.average(losses, weights=plan.sizes))

    def fit(self, epoch: int) -> float:
        """The same epoch by `fit`: same order, same batches."""
        plan = self.plan(epoch)
        order = plan.indices.reshape(-1)[plan.weights.reshape(-1) > 0]
        history = self.peer.fit(
            self.inputs[order],
            self.targets[order],
            batch_size=self.config.trainer.batch_size,
            shuffle=False,
            verbose=0,
        )
        return history.history["loss"][0]

    def compare(self, what: str, bound: float) -> None:
        """How many times sooner an epoch of ours is done."""
        times, repeats = 5, 5

        def ours() -> None:
            for _ in range(repeats):
                self.ours(2)

        seconds = turns(times, ours, lambda: self.fit(2)) / (repeats, 1)
        found, fit = seconds.T
        report(f"{what}: fit / ours", fit / found, bound, True, milliseconds(found, fit))


class Answers(Pair):
    """The same of questions about texts."""

    def arrays(self, data) -> tuple[np.ndarray, np.ndarray]:
        """Windows, and where the answers are."""
        rows = data.parts["train"].rows
        return rows.tokens, rows.targets

    def peer_loss(self):
        """Keras hands over targets as floats."""
        import tensorflow as tf

        return lambda target, logits: self.task.loss(tf.cast(target, tf.int32), logits)


def bench_book() -> None:
    """The book's Fibonacci with attention: 826 steps of batch 1."""
    pair = Pair(["experiment=book_fib_attention"])
    histories = np.array([(pair.ours(epoch), pair.fit(epoch)) for epoch in (1, 2, 3)])
    apart = float(np.max(np.abs(histories[:, 0] / histories[:, 1] - 1)))
    losses = ", ".join(f"{loss:.3g}" for loss in histories[:, 0])
    report("book_fib_attention: relative loss difference", apart, 1e-4, False, losses)
    pair.compare("book_fib_attention", 150)


def bench_epochs() -> None:
    """Default tasks with four mechanisms."""
    for task in ("sunspots", "fib_random"):
        for mechanism in MECHANISMS:
            pair = Pair([f"task={task}", f"attention={mechanism}"])
            pair.compare(f"{task} {mechanism}", 4)


def bench_answers() -> None:
    """The default reader on a few of its questions, as a graph: what it is trained as on a CPU.

    Its steps take long enough for `fit`, too, to spend most of its time in them.
    """
    for mechanism in MECHANISMS:
        words = ["task=answer", "data.questions=512", f"attention={mechanism}"]
        Answers(words, jit=False).compare(f"answer {mechanism}", 1)


def bench_jit() -> None:
    """What `trainer.jit=null` chooses for forecasters, XLA, against TensorFlow's graph."""
    for task in ("sunspots", "fib_random"):
        compiled, graph = (Pair([f"task={task}", "attention=bahdanau"], jit) for jit in (1, 0))
        found, other = turns(3, lambda p=compiled: p.ours(2), lambda p=graph: p.ours(2)).T
        report(f"{task} bahdanau: graph / XLA", other / found, 1, True, milliseconds(found, other))


def bench_startup() -> None:
    """What must answer at once, against importing hydra and rich."""
    with tempfile.TemporaryDirectory() as runs:
        for words in (["--help"], ["trainer.epoch=3"], ["runs", "--runs", runs]):
            ours, peer = turns(
                5,
                lambda words=words: command("-m", "attnlab", *words, check=False),  # code 2 of one
                lambda: command("-c", "import hydra, rich"),
            ).T
            name = f"attnlab {words[0]} / (1.2 x imports + 0.5 s)"
            report(name, ours / (1.2 * peer + 0.5), 1, False, milliseconds(ours, peer))


def bench_whole() -> None:
    """A whole run of 30 epochs, everything on, against `import tensorflow`."""

    def ours() -> None:
        with tempfile.TemporaryDirectory() as runs:
            command("-m", "attnlab", "task=fib", "attention=bahdanau", f"paths.runs={runs}")

    found, peer = turns(5, ours, lambda: command("-c", "import tensorflow")).T
    what = "attnlab task=fib attention=bahdanau / import"
    report(what, found / peer, 1.6, False, milliseconds(found, peer))


# A run without what is measured: no tracking, and no figures and weights.
_BARE = """
import sys
from attnlab import cli
from attnlab.figures import drawing
from attnlab.run import ending
from attnlab.run.building import import_tensorflow
import_tensorflow()
from attnlab.training import weights_file
drawing.start = ending.wait = lambda: None
ending.begin = lambda recorder: None
weights_file.weights_file = lambda model, path: b""
sys.exit(cli.main(sys.argv[1:]))
"""


def bench_extras() -> None:
    """Share that tracking, weights and figures take of a default sunspots run."""

    def run(*words: str) -> None:
        with tempfile.TemporaryDirectory() as runs:
            command(*words, f"paths.runs={runs}")

    task = "task=sunspots"
    bare, full = turns(
        5,
        lambda: run("-c", _BARE, task, "tracking.enabled=false"),
        lambda: run("-m", "attnlab", task),
    ).T
    what = "sunspots: share of tracking, weights, figures"
    report(what, 1 - bare / full, 0.25, False, milliseconds(bare, full))


PARTS = {
    "book": bench_book,
    "epochs": bench_epochs,
    "answers": bench_answers,
    "jit": bench_jit,
    "startup": bench_startup,
    "whole": bench_whole,
    "extras": bench_extras,
}


def main(words: list[str]) -> int:
    """Run the named parts, or all."""
    unknown = set(words) - set(PARTS)
    if unknown:
        print(f"parts: expected some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
        return 2
    for part in words or PARTS:
        PARTS[part]()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
