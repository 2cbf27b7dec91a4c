"""The translation studies whose tables stand in the README, run and summed up.

    python scripts/study_translation.py builtin [--runs DIR]      # the default corpus
    python scripts/study_translation.py tatoeba --path deu.txt   # all pairs, case, punctuation, BPE

Each mechanism is one run of one seed; a run that the folder has already is only summed up.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attnlab.cli import main as attnlab  # noqa: E402
from attnlab.records.run_directory import RunDirectory, list_runs  # noqa: E402

LOCAL_M = ["attention=luong_local", "attention.alignment=monotonic"]
BUILTIN = {
    "multi_head (Transformer)": ["attention=multi_head"],
    "bahdanau": ["attention=bahdanau"],
    "luong_global": ["attention=luong_global"],
    "luong_local, local-m": LOCAL_M,
    "luong_local, local-p": ["attention=luong_local"],
    "none": ["attention=none"],
    "scaled_dot_product": ["attention=scaled_dot_product"],
    "multi_head (RNN)": ["attention=multi_head", "model=rnn"],
    "bahdanau (Transformer)": ["attention=bahdanau", "model=transformer"],
}
TATOEBA = {
    name: BUILTIN[name] for name in ("multi_head (Transformer)", "bahdanau", "luong_global")
} | {"luong_local, local-p": BUILTIN["luong_local, local-p"]}
# About 25 minutes on one core each.
TATOEBA_SETTINGS = ["data=tatoeba", "task.tokenizer=bpe", "task.score_every=5", "trainer.epochs=32"]


def run(name: str, overrides: list[str], runs: Path, seed: int) -> RunDirectory:
    """The completed run of these settings, trained if there is none yet."""
    folder = runs / "_".join(re.findall(r"\w+", name))
    if not _completed(folder):
        attnlab(["task=translate", *overrides, f"paths.runs={folder}", f"seed={seed}"])
    (found,) = _completed(folder)
    return found


def _completed(folder: Path) -> list[RunDirectory]:
    if not folder.is_dir():
        return []
    return [run for run, status in list_runs(folder) if status["state"] == "completed"]


def row(name: str, found: RunDirectory) -> str:
    """A line of the table."""
    metrics: dict[str, Any] = found.read_metrics()
    test, alignment = metrics["test"], metrics.get("alignment") or {}
    seconds = sum(found.history.read()["seconds"])
    harder = metrics["extra"].get("compositions")
    cells = [
        name,
        f"{metrics['parameters']:,}",
        f"{seconds / 60:.1f}",
        f"{test['bleu']:.1f}",
        f"{test['chrf']:.1f}",
        f"{harder['test']['bleu']:.1f}" if harder else "",
        _rate(alignment, "error_rate"),
        _rate(alignment, "shifted_error_rate"),
    ]
    return f"| {' | '.join(cells)} |"


def _rate(alignment: dict[str, Any], name: str) -> str:
    return f"{alignment[name]:.3f}" if name in alignment else ""


def main() -> None:
    """Run and print a study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=["builtin", "tatoeba"])
    parser.add_argument("--path", help="deu.txt or deu-eng.zip, where it is not to be downloaded")
    parser.add_argument("--runs", type=Path, default=Path("runs/study"))
    parser.add_argument("--only", action="append", help="a row of the table; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("overrides", nargs="*", help="further KEY=VALUE for all runs")
    given = parser.parse_intermixed_args()
    rows = BUILTIN if given.study == "builtin" else TATOEBA
    print("| mechanism | parameters | minutes | BLEU | chrF | compositions | AER | AER, shifted |")
    print("|---|---|---|---|---|---|---|---|")
    for name, overrides in rows.items():
        if given.only and name not in given.only:
            continue
        settings = [*overrides, *given.overrides]
        if given.study == "tatoeba":
            settings = [*overrides, *TATOEBA_SETTINGS, *given.overrides]
            settings += [f"data.path={given.path}"] if given.path else []
        found = run(name, settings, given.runs / given.study, given.seed)
        print(row(name, found), flush=True)


if __name__ == "__main__":
    main()
