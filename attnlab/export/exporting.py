"""Export a run: write the model, check it, add the tokenizers, an example and a model card."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import yaml

from attnlab import __version__
from attnlab.errors import RequestError, RunFailed, explained
from attnlab.export.formats import FORMATS
from attnlab.records.files import new_parents, write_text
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.loading import TrainedRun
from attnlab.tasks.declaration import load
from attnlab.tasks.exported import Arrays, Exported
from attnlab.tasks.kinds import kind_of
from attnlab.text.reading import check_utf8

ITEMS = 100
MOST_APART = 1e-4
PRECISION = "float32"  # of exported models: other libraries compute their weights in it
_SECTIONS = ("task", "data", "attention", "model", "optimizer", "schedule", "trainer", "seed")


def require_exportable(run: RunDirectory, out: Path) -> None:
    """Raise `RequestError` if a run can't be exported, or `out` exists and isn't empty."""
    kind = kind_of(run.read_task())
    if kind.predictions.exported is None:
        raise RequestError(f"RUN: expected a run that can be exported, got one of {kind.name}.")
    check_utf8(str(out), "--out")
    with explained(f"--out={out}: can't be read"):
        if os.path.lexists(out) and not (out.is_dir() and not any(out.iterdir())):
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
    writer = FORMATS[name].writer
    load(f"{writer}:check")(exported)
    with _replacing(out) as folder:
        load(f"{writer}:write")(exported, folder)
        expected = exported.outputs()
        if name == "ctranslate2" and exported.transformer:
            expected = {"tokens": exported.transformer.greedy()}
        results = compare(exported, expected, load(f"{writer}:outputs")(exported, folder))
        for file, tokenizer in exported.tokenizers.items():
            write_text(folder / file, tokenizer.text())
        sample = {name: exported.items[name][:1] for name in exported.inputs}
        np.savez(folder / "sample.npz", **sample)
        shutil.copy(Path(__file__).with_name(f"example_{name}.py"), folder / "example.py")
        write_text(folder / "README.md", card(exported, name, results, run, trained))
    return results


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Yield an empty folder that is renamed to `out` if the body succeeds, and else removed."""
    place, what = Path(os.path.realpath(out)), f"--out={out}: can't be written"
    with new_parents(place, what), explained(what):
        scratch = Path(mkdtemp(prefix=".export-", dir=place.parent))
        try:
            yield scratch
            scratch.chmod(0o755)
            scratch.replace(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


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
            results.append(f"`{name}` differs by at most {apart:.1e} in {len(value)} test items.")
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


def card(
    exported: Exported, name: str, results: list[str], run: RunDirectory, trained: TrainedRun
) -> str:
    """Return README.md: what the model is, its data, scores, check, settings and command."""
    config, data = run.read_config(), run.status.read().get("data") or {}
    attention, precision = config["attention"]["name"], trained.config.trainer.precision
    report = _report(run, trained)
    settings = {key: config[key] for key in _SECTIONS if config.get(key) is not None}
    notes = [
        f"Input `{key}`: {exported.items[key].dtype} "
        f"({', '.join('any' if size is None else str(size) for size in shape)})."
        for key, shape in exported.inputs.items()
    ]
    notes += exported.notes
    if precision != PRECISION:
        notes.append(f"The run computed in {precision}; its weights are exported in {PRECISION}.")
    rows = {f"**{attention}**": report["test"], **report["baselines"]}
    metrics = [*report["test"]]
    cells = [["", *metrics], ["---"] * (1 + len(metrics))]
    for row, values in rows.items():
        numbers = [values.get(metric) for metric in metrics]
        cells.append([row, *("-" if number is None else f"{number:.4g}" for number in numbers)])
    parts = [
        f"# {config['task']['name']} with attention={attention}, seed {config['seed']}",
        f"Exported from the run `{run.name}` by attnlab {__version__}, weights of epoch "
        f"{trained.epoch}, as {FORMATS[name].about.partition(',')[0]}.",
        f"    pip install {FORMATS[name].packages}\n    python example.py",
        "## Inputs and outputs",
        _bullets(notes),
        "## Data",
        f"{data.get('name', '')}: {data.get('source', '')}. "
        f"License: {exported.license or 'not known'}.",
        "## Metrics on the test part",
        "\n".join(f"| {' | '.join(row)} |" for row in cells),
        _bullets([f"In {report['units']}.", *report.get("notes", ())]),
        "## Check against attnlab",
        _bullets(results),
        "## Settings",
        f"```yaml\n{yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)}```",
    ]
    if command := (run.read_environment() or {}).get("command"):
        parts += ["## Command", f"    {command}"]
    return "\n\n".join(parts) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _report(run: RunDirectory, trained: TrainedRun) -> Mapping[str, Any]:
    """Return the run's result; for other weights than the best epoch's it is computed."""
    if run.status.state == "completed":
        metrics = run.read_metrics()
        if trained.epoch == str(metrics.get("best_epoch")):
            return metrics
    report = trained.task.evaluate(trained.model)
    return {"test": report.metrics, **report.scores(), "notes": report.notes}
