"""What tests share: the real command line in a process of its own, and composed configurations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
# The smallest run that is still a run: overrides for every task, and for some.
TINY = ("model.units=4", "trainer.epochs=2", "trainer.batch_size=61")


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class CommandLine:
    """`attnlab ...` as its users have it: another process, another working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"
        kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        self.environment = {**kept, "PYTHONPATH": str(ROOT), "ATTNLAB_RUNS": str(self.runs)}

    def start(self, *arguments: object, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "attnlab", *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: object, **environment: str) -> Outcome:
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=300)
        return Outcome(process.returncode, out, err)

    def run_folders(self) -> list[Path]:
        """The folders of all runs, in the order of their names."""
        return sorted(path.parent for path in self.runs.glob("*/*/*/status.json"))


@pytest.fixture
def attnlab(tmp_path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def compose(tmp_path):
    """Compose and check a configuration from overrides, in this process."""

    def compose(*overrides: str):
        from hydra import compose, initialize_config_dir

        from attnlab import config

        config.register_schema()
        with initialize_config_dir(str(CONF), version_base="1.3"):
            given = [f"paths.runs={tmp_path / 'runs'}", "tracking.enabled=false", *overrides]
            return config.from_hydra(compose("config", given))

    return compose
