"""How fast attnlab trains and starts, as ratios against a peer measured in the same run.

    python scripts/bench_training.py            # all parts
    python scripts/bench_training.py epochs     # book, epochs, startup, whole or extras

Each line says what was measured, the ratio, and the bound that the project holds itself to. The
exit code is 1 if a bound is missed. Times are minima over repetitions, the measure least touched
by whatever else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
MECHANISMS = ("none", "bahdanau", "luong_local", "multi_head")
missed: list[str] = []


def report(what: str, ratio: float, bound: float, at_least: bool, detail: str) -> None:
    """Print a line, and remember it if the bound is missed."""
    fits = ratio >= bound if at_least else ratio <= bound
    sign = ">=" if at_least else "<="
    print(f"{'ok  ' if fits else 'MISS'} {what:<44} {ratio:8.3g} ({sign} {bound:g})  {detail}")
    sys.stdout.flush()
    if not fits:
        missed.append(what)


def best(action: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several calls."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class Pair:
    """One configuration trained both ways: `Program` and `keras.Model.fit`, equal weights."""

    def __init__(self, overrides: list[str]) -> None:
        from hydra import compose, initialize_config_dir

        from attnlab.config import composing as config
        from attnlab.run.building import make_model, make_task, start_afresh
        from attnlab.tasks.forecasting.program import Program
        from attnlab.training.optimizers import make_optimizer

        config.register_schema()
        with initialize_config_dir(str(config.conf_folder()), version_base="1.3"):
            self.config = config.from_hydra(compose("config", overrides))
        self.task = make_task(self.config)
        self.train = self.task.load(self.config.seed).train
        self.rate = self.config.optimizer.settings["learning_rate"]

        def optimizer():
            return make_optimizer(self.config.optimizer.name, self.config.optimizer.settings)

        start_afresh(self.config.seed)
        model = make_model(self.config, self.task)
        arrays = self.train.history, self.train.target
        self.program = Program(model, optimizer(), self.task.loss, *arrays)
        start_afresh(self.config.seed)
        self.peer = make_model(self.config, self.task)
        self.peer.compile(optimizer(), loss="mse")

    def plan(self, epoch: int):
        """The batches of an epoch."""
        from attnlab.training.batches import shuffled_plan

        rows = np.arange(len(self.train))
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
            self.train.history[order],
            self.train.target[order],
            batch_size=self.config.trainer.batch_size,
            shuffle=False,
            verbose=0,
        )
        return history.history["loss"][0]


def bench_book() -> None:
    """The book's Fibonacci with attention: 826 steps of batch 1."""
    pair = Pair(["experiment=book_fib_attention"])
    histories = np.array([(pair.ours(epoch), pair.fit(epoch)) for epoch in (1, 2, 3)])
    apart = float(np.max(np.abs(histories[:, 0] / histories[:, 1] - 1)))
    report("book_fib_attention: relative loss difference", apart, 1e-4, False, f"{histories[:, 0]}")
    ours = best(lambda: pair.ours(4), 20)
    fit = best(lambda: pair.fit(4), 3)
    report("book_fib_attention: fit / ours", fit / ours, 150, True, _times(ours, fit))


def bench_epochs() -> None:
    """Default tasks with four mechanisms."""
    for task in ("sunspots", "fib_random"):
        for mechanism in MECHANISMS:
            pair = Pair([f"task={task}", f"attention={mechanism}"])
            pair.ours(1), pair.fit(1)
            ours = best(lambda pair=pair: pair.ours(2), 5)
            fit = best(lambda pair=pair: pair.fit(2), 3)
            report(f"{task} {mechanism}: fit / ours", fit / ours, 4, True, _times(ours, fit))


def _times(ours: float, peer: float) -> str:
    return f"{ours * 1000:.1f} ms against {peer * 1000:.1f} ms"


def _command(*words: str) -> Callable[[], object]:
    """A process with no output; its exit code doesn't matter (one is a wrong request)."""
    return lambda: subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def bench_startup() -> None:
    """What must answer at once, against importing hydra and rich."""
    python = sys.executable
    peer = best(_command(python, "-c", "import hydra, rich"), 7)
    with tempfile.TemporaryDirectory() as runs:
        for words in (["--help"], ["trainer.epoch=3"], ["runs", "--runs", runs]):
            ours = best(_command(python, "-m", "attnlab", *words), 7)
            ratio = ours / (1.2 * peer + 0.5)
            name = f"attnlab {words[0]} / (1.2 x imports + 0.5 s)"
            report(name, ratio, 1, False, _times(ours, peer))


def bench_whole() -> None:
    """A whole run of 30 epochs, everything on, against `import tensorflow`."""
    python = sys.executable
    peer, ours = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as runs:
            train = ["task=fib", "attention=bahdanau", f"paths.runs={runs}"]
            ours.append(best(_command(python, "-m", "attnlab", *train), 1))
        peer.append(best(_command(python, "-c", "import tensorflow"), 1))
    ratio = float(np.median(np.array(ours) / np.array(peer)))
    report(
        "attnlab task=fib attention=bahdanau / import",
        ratio,
        3,
        False,
        _times(min(ours), min(peer)),
    )


# A run without what is measured: no tracking, and figures and weights that cost nothing.
_BARE = """
import sys
import keras
from attnlab import cli
from attnlab.figures import run as plots
from attnlab.run import recorder
plots.draw_run = lambda *arguments: []
recorder.save_weights = lambda model, path: open(path, "wb").close()
sys.exit(cli.main(sys.argv[1:]))
"""


def bench_extras() -> None:
    """Share that tracking, weights and figures take of a default sunspots run."""
    shares = []
    for _ in range(5):
        seconds = {}
        for kind, start in {"bare": ["-c", _BARE], "full": ["-m", "attnlab"]}.items():
            with tempfile.TemporaryDirectory() as runs:
                words = ["task=sunspots", f"paths.runs={runs}"]
                if kind == "bare":
                    words.append("tracking.enabled=false")
                seconds[kind] = best(_command(sys.executable, *start, *words), 1)
        shares.append(1 - seconds["bare"] / seconds["full"])
    report(
        "sunspots: share of tracking, weights, figures",
        float(np.median(shares)),
        0.25,
        False,
        " ".join(f"{share:.2f}" for share in shares) + f"; {_times(*seconds.values())}",
    )


PARTS = {
    "book": bench_book,
    "epochs": bench_epochs,
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
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    for part in words or PARTS:
        PARTS[part]()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
