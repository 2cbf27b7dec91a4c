"""What the benches share: turns, lines with median and range, and where lines are stored."""

from __future__ import annotations

import importlib.util
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
# PyTorch's threads would spin for work while it is our turn.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Names the file to which each line is added, for `bench.py`.
LINES = "ATTNLAB_BENCH_LINES"
# Turns end early once there are this many, and the middle half of the ratios is this narrow.
FEWEST, NARROW = 4, 0.03
missed: list[str] = []


@dataclass(frozen=True)
class Line:
    """A ratio that was measured several times, and its bound: an aim or a guard."""

    what: str
    median: float
    least: float
    greatest: float
    bound: float
    at_least: bool  # whether the bound is a minimum or a maximum
    detail: str = ""

    @property
    def fits(self) -> bool:
        """Whether the median satisfies the bound."""
        return self.median >= self.bound if self.at_least else self.median <= self.bound

    @property
    def sign(self) -> str:
        """The bound's sign."""
        return ">=" if self.at_least else "<="


def report(
    what: str, ratios: float | Sequence[float], bound: float, at_least: bool, detail: str = ""
) -> None:
    """Print a line, store it for `bench.py`, and remember it if the bound is missed."""
    found = np.atleast_1d(np.asarray(ratios, float))
    line = Line(what, *map(float, (np.median(found), found.min(), found.max())), bound, at_least)
    spread = f"{line.least:.3g} to {line.greatest:.3g}" if len(found) > 1 else "once"
    state = "ok  " if line.fits else "MISS"
    print(f"{state} {what:<46} {line.median:7.3g} ({spread}; {line.sign} {bound:g})  {detail}")
    sys.stdout.flush()
    if not line.fits:
        missed.append(what)

    _store({**asdict(line), "detail": detail})


def leave_out(what: str, why: str) -> None:
    """Print what is not measured here and why, and store it for the page."""
    print(f"skip {what}: {why}")
    _store({"left_out": what, "why": why})


def _store(entry: Mapping[str, object]) -> None:
    if path := os.environ.get(LINES):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def has_torch(what: str) -> bool:
    """Return whether PyTorch is installed; if not, the lines `what` are left out."""
    if importlib.util.find_spec("torch"):
        return True
    leave_out(what, "torch is not installed")
    return False


def turns(most: int, *actions: Callable[[], object], warm: bool = True) -> np.ndarray:
    """Time actions in turns, every second turn in reverse order, so that drift favours none.

    Returns:
        Seconds, (turns, actions), without the first turn if that is to warm up. There are `most`
        turns, or fewer (`FEWEST` at least) if the ratios to the first action differ little.
    """
    seconds: list[np.ndarray] = []
    while len(seconds) < most + warm and not _is_narrow(np.array(seconds[warm:])):
        turn = np.zeros(len(actions))
        order = range(len(actions))
        for number in order if len(seconds) % 2 else reversed(order):
            start = time.perf_counter()
            actions[number]()
            turn[number] = time.perf_counter() - start
        seconds.append(turn)
    return np.array(seconds[warm:])


def _is_narrow(seconds: np.ndarray) -> bool:
    """Return whether the middle half of every ratio to the first action is narrow."""
    if len(seconds) < FEWEST or seconds.shape[1] < 2:
        return False
    ratios = seconds[:, 1:] / seconds[:, :1]
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75), axis=0)
    return bool(np.all(high - low < NARROW * middle))


def run_parts(words: Sequence[str], parts: Mapping[str, Callable[[], object]]) -> int:
    """Run the named parts of a bench, or all; return its exit code."""
    unknown = set(words) - set(parts)
    if unknown:
        print(f"parts: expected some of {', '.join(parts)}, got {', '.join(sorted(unknown))}")
        return 2
    for part in words or parts:
        parts[part]()
    return 1 if missed else 0


def report_compiler(name: str, xla: bool, chosen: np.ndarray, other: np.ndarray) -> None:
    """Report the other compiler's time over that of the one that `trainer.jit=auto` chooses.

    XLA has to gain a tenth to make up for compiling, so the graph may be that much slower.
    """
    what = f"{name}: {'graph / XLA' if xla else 'XLA / graph'}, chosen"
    report(what, other / chosen, 1 if xla else 0.9, True, milliseconds(chosen, other))


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
    from attnlab.runner.train import make_learner, make_task, start_afresh

    config = checked([*overrides, f"seed={seed}"])
    task = make_task(config)
    task.load(seed)
    start_afresh(seed)
    return make_learner(config, task)
