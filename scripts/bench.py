"""Speed, as ratios to peers measured in the same run: `make bench`.

    python scripts/bench.py                       # all lines, 20 minutes on two cores
    python scripts/bench.py seeds "torch"         # lines that have one of these words
    python scripts/bench.py --against runs/bench/2026-11-22_101500.json

Ours and the peer take turns. A ratio is the peer's time over ours: 2 means twice as fast. The page
has the median over the turns, the range and the bound, with the machine and the versions; it is
printed and written to `runs/bench/DATE.md`, with the numbers in `DATE.json`. The exit code is 1 if
a bound is missed or a line failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import metadata
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import bench_measures as ours
import numpy as np
from bench_measures import ROOT

sys.path.insert(0, str(ROOT))

PACKAGES = ("attnlab", "tensorflow", "keras", "numpy", "mlflow", "torch", "ctranslate2")
# Sets of instructions that decide how fast a processor multiplies, the later the faster.
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile")


class Line(NamedTuple):
    """What is measured, against what, and the least ratio."""

    what: str
    peer: str
    bound: float
    measure: Callable[[], ours.Seconds]


def _fit(task: str, bound: float, *words: str, epochs: int = 1) -> Line:
    name = " ".join([task.partition("=")[2], *words]).replace("attention=", "")
    measure = partial(ours.fit, [task, *words], epochs)
    return Line(f"{name}, an epoch", "keras.Model.fit", bound, measure)


def _seeds(name: str, bound: float, count: int, epochs: int, *words: str) -> Line:
    measure = partial(ours.stacked, words, count, epochs)
    return Line(f"{count} seeds of {name} in a stack", "one by one", bound, measure)


DROPOUT = ("model.dropout=0.2", "attention.dropout=0.1")
RECALL = (
    *("task=translate", "data.pairs=4000", "attention=bahdanau", "model=rnn", "model.units=64"),
    *("model.embedding=64", "data=recall", "data.keys=16", "data.length=64", "data.symbols=64"),
)
FIB = ("task=fib", "trainer.epochs=3")
BAHDANAU = "attention=bahdanau"
LINES = [
    _fit("experiment=book_fib_attention", 150, epochs=5),
    _fit("task=sunspots", 4, "attention=none", epochs=5),
    _fit("task=sunspots", 4, BAHDANAU, epochs=5),
    _fit("task=sunspots", 4, BAHDANAU, *DROPOUT, epochs=5),
    _fit("task=fib_random", 4, "attention=luong_local", epochs=5),
    _fit("task=fib_random", 4, "attention=multi_head", epochs=5),
    _fit("task=classify", 3.4, BAHDANAU),
    _fit("task=answer", 4, BAHDANAU, "data.questions=512"),
    _fit("task=answer", 2.8, "attention=multi_head", "data.questions=512"),
    _fit("task=masked_words", 1.7, "data.sentences=2000"),
    _fit("task=digits", 4),
    Line("Transformer d 128, a target token", "keras.Model.fit", 1.8, ours.fit_translator),
    Line("Transformer d 512, a step", "PyTorch", 1.1, partial(ours.torch_transformer, 512)),
    Line("Transformer d 128, a step", "PyTorch", 1.1, partial(ours.torch_transformer, 128)),
    Line(
        "RNN translator bahdanau, a step", "PyTorch", 1.1, partial(ours.torch_recurrent, "bahdanau")
    ),
    Line(
        "RNN translator luong_global, a step",
        "PyTorch",
        1.1,
        partial(ours.torch_recurrent, "luong_global"),
    ),
    Line("language model, a step", "PyTorch", 1.0, ours.torch_language),
    Line("language model, a token", "PyTorch with a cache", 0.8, ours.torch_generation),
    Line("language model, a token", "reading all again", 20, ours.uncached_generation),
    Line("vit_tiny, a step", "PyTorch", 0.75, ours.torch_images),
    Line("greedy search d 512, a token", "the book's loop", 200, ours.read_again_translation),
    Line("greedy search d 128", "CTranslate2", 0.35, partial(ours.ctranslate2, 128, 1, 1000)),
    Line("greedy search d 512", "CTranslate2", 0.7, partial(ours.ctranslate2, 512, 1, 512)),
    Line("beam search d 512", "CTranslate2", 0.7, partial(ours.ctranslate2, 512, 5, 102)),
    Line("sunspots bahdanau, XLA", "graph", 1, partial(ours.compiled, ("task=sunspots", BAHDANAU))),
    Line("recall bahdanau, XLA", "graph", 1, partial(ours.compiled, RECALL)),
    _seeds("book_fib_attention", 4, 32, 20, "experiment=book_fib_attention"),
    _seeds("fib bahdanau", 32 / 7, 32, 4, "task=fib", BAHDANAU),
    _seeds("sunspots bahdanau", 32 / 12, 32, 4, "task=sunspots", BAHDANAU),
    _seeds("language", 8 / 9, 8, 1, "task=language", "task.windows=1600"),
    *(
        Line(
            f"{name}: 4,096 tokens",
            "4 x 1,024 tokens",
            4 / 6,
            partial(ours.growth, option, **settings),
        )
        for name, option, settings in (
            ("window of 64", "multi_head", {"window": 64}),
            *((name, name, {}) for name in ("linear", "delta", "gated_delta")),
        )
    ),
    *(
        Line(f"attnlab {word}", "1.2 x imports + 0.5 s", 1, partial(ours.answered, word))
        for word in ("--help", "trainer.epoch=3", "runs")
    ),
    Line(
        "fib bahdanau, the command",
        "import tensorflow",
        1 / 1.6,
        partial(ours.whole, "task=fib", BAHDANAU),
    ),
    Line(
        "sunspots, the command",
        "no tracking, weights, figures",
        0.75,
        partial(ours.bare, "task=sunspots"),
    ),
    Line("20 runs of fib in a sweep", "2.5 x one + 2 s each", 1, partial(ours.swept, FIB, 20)),
    Line(
        "32 seeds of sunspots, the command",
        "one by one",
        1.3,
        partial(ours.together, ("task=sunspots", BAHDANAU), 32),
    ),
]


def measured(line: Line) -> dict[str, Any]:
    """Return a line's medians and ratios; without ratios, why: the peer may not be installed."""
    entry = {"what": line.what, "peer": line.peer, "bound": line.bound, "ratios": []}
    try:
        seconds = line.measure()
    except Exception as error:  # such as a package that isn't installed; the other lines matter
        return {**entry, "left_out": f"{type(error).__name__}: {error}"}
    medians = {"ours": float(np.median(seconds.ours)), "theirs": float(np.median(seconds.peer))}
    return {**entry, **medians, "ratios": [*map(float, seconds.peer / seconds.ours)]}


