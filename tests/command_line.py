"""Run the real command line in a separate process or in this one, with inputs for it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import IO, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
# TensorFlow and NumPy get one thread each, because tests run in parallel.
THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
# The smallest run that is still a run.
TINY = ("model.units=4", "model.cell=simple", "trainer.epochs=2", "trainer.batch_size=61")


class Outcome(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


def without_latest(err: str) -> str:
    """Standard error without the line that names the run of `latest`, which has its own tests."""
    return re.sub(r"^attnlab: latest is \S+\n", "", err)


def assert_refused(outcome: Outcome, *words: str) -> None:
    """One sentence on standard error that has all the words, and exit code 2."""
    assert (outcome.code, outcome.out) == (2, ""), outcome
    (line,) = outcome.err.splitlines()
    assert line.startswith("attnlab: ")
    for word in words:
        assert word in line


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answer_of(address: str) -> bytes:
    """The answer of a web server, which may be about to start."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5) as reply:
                return reply.read()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


class CommandLine:
    """`attnlab ...` as users run it: in another process and another working folder.

    Args:
        folder: The working folder.
        store: An MLflow store that is copied instead of creating a new one.
    """

    def __init__(self, folder: Path, store: Path | None = None) -> None:
        self.folder, self.runs = folder, folder / "runs"
        if store:
            self.runs.mkdir(exist_ok=True)
            shutil.copy(store, self.runs / "mlflow.db")
        environment = {
            key: os.environ[key] for key in ("PATH", "HOME", *THREADS) if key in os.environ
        }
        # Both processes compute by the same kernels, so to the same bits.
        environment |= {key: os.environ[key] for key in os.environ if key.startswith("OPENBLAS_")}
        self.environment = {**environment, "PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(self.runs)}

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

    def __call__(self, *arguments: object) -> Outcome:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=300)
        return Outcome(process.returncode, out, without_latest(err))

    def run(self, *arguments: object, **options) -> Outcome:
        """The outcome of a command whose exit code must be 0."""
        outcome = self(*arguments, **options)
        assert outcome.code == 0, outcome.err
        return outcome

    def run_folders(self) -> list[Path]:
        """The folders of all runs, in the order of their names."""
        return sorted(path.parent for path in self.runs.glob("*/*/*/status.json"))


class CommandsHere(CommandLine):
    """The same commands in this process: TensorFlow is imported once for all of them."""

    def __call__(self, *arguments: object, stdin: bytes | IO[str] = b"") -> Outcome:
        from attnlab.cli import main

        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.chdir(self.folder)
            patch.setenv("ATTNLAB_RUNS", str(self.runs))
            text = io.TextIOWrapper(io.BytesIO(stdin)) if isinstance(stdin, bytes) else stdin
            patch.setattr("sys.stdin", text)
            code = main([str(argument) for argument in arguments])
        return Outcome(code, out.getvalue(), without_latest(err.getvalue()))


@contextlib.contextmanager
def without_figures():
    """Draw nothing, and copy nothing to MLflow, after runs in this process: it takes seconds.

    Sweeps still do both.
    """
    import attnlab.sweeps.run  # noqa: F401  # its `start_following` isn't the patched one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnlab.runner.resume.start_following", lambda folder: None)
        yield


class TrainedRun(NamedTuple):
    """A run that a command left behind, for tests that only read it."""

    attnlab: CommandLine
    outcome: Outcome
    folder: Path


def some_pairs(count: int) -> list:
    """The first pairs of the built-in corpus."""
    from attnlab.tasks.data.builtin import rows
    from attnlab.tasks.translation.parallel import Pair

    return [Pair(*row) for row in rows("builtin")["train"][:count]]
