"""How fast attnlab trains and starts, as ratios against a peer measured in the same run.

    python scripts/bench_training.py            # all parts
    python scripts/bench_training.py epochs     # book, epochs, texts, jit, startup, whole, extras

Each line has the median ratio, the range over the turns, and the bound. The exit code is 1 if a
bound is missed.
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from measuring import (
    checked,
    command,
    milliseconds,
    report,
    report_compiler,
    run_parts,
    turns,
)

MECHANISMS = ("none", "bahdanau", "luong_local", "multi_head")


class Pair:
    """One configuration trained both ways: as a run does it and by `fit`, from equal weights."""

    def __init__(self, overrides: list[str]) -> None:
        import keras

        from attnlab.runner.train import make_learner, make_model, make_task, start_afresh
        from attnlab.training.optimizers import make_optimizer

        config = checked(overrides)
        task = make_task(config)
        task.load(config.seed)
        start_afresh(config.seed)
        self.learner = make_learner(config, task)
        start_afresh(config.seed)
        self.peer = make_model(config, task)
        self.peer.set_weights(self.learner.model.get_weights())
        settings = config.optimizer
        self.peer.compile(make_optimizer(settings.name, settings.settings))
        # As its own losses Keras knows neither several outputs nor targets that are whole numbers.
        self.peer.compute_loss = lambda x, y, y_pred, *_, **__: keras.ops.mean(task.loss(y, y_pred))
        self.rate, self.batch = settings.settings["learning_rate"], config.trainer.batch_size
        program = self.learner.program
        self.data = program.inputs.numpy(), program.targets.numpy()
        if rows := getattr(self.learner, "_rows", None):  # of masked words: a program gets a chunk
            self.data = 2 * (rows.padded(np.arange(len(rows)), task.width),)

    def ours(self, epoch: int) -> float:
        """One epoch as one program; the mean loss."""
        losses, sizes = [], []
        for chunk in self.learner.chunks(epoch):
            first = (epoch - 1) * chunk.steps
            losses.append(self.learner.train(chunk, np.full(chunk.steps, self.rate), first).values)
            sizes.append(chunk.sizes)
        return float(np.average(np.concatenate(losses), weights=np.concatenate(sizes)))

    def fit(self, epoch: int) -> float:
        """The same epoch by `fit`: same order, same batches."""
        plans = self.learner.chunks(epoch)
        order = np.concatenate([plan.indices[plan.weights > 0] for plan in plans])
        inputs, targets = (part[order] for part in self.data)
        settings = {"batch_size": self.batch, "shuffle": False, "verbose": 0}
        return self.peer.fit(inputs, targets, **settings).history["loss"][0]

    def compare(self, what: str, bound: float, repeats: int = 5) -> None:
        """Report how many times faster an epoch of ours is."""

        def ours() -> None:
            for _ in range(repeats):
                self.ours(2)

        found, fit = (turns(5, ours, lambda: self.fit(2)) / (repeats, 1)).T
        report(f"{what}: fit / ours", fit / found, bound, True, milliseconds(found, fit))


def bench_book() -> None:
    """The book's Fibonacci with attention: 826 steps of batch 1."""
    pair = Pair(["experiment=book_fib_attention"])
    histories = np.array([(pair.ours(epoch), pair.fit(epoch)) for epoch in (1, 2, 3)])
    apart = float(np.max(np.abs(histories[:, 0] / histories[:, 1] - 1)))
    losses = ", ".join(f"{loss:.3g}" for loss in histories[:, 0])
    report("book_fib_attention: relative loss difference", apart, 1e-4, False, losses)
    pair.compare("book_fib_attention", 150)


def bench_epochs() -> None:
    """Default tasks with four mechanisms, and one with dropout."""
    for task in ("sunspots", "fib_random"):
        for mechanism in MECHANISMS:
            pair = Pair([f"task={task}", f"attention={mechanism}"])
            pair.compare(f"{task} {mechanism}", 4)
    dropping = ["model.dropout=0.2", "attention.dropout=0.1"]
    Pair(["task=sunspots", "attention=bahdanau", *dropping]).compare(
        "sunspots bahdanau, dropout", 4
    )


def bench_texts() -> None:
    """Default models on texts; ours has batches of near-equal lengths, `fit` whole rows.

    Their steps take long enough for `fit`, too, to spend much of its time in them. The products of
    `masked_words` alone allow 2.9.
    """
    for mechanism in MECHANISMS:
        own = [f"attention={mechanism}"]
        Pair(["task=classify", *own]).compare(f"classify {mechanism}", 3.4, 1)
        questions = ["task=answer", "data.questions=512"]
        bound = 2.8 if mechanism == "multi_head" else 4
        Pair([*questions, *own]).compare(f"answer {mechanism}", bound, 1)
    sentences = ["task=masked_words", "data.sentences=2000"]
    Pair(sentences).compare("masked_words multi_head", 1.7, 1)


def bench_jit() -> None:
    """Time XLA, which `trainer.jit=auto` chooses for small forecasters, against the graph."""
    for task in ("sunspots", "fib_random"):
        words = [f"task={task}", "attention=bahdanau"]
        compiled, graph = Pair(words), Pair([*words, "trainer.jit=false"])
        found, other = turns(4, lambda p=compiled: p.ours(2), lambda p=graph: p.ours(2)).T
        report_compiler(f"{task} bahdanau", True, found, other)


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
    report(what, found / peer, 1.75, False, milliseconds(found, peer))


# A run without what is measured: no tracking, and no figures and weights.
_BARE = """
import sys
from attnlab import cli
from attnlab.runner import resume
from attnlab.training.tensorflow_internals import import_tensorflow
import_tensorflow()
from attnlab.training import weights_file
resume.start_following = lambda folder: None
weights_file.WeightsFiles.next = lambda files, values, scratch: b""
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
    "texts": bench_texts,
    "jit": bench_jit,
    "startup": bench_startup,
    "whole": bench_whole,
    "extras": bench_extras,
}


if __name__ == "__main__":
    sys.exit(run_parts(sys.argv[1:], PARTS))