def machine() -> str:
    """Describe processor, cores and versions in one sentence."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    facts = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    sets = [name for name in INSTRUCTIONS if name in facts.get("flags", "").split()]
    there = {package.metadata["Name"]: package.version for package in metadata.distributions()}
    versions = ", ".join(f"{name} {there[name]}" for name in PACKAGES if name in there)
    processor = facts.get("model name", platform.machine())
    return f"{processor}, {os.cpu_count()} cores, {' '.join(sets)}; {versions}"


def page(entries: Sequence[dict[str, Any]], earlier: dict[tuple, float], head: str) -> str:
    """Return the results as Markdown, with a column of an earlier page."""
    rows = [["what", "ours", "against", "times as fast", "range", "bound", "before"], ["---"] * 7]
    for entry in entries:
        ratios, least = entry["ratios"], f">= {entry['bound']:.3g}"
        before = earlier.get((entry["what"], entry["peer"]))
        cells = [entry["what"], "", entry["peer"], entry.get("left_out", ""), "", least, ""]
        if ratios:
            cells[1], cells[3] = f"{entry['ours'] * 1e3:.4g} ms", f"{np.median(ratios):.3g}"
            cells[4] = f"{min(ratios):.3g} to {max(ratios):.3g}"
            cells[5] += "" if np.median(ratios) >= entry["bound"] else ", missed"
            cells[6] = "" if before is None else f"{before:.3g}"
        rows.append(cells)
    return "\n".join([head, "", *(f"| {' | '.join(row)} |" for row in rows), ""])


def main() -> int:
    """Measure lines, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only lines that have one of these words")
    parser.add_argument("--against", type=Path, metavar="FILE", help="JSON of an earlier page")
    options = parser.parse_args()
    earlier = json.loads(options.against.read_text("utf-8"))["lines"] if options.against else []
    medians = {
        (e["what"], e["peer"]): float(np.median(e["ratios"])) for e in earlier if e["ratios"]
    }
    words, start, when = options.words, time.monotonic(), time.strftime("%Y-%m-%d_%H%M%S")
    chosen = [line for line in LINES if not words or any(w in f"{line[:2]}" for w in words)]
    entries: list[dict[str, Any]] = []
    # A process per kind of measurement, so that none inherits another's memory and threads.
    for _, lines in groupby(
        chosen,
        key=lambda line: line.measure.func if isinstance(line.measure, partial) else line.measure,
    ):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            for entry in process.map(measured, lines):
                entries.append(entry)
                print(page([entry], {}, "").splitlines()[-1], flush=True)
    minutes = (time.monotonic() - start) / 60
    text = page(entries, medians, f"Measured {when} on {machine()}. It took {minutes:.0f} minutes.")
    folder = Path(os.environ.get("ATTNLAB_RUNS") or ROOT / "runs") / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{when}.json").write_text(json.dumps({"lines": entries}, indent=2) + "\n", "utf-8")
    (folder / f"{when}.md").write_text(text, "utf-8")
    print(f"\n{text}\n{folder / when}.md")
    failed = [e for e in entries if not e.get("left_out", "Module").startswith("Module")]
    missed = [e for e in entries if e["ratios"] and np.median(e["ratios"]) < e["bound"]]
    return int(bool(failed or missed))


if __name__ == "__main__":
    sys.exit(main())
