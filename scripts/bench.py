"""All benches, as one page, by `make bench`.

    python scripts/bench.py                                     # all scripts bench_*.py
    python scripts/bench.py bench_seeds                         # some of them
    python scripts/bench.py --against runs/bench/2026-11-22.json

Each script measures ours and a peer in turns, in one run. The page has the median of each ratio,
the range over the turns and the bound; what was left out, and why; the machine and the versions. It
is printed, and written to `runs/bench/DATE.md`, with the numbers in `DATE.json`. `--against` adds a
column of an earlier page, and marks ranges that don't overlap. The exit code is 1 if a bound is
missed or a script failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

from measuring import LINES, ROOT, Line

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(path.stem for path in HERE.glob("bench_*.py"))
PACKAGES = (
    "attnlab",
    "tensorflow",
    "keras",
    "numpy",
    "mlflow",
    "hydra-core",
    "torch",
    "ctranslate2",
)
# Sets of instructions that decide how fast a processor multiplies, the later the faster.
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile")
RUNS = Path(os.environ.get("ATTNLAB_RUNS") or ROOT / "runs")


def machine() -> dict[str, Any]:
    """Processor, its instructions and cores, and versions of ours and of the peers."""
    known: dict[str, str] = {}
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        pairs = (line.partition(":") for line in cpuinfo.read_text("utf-8").splitlines())
        known = {name.strip(): value.strip() for name, _, value in pairs}
    flags = known.get("flags", "").split()
    return {
        "processor": known.get("model name", platform.processor() or platform.machine()),
        "instructions": [name for name in INSTRUCTIONS if name in flags],
        "cores": os.cpu_count(),
        "versions": {"python": platform.python_version(), **versions()},
    }


def versions() -> dict[str, str]:
    """Those of the packages that are installed."""
    return {each.metadata["Name"]: each.version for each in map(_found, PACKAGES) if each}


def _found(package: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return None


def measure(script: str) -> tuple[list[dict[str, Any]], bool]:
    """Run a script; return its entries, and whether it succeeded within its bounds."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "lines"
        kept.touch()
        command = [sys.executable, str(HERE / f"{script}.py")]
        env = {**os.environ, LINES: str(kept)}
        code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
        text = kept.read_text("utf-8")
        lines = [{"script": script, **json.loads(line)} for line in text.splitlines()]
    fits = all(_line(line).fits for line in lines if "left_out" not in line)
    if code and fits:
        lines.append({"left_out": f"lines of {script}", "why": f"it ended with exit code {code}"})
    return lines, fits and not code


def page(found: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> str:
    """Return the results as Markdown, with a column of an earlier page."""
    where = found["machine"]
    words = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    measured, left_out = (
        [line for line in found["lines"] if ("left_out" in line) is wanted]
        for wanted in (False, True)
    )
    before = {line.get("what"): line for line in earlier["lines"]} if earlier else {}
    columns = ["what", "median", "range", "bound", *(["before"] if earlier else [])]
    rows = [_row(line, before.get(line["what"]), bool(earlier)) for line in measured]
    table = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        [
            f"Measured {found['when']} on {where['processor']}, {where['cores']} cores, "
            f"{' '.join(where['instructions'])}; {words}. It took {found['minutes']:.0f} minutes.",
            "",
            *(f"| {' | '.join(cells)} |" for cells in table),
            "",
            "Left out:" if left_out else "Nothing was left out.",
            *(f"- {line['left_out']}: {line['why']}" for line in left_out),
            "",
        ]
    )


def _line(kept: Mapping[str, Any]) -> Line:
    return Line(**{field.name: kept[field.name] for field in fields(Line)})


def _row(kept: Mapping[str, Any], before: Mapping[str, Any] | None, compared: bool) -> list[str]:
    own = _line(kept)
    bound = f"{own.sign} {own.bound:g}{'' if own.fits else ', missed'}"
    cells = [own.what, f"{own.median:.3g}", f"{own.least:.3g} to {own.greatest:.3g}", bound]
    if not compared:
        return cells
    if before is None:
        return [*cells, ""]
    apart = before["least"] > own.greatest or before["greatest"] < own.least
    return [*cells, f"{before['median']:.3g}{' (ranges apart)' if apart else ''}"]


def main(words: Sequence[str]) -> int:
    """Run scripts, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--against", type=Path, metavar="FILE", help="JSON of an earlier page")
    options = parser.parse_args(words)
    if unknown := set(options.scripts) - set(SCRIPTS):
        parser.error(f"expected some of {', '.join(SCRIPTS)}, got {', '.join(sorted(unknown))}")
    earlier = None
    if options.against:
        try:
            earlier = json.loads(options.against.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            parser.error(f"--against: expected a page's JSON, got {options.against}: {error}")
    start, when = time.monotonic(), time.strftime("%Y-%m-%d_%H%M%S")
    parts, fit = zip(*map(measure, options.scripts or SCRIPTS), strict=True)
    lines = [*chain.from_iterable(parts)]
    minutes = (time.monotonic() - start) / 60
    found = {"when": when, "minutes": minutes, "machine": machine(), "lines": lines}
    folder = RUNS / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{when}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    text = page(found, earlier)
    (folder / f"{when}.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\n{folder / when}.md")
    return 0 if all(fit) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
