"""What a sweep's jobs cost beyond the first, measured against a run of its own.

    python scripts/bench_sweeps.py            # 20 default Fibonacci runs of 3 epochs
    python scripts/bench_sweeps.py 5          # as many as you like

The first job pays for importing TensorFlow and for compiling, the others should not. The line says
how long the sweep took as a share of what it may take: 2.5 times what one run takes alone, plus
2 seconds a job. The exit code is 1 if that is exceeded. Both are timed by the command line, start
of the process included; the run alone twice, before and after the sweep, and its longer time
counts, so that a machine that becomes busy meanwhile slows down both sides. A line before it has
the same sweep by two processes of joblib, each of which pays for itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN = ("task=fib", "trainer.epochs=3")
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
# What a sweep may take: so many times a run alone, and so many seconds a job.
TIMES, SECONDS = 2.5, 2.0


def seconds(*words: str) -> float:
    """How long a command takes, with a runs folder of its own."""
    with tempfile.TemporaryDirectory() as runs:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "attnlab", *words, f"paths.runs={runs}"],
            cwd=Path(__file__).resolve().parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        took = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"attnlab {' '.join(words)} failed:\n{done.stdout}")
        return took


def main(words: list[str]) -> int:
    """Time a run, a sweep of such runs, and a run again."""
    if len(words) > 1 or not all(word.isdecimal() and int(word) for word in words):
        print(f"jobs: expected one whole number from 1, got {' '.join(words)}")
        return 2
    jobs = int(words[0]) if words else 20
    before = seconds(*RUN)
    sweep = seconds("-m", *RUN, f"seed=range({jobs})")
    alone = max(before, seconds(*RUN))
    joblib = seconds("-m", *RUN, f"seed=range({jobs})", *JOBLIB)
    print(f"the same by joblib, 2 processes: {joblib:.1f} s, {joblib / sweep:.2f} times as long")
    bound = TIMES * alone + jobs * SECONDS
    name = f"{jobs} jobs in one sweep / (2.5 x one alone + 2 s each)"
    detail = f"{sweep:.1f} s against {alone:.1f} s alone, {(sweep - alone) / jobs:.2f} s a job more"
    print(f"{'ok  ' if sweep <= bound else 'MISS'} {name:<50} {sweep / bound:.3g} (<= 1)  {detail}")
    return 0 if sweep <= bound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
