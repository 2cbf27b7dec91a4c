"""Export a run: write the model, check it, add the tokenizers, an example and a model card."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from attnlab import __version__
from attnlab.errors import RequestError, RunFailed, explained
from attnlab.export import FORMATS
from attnlab.records.files import write_text
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.tasks.exported import Arrays, Exported
from attnlab.tasks.kinds import kind_of, load

ITEMS = 100
MOST_APART = 1e-4
_TEXTS = "  # texts"  # ends lines of examples that only models of texts need
PRECISION = "float32"  # of exported models: other libraries compute their weights in it


def require_exportable(run: RunDirectory, name: str, out: Path) -> None:
    """Raise `RequestError` if a run can't be exported, a package is missing, or `out` exists."""
    if missing := [p for p in FORMATS[name].needed if importlib.util.find_spec(p) is None]:
        raise RequestError(
            f"--format: {', '.join(missing)} is not installed: pip install 'attnlab[{name}]'."
        )
    kind = kind_of(run.read_task())
    if kind.predictions.exported is None:
        raise RequestError(f"RUN: expected a run that can be exported, got one of {kind.name}.")
    if os.path.lexists(out):
        raise RequestError(
            f"--out={out}: exists already. Remove it, or name another folder by --out."
        )


def export(run: RunDirectory, trained: TrainedRun, name: str, out: Path) -> list[str]:
    """Export a run's loaded weights; the folder appears only when it is complete.

    Args:
        run: its folder.
        trained: its weights, in a model of `PRECISION`; its data are loaded.
        name: one of `FORMATS`.
        out: the folder to write; see `require_exportable`.

    Returns:
        The result of the check, in sentences.

    Raises:
        RequestError: the format has no counterpart of this model, or the folder can't be written.
        RunFailed: the exported model's outputs or its tokens of texts differ.
    """
    exported: Exported = load(str(trained.task.kind.predictions.exported))(trained, ITEMS)
    with explained(f"--out={out}: can't be written"):
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(mkdtemp(prefix=".export-", dir=out.parent))
        try:
            outputs = load(FORMATS[name].writer)(exported, folder)
            expected = exported.outputs()
            if name == "ctranslate2" and exported.transformer:
                expected = {"tokens": exported.transformer.greedy()}
            results = compare(exported, expected, outputs)
            for file, tokenizer in exported.tokenizers.items():
                write_text(folder / file, tokenizer.text())
            sample = {name: exported.items[name][:1] for name in exported.inputs}
            np.savez(folder / "sample.npz", **sample)
            example = Path(__file__).with_name(f"example_{name}.py").read_text(encoding="utf-8")
            if not exported.reads_texts:
                example = re.sub(rf".*{_TEXTS}\n", "", example)
            write_text(folder / "example.py", example.replace(_TEXTS, ""))
            write_text(folder / "README.md", _card(exported, name, results, run, trained))
            folder.chmod(0o755)
            folder.replace(out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return results


def compare(exported: Exported, expected: Arrays, outputs: Arrays) -> list[str]:
    """Compare outputs for the test items with this package's own, and the tokens of texts.

    Returns:
        The result in sentences.

    Raises:
        RunFailed: whole numbers or tokens differ, or other numbers by more than `MOST_APART`.
    """
    results, is_same = list[str](), True
    for name, value in expected.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            other = np.asarray(outputs[name], np.float64)
            apart = np.inf
            if other.shape == value.shape:
                apart = np.max(np.abs(other - value) / exported.unit, initial=0.0)
            is_same &= bool(apart <= MOST_APART)  # False for NaN
            size = f"{apart:.1e}{exported.unit_name}"
            results.append(f"`{name}` differs by at most {size} in {len(value)} test items.")
        else:
            same, count = _count_equal(value, outputs[name])
            is_same &= same == count
            results.append(f"`{name}` is equal in {same} of {count} test items.")
    for file, (texts, rows) in exported.texts.items():
        same, count = _count_equal(rows, exported.tokenizers[file].rows(texts))
        is_same &= same == count
        results.append(f"{file} gives the same tokens for {same} of {count} texts.")
    if not is_same:
        raise RunFailed(f"the exported model differs from attnlab's own: {' '.join(results)}")
    return results


def _count_equal(expected: Iterable[Any], rows: Iterable[Any]) -> tuple[int, int]:
    """Return the number of equal rows, and of all; zeros at the end of a row are padding."""
    pairs = [
        [np.trim_zeros(np.asarray(row), "b").tolist() for row in pair]
        for pair in zip(expected, rows, strict=True)
    ]
    return sum(first == second for first, second in pairs), len(pairs)


def _card(
    exported: Exported, name: str, results: list[str], run: RunDirectory, trained: TrainedRun
) -> str:
    """Return README.md: what the model is, its data, scores, check and command."""
    config, data = run.read_config(), run.status.read().get("data") or {}
    attention, report = config["attention"]["name"], trained.task.evaluate(trained.model)
    notes = [
        f"Input `{key}`: {exported.items[key].dtype} "
        f"({', '.join('any' if size is None else str(size) for size in shape)})."
        for key, shape in exported.inputs.items()
    ]
    table = [["", *report.metrics], ["---"] * (1 + len(report.metrics))]
    for row, values in {f"**{attention}**": report.metrics, **report.baselines}.items():
        numbers = [values.get(metric) for metric in report.metrics]
        table.append([row, *("-" if number is None else f"{number:.4g}" for number in numbers)])
    rows = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return f"""# {config["task"]["name"]} with attention={attention}, seed {config["seed"]}

Exported from the run `{run.name}` by attnlab {__version__}, weights of epoch {trained.epoch}, as
{FORMATS[name].about.partition(",")[0]}. The run was made by:

    {(run.read_environment() or {}).get("command") or "unknown"}

The example runs after:

    pip install {FORMATS[name].needed[-1]} numpy{" tokenizers" if exported.reads_texts else ""}
    python example.py

{_bullets([*notes, *exported.notes, f"The weights are {PRECISION}."])}

Data: {data.get("name", "")}: {data.get("source", "")}. License: {exported.license or "not known"}.

## Metrics on the test part

{rows}

{_bullets([f"In {report.units}.", *report.notes])}

## Check against attnlab

{_bullets(results)}
"""


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
