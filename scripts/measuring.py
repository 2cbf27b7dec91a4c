"""What the benches share: turns, lines with median and range, where lines are kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Of a file to which each line is added, for `bench.py`.
LINES = "ATTNLAB_BENCH_LINES"
missed: list[str] = []


@dataclass(frozen=True)
class Line:
    """A ratio that was measured several times, and the bound that the project holds itself to."""

    what: str
    median: float
    least: float
    greatest: float
    bound: float
    at_least: bool  # whether the bound is the least that will do, or the most
    detail: str = ""

    @property
    def fits(self) -> bool:
        """Whether the median keeps the bound."""
        return self.median >= self.bound if self.at_least else self.median <= self.bound

    @property
    def sign(self) -> str:
        """That of the bound."""
        return ">=" if self.at_least else "<="


def report(
    what: str, ratios: float | Sequence[float], bound: float, at_least: bool, detail: str = ""
) -> None:
    """Print a line, keep it for `bench.py`, and remember it if the bound is missed."""
    found = np.atleast_1d(np.asarray(ratios, float))
    line = Line(what, *map(float, (np.median(found), found.min(), found.max())), bound, at_least)
    spread = f"{line.least:.3g} to {line.greatest:.3g}" if len(found) > 1 else "once"
    state = "ok  " if line.fits else "MISS"
    print(f"{state} {what:<46} {line.median:7.3g} ({spread}; {line.sign} {bound:g})  {detail}")
    sys.stdout.flush()
    if not line.fits:
        missed.append(what)
    from attnlab.process.variables import variable

    if path := variable(LINES):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(line), "detail": detail}) + "\n")


def turns(times: int, *actions: Callable[[], object], warm: bool = True) -> np.ndarray:
    """Seconds of each action at each turn, (times, actions), after a turn to warm up if wanted."""
    seconds = np.zeros((times + warm, len(actions)))
    for turn in seconds:
        for number, action in enumerate(actions):
            start = time.perf_counter()
            action()
            turn[number] = time.perf_counter() - start
    return seconds[warm:]


def milliseconds(ours: Sequence[float], peer: Sequence[float]) -> str:
    """Two medians in words."""
    return f"{np.median(ours) * 1e3:.1f} ms against {np.median(peer) * 1e3:.1f} ms"


def command(*words: str, environment: Mapping[str, str] | None = None, check: bool = True) -> None:
    """Run a Python process, `-m attnlab ...` or `-c ...`, with no output.

    Raises `SystemExit` where it fails, if that is to be checked.
    """
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}")


def checked(overrides: Sequence[str]):
    """The configuration that these words make."""
    from hydra import compose, initialize_config_dir

    from attnlab.config import composing as config

    config.register_schema()
    with initialize_config_dir(str(config.conf_folder()), version_base="1.3"):
        return config.from_hydra(compose("config", list(overrides)))


def learner_of(overrides: Sequence[str], seed: int = 0):
    """What trains the configuration that these words make."""
    from attnlab.run.building import make_task, start_afresh
    from attnlab.run.loop import make_learner

    config = checked([*overrides, f"seed={seed}"])
    task = make_task(config)
    task.load(seed)
    start_afresh(seed)
    return make_learner(config, task)
