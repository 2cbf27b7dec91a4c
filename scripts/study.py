"""The studies whose tables stand in the README, run and summed up.

    python scripts/study.py sunspots [RUNS]    # every mechanism, 5 seeds, default protocol
    python scripts/study.py book_fib [RUNS]    # the book's network with and without attention

A folder RUNS (default ./runs/study/...) that has all runs is only summed up. Intervals are
Student's t over seeds, 95 %; differences are paired by seed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attnlab.cli import main as attnlab  # noqa: E402
from attnlab.records.run_directory import list_runs  # noqa: E402

MECHANISMS = "none,pooling,bahdanau,luong_global,luong_local,scaled_dot_product,multi_head"
SUNSPOTS = ["task=sunspots", f"attention={MECHANISMS}", "seed=0,1,2,3,4"]
BOOK_FIB = ["experiment=book_fib,book_fib_attention", f"seed={','.join(map(str, range(16)))}"]


class Study(NamedTuple):
    """Which runs, and what is compared."""

    overrides: list[str]
    metric: str
    reference: str
    runs: int
    logarithmic: bool


STUDIES = {
    "sunspots": Study(SUNSPOTS, "nrmse", "none", 35, False),
    "book_fib": Study(BOOK_FIB, "mse", "none", 32, True),
}


def results(runs: Path, metric: str) -> dict[str, dict[int, float]]:
    """Test results by attention and seed."""
    found: dict[str, dict[int, float]] = {}
    for run, status in list_runs(runs):
        if status["state"] == "completed":
            metrics = run.read_metrics()
            found.setdefault(metrics["attention"], {})[metrics["seed"]] = metrics["test"][metric]
    return found


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of the mean."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return values.mean() - half, values.mean() + half


def table(found: dict[str, dict[int, float]], study: Study) -> str:
    """A Markdown table: a row for each attention, its mean, and how it differs from the reference.

    Errors that span orders of magnitude are averaged as logarithms: their mean is the geometric
    one and a difference is a ratio.
    """
    into, back = (np.log, np.exp) if study.logarithmic else (np.asarray, np.asarray)
    mean = "geometric mean" if study.logarithmic else "mean"
    versus = f"over `{study.reference}`" if study.logarithmic else f"minus `{study.reference}`"
    lines = [
        f"| attention | n | {mean} of test {study.metric} | 95 % interval | worst | {versus} | p |",
        "|---|---|---|---|---|---|---|",
    ]
    base = found[study.reference]
    for name, by_seed in sorted(found.items(), key=lambda item: np.mean(list(item[1].values()))):
        values = into(np.array([by_seed[seed] for seed in sorted(by_seed)]))
        low, high = back(interval(values))
        row = f"| `{name}` | {len(values)} | {back(values.mean()):.4g} | {low:.4g} to {high:.4g} "
        row += f"| {back(values.max()):.4g} "
        if name == study.reference:
            lines.append(row + "| | |")
            continue
        shared = sorted(by_seed.keys() & base.keys())
        change = np.array([into(by_seed[seed]) - into(base[seed]) for seed in shared])
        low, high = back(interval(change))
        p = stats.ttest_1samp(change, 0.0).pvalue
        lines.append(row + f"| {back(change.mean()):.2g} [{low:.2g}, {high:.2g}] | {p:.2g} |")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Run one study and print its table."""
    if not words or words[0] not in STUDIES:
        print(f"study: expected one of {', '.join(STUDIES)}")
        return 2
    study = STUDIES[words[0]]
    runs = Path(words[1] if len(words) > 1 else f"runs/study/{words[0]}")
    found = results(runs, study.metric)
    if sum(len(by_seed) for by_seed in found.values()) < study.runs:
        code = attnlab(["-m", *study.overrides, f"paths.runs={runs}"])
        if code:
            return code
        found = results(runs, study.metric)
    print(table(found, study))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
