"""What tests share: the real command line in a process of its own, and composed configurations."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
# The smallest run that is still a run.
TINY = ("model.units=4", "trainer.epochs=2", "trainer.batch_size=61")


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


# A script that starts the tests in the background makes them, and what they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class CommandLine:
    """`attnlab ...` as its users have it: another process, another working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"
        kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        self.environment = {**kept, "PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(self.runs)}

    def start(self, *arguments: object, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", "attnlab", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: object, **options) -> Outcome:
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(timeout=300)
        return Outcome(process.returncode, out, err)

    def run_folders(self) -> list[Path]:
        """The folders of all runs, in the order of their names."""
        return sorted(path.parent for path in self.runs.glob("*/*/*/status.json"))


@pytest.fixture(autouse=True)
def same_random_state():
    """Let no test depend on the tests before it; a run makes TensorFlow insist on seeds, too."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(0)


@pytest.fixture
def attnlab(tmp_path) -> CommandLine:
    return CommandLine(tmp_path)


class TrainedRun(NamedTuple):
    """A run that a command left behind, for tests that only read it."""

    attnlab: CommandLine
    outcome: Outcome
    folder: Path


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> TrainedRun:
    """A run over a CSV file as spreadsheets write it, with MLflow."""
    attnlab = CommandLine(tmp_path_factory.mktemp("trained"))
    months = [f"{1990 + month // 12}-{month % 12 + 1:02d}" for month in range(97)]
    rows = [f"{month},{50 + 13 * (number % 7)}" for number, month in enumerate(months)]
    text = "\r\n".join(["month,rain", *rows, ""])
    (attnlab.folder / "rain.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    outcome = attnlab(
        *("task=series", "task.path=rain.csv", "task.column=rain", "task.time_column=month"),
        *("task.history=7", "attention=luong_global", *TINY),
    )
    assert outcome.code == 0, outcome.err
    (folder,) = attnlab.run_folders()
    return TrainedRun(attnlab, outcome, folder)


def some_pairs(count: int) -> list:
    """The first pairs of the built-in corpus, with gold links."""
    from itertools import islice

    from attnlab.data.builtin import Builtin

    return list(islice(Builtin(pairs=max(count, 100)).pairs("train"), count))


@pytest.fixture(scope="session")
def translating(tmp_path_factory) -> TrainedRun:
    """A run that translates, with gold links and with MLflow."""
    attnlab = CommandLine(tmp_path_factory.mktemp("translating"))
    pairs = some_pairs(90)
    lines = [f"{pair.source}\t{pair.target}\r\n" for pair in pairs]
    (attnlab.folder / "pairs.tsv").write_bytes("".join(lines).encode())
    (attnlab.folder / "pairs.links").write_text("".join(f"{pair.links}\n" for pair in pairs))
    outcome = attnlab(
        *("task=translate", "data=files", "data.path=pairs.tsv", "data.links=pairs.links"),
        *("attention=bahdanau", "model.units=8", "model.embedding=6", "model.maxout_units=4"),
        *("trainer.epochs=2", "trainer.batch_size=400", "paths.data=cache"),
    )
    assert outcome.code == 0, outcome.err
    (folder,) = attnlab.run_folders()
    return TrainedRun(attnlab, outcome, folder)


@pytest.fixture(scope="session")
def compose(tmp_path_factory):
    """Compose and check a configuration from overrides, in this process, with its own runs."""

    def compose(*overrides: str):
        from hydra import compose, initialize_config_dir

        from attnlab import config

        config.register_schema()
        with initialize_config_dir(str(CONF), version_base="1.3"):
            runs = f"paths.runs={tmp_path_factory.mktemp('runs')}"
            return config.from_hydra(
                compose("config", [runs, "tracking.enabled=false", *overrides])
            )

    return compose
