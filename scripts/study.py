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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attnlab.cli import main as attnlab  # noqa: E402
from attnlab.compare.comparison import Comparison, Options, compare  # noqa: E402
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


def compared(runs: Path, study: Study) -> Comparison | None:
    """The study's runs, held against its reference; None where some are missing."""
    listed = list_runs(runs)
    if sum(status["state"] == "completed" for _, status in listed) < study.runs:
        return None
    options = Options(metric=study.metric, reference=study.reference, geometric=study.logarithmic)
    (comparison,) = compare(listed, options).tasks
    return comparison


def table(comparison: Comparison) -> str:
    """A Markdown table: a row for each attention, its mean, and how it differs from the reference.

    Errors that span orders of magnitude are averaged as logarithms: their mean is the geometric
    one and a difference is a ratio. p is the paired t test's, not corrected.
    """
    mean = "geometric mean" if comparison.geometric else "mean"
    versus = "over" if comparison.geometric else "minus"
    lines = [
        f"| attention | n | {mean} of test {comparison.metric.path} | 95 % interval | worst "
        f"| {versus} `{comparison.reference}` | p |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in comparison.results:
        n, mean_value, low, high = row.interval
        text = f"| `{row.group.label}` | {n} | {mean_value:.4g} | {low:.4g} to {high:.4g} "
        text += f"| {row.worst:.4g} "
        change = row.difference
        if change is None:
            lines.append(text + "| | |")
        else:
            interval = f"[{change.low:.2g}, {change.high:.2g}]"
            lines.append(text + f"| {change.mean:.2g} {interval} | {change.p:.2g} |")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Run one study and print its table."""
    if not words or words[0] not in STUDIES:
        print(f"study: expected one of {', '.join(STUDIES)}")
        return 2
    study = STUDIES[words[0]]
    runs = Path(words[1] if len(words) > 1 else f"runs/study/{words[0]}")
    comparison = compared(runs, study)
    if comparison is None:
        code = attnlab(["-m", *study.overrides, f"paths.runs={runs}"])
        if code:
            return code
        comparison = compared(runs, study)
    print(table(comparison) if comparison else f"study: {runs} lacks runs")
    return 0 if comparison else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
