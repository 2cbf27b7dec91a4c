"""The studies whose tables stand in the README, run and summed up.

    python scripts/study.py sunspots [RUNS]    # every mechanism, 5 seeds, default protocol
    python scripts/study.py book_fib [RUNS]    # the book's network with and without attention

Runs that the folder RUNS (default ./runs/study) already has are not run again. Intervals are
Student's t over seeds, 95 %; differences are paired by seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attnlab.cli import main as attnlab  # noqa: E402
from attnlab.records.run_directory import list_runs  # noqa: E402

MECHANISMS = "none,pooling,bahdanau,luong_global,luong_local,scaled_dot_product,multi_head"
SUNSPOTS = ["task=sunspots", f"attention={MECHANISMS}", "seed=0,1,2,3,4"]
BOOK_FIB = ["experiment=book_fib,book_fib_attention", f"seed={','.join(map(str, range(16)))}"]
STUDIES = {
    # name: overrides, metric, attention that the others are held against, runs expected
    "sunspots": (SUNSPOTS, "nrmse", "none", 35),
    "book_fib": (BOOK_FIB, "mse", "none", 32),
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


def table(found: dict[str, dict[int, float]], metric: str, reference: str) -> str:
    """A Markdown table: a row for each attention, its mean, and its difference to `reference`."""
    lines = [
        f"| attention | n | mean test {metric} | 95 % interval | worst | minus `{reference}` | p |",
        "|---|---|---|---|---|---|---|",
    ]
    base = found[reference]
    for name, by_seed in sorted(found.items(), key=lambda item: np.mean(list(item[1].values()))):
        values = np.array([by_seed[seed] for seed in sorted(by_seed)])
        low, high = interval(values)
        row = f"| `{name}` | {len(values)} | {values.mean():.4g} | {low:.4g} to {high:.4g} "
        row += f"| {values.max():.4g} "
        shared = sorted(by_seed.keys() & base.keys())
        if name == reference:
            row += "| | |"
        else:
            change = np.array([by_seed[seed] - base[seed] for seed in shared])
            low, high = interval(change)
            p = stats.ttest_1samp(change, 0.0).pvalue
            row += f"| {change.mean():.2g} [{low:.2g}, {high:.2g}] | {p:.2g} |"
        lines.append(row)
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Run one study and print its table."""
    if not words or words[0] not in STUDIES:
        print(f"study: expected one of {', '.join(STUDIES)}")
        return 2
    overrides, metric, reference, expected = STUDIES[words[0]]
    runs = Path(words[1] if len(words) > 1 else f"runs/study/{words[0]}")
    done = sum(len(by_seed) for by_seed in results(runs, metric).values())
    if done < expected:
        code = attnlab(["-m", *overrides, f"paths.runs={runs}"])
        if code:
            return code
    print(table(results(runs, metric), metric, reference))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
