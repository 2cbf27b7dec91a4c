"""What a sweep's jobs cost beyond the first, measured against a run of its own.

    python scripts/bench_sweeps.py            # 20 default Fibonacci runs of 3 epochs
    python scripts/bench_sweeps.py 5          # as many as you like

The first job pays for importing TensorFlow and for compiling, the others should not. The first line
says how long the sweep took as a share of what it may take: 2.5 times what one run takes alone,
plus 2 seconds a job; the second how much longer two processes of joblib take, each of which pays
for itself; the third how long four small translators take one by one, as a multiple of what they
take in a process each, which a sweep gives them by itself. All are timed by the command line, start
of the process included. The exit code is 1 if a bound is missed.
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from measuring import command, missed, report, turns

RUN = ("task=fib", "trainer.epochs=3")
ONE_BY_ONE = "trainer.together=never"
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
TRANSLATORS = ("-m", "task=translate", "data.pairs=2000", "trainer.epochs=2", "seed=range(4)")
# What a sweep may take: so many times a run alone, and so many seconds a job.
TIMES, SECONDS, TURNS = 2.5, 2.0, 3


def run(*words: str) -> None:
    """A command with a runs folder of its own."""
    with tempfile.TemporaryDirectory() as runs:
        command("-m", "attnlab", *words, f"paths.runs={runs}")


def main(words: list[str]) -> int:
    """Time a run, a sweep of such runs, and the same sweep by joblib; then of translators."""
    if len(words) > 1 or not all(word.isdecimal() and int(word) for word in words):
        print(f"jobs: expected one whole number from 1, got {' '.join(words)}")
        return 2
    jobs = int(words[0]) if words else 20
    sweep = ("-m", *RUN, f"seed=range({jobs})")
    alone, together, joblib = turns(
        TURNS, lambda: run(*RUN), lambda: run(*sweep), lambda: run(*sweep, *JOBLIB), warm=False
    ).T
    more = np.median(together - alone) / jobs
    detail = f"{np.median(together):.1f} s, {np.median(alone):.1f} s alone, {more:.2f} s a job more"
    name = f"{jobs} jobs in one sweep / (2.5 x one alone + 2 s each)"
    report(name, together / (TIMES * alone + jobs * SECONDS), 1, False, detail)
    report("the same by joblib, 2 processes / in one", joblib / together, 1, True)
    alone, apart = turns(
        2, lambda: run(*TRANSLATORS, ONE_BY_ONE), lambda: run(*TRANSLATORS), warm=False
    ).T
    report("4 translators one by one / in a process each", alone / apart, 1, True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
