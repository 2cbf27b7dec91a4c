"""Export a run: write the model, check it, add the example and the model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnlab import __version__
from attnlab.errors import RequestError, RunFailed, explained
from attnlab.export.card import Origin, card, example
from attnlab.export.check import Checked, compare
from attnlab.export.folder import filled
from attnlab.export.formats import FORMATS, Writer
from attnlab.records.files import write_text
from attnlab.records.run_directory import RunDirectory
from attnlab.run.loading import TrainedRun
from attnlab.tasks.declaration import load
from attnlab.tasks.exported import Arrays, Exported
from attnlab.tasks.kinds import kind_of

ITEMS = 100
PRECISION = "float32"  # of exported models: other libraries compute their weights in it


def require_exportable(run: RunDirectory) -> str:
    """Return the path of the kind's `exported`; raises `RequestError` if it has none."""
    kind = kind_of(run.read_task())
    if kind.predictions.exported is None:
        raise RequestError(f"RUN: expected a run that can be exported, got one of {kind.name}.")
    return kind.predictions.exported


def export(
    run: RunDirectory, trained: TrainedRun, name: str, out: Path, quantize: str | None = None
) -> list[str]:
    """Export a run's loaded weights; the folder appears only when it is complete.

    Args:
        run: its folder.
        trained: its weights, in a model of `PRECISION`; its data are loaded.
        name: one of `FORMATS`.
        out: the folder to write.
        quantize: `int8`, or None.

    Returns:
        The result of the check, in sentences.

    Raises:
        RequestError: the format has no counterpart of this model, or the folder can't be written.
        RunFailed: the exported model's outputs or its tokens of texts differ.
    """
    exported: Exported = load(require_exportable(run))(trained, ITEMS)
    if (own := trained.config.trainer.precision) != PRECISION:
        note = f"The run computed in {own}; its weights are exported in {quantize or PRECISION}."
        exported = replace(exported, notes=[*exported.notes, note])
    writer = Writer(name)
    writer.check(exported, quantize)
    with filled(out) as folder:
        with explained(f"--out={out}: can't be written"):
            writer.write(exported, folder, quantize)
        said = _passed(_compared(exported, name, writer.outputs(exported, folder)), quantize)
        notes = writer.notes(exported, quantize)
        text = card(exported, name, notes, _origin(run, trained), said)
        with explained(f"--out={out}: can't be written"):
            _add_texts(exported, folder)
            write_text(folder / "example.py", example(exported, name, writer.code(exported)))
            write_text(folder / "README.md", text)
    return said


def _compared(exported: Exported, name: str, found: Arrays) -> Checked:
    form = exported.transformer
    if FORMATS[name].greedy and form is not None and form.own is not None:
        exported = replace(exported, own=form.own)
    return compare(exported, found)


def _passed(checked: Checked, quantize: str | None) -> list[str]:
    """Return the result in sentences; raises `RunFailed` if a part that isn't quantized differs."""
    said = checked.lines(score=quantize is not None)
    if not checked.same_tokens:
        raise RunFailed(f"the exported tokenizer differs from attnlab's own: {' '.join(said)}")
    if quantize is None and not checked.passed:
        raise RunFailed(f"the exported model differs from attnlab's own: {' '.join(said)}")
    return said


def _add_texts(exported: Exported, folder: Path) -> None:
    """Write the tokenizers, and the first test item if the example reads it."""
    for name, tokenizer in exported.tokenizers.items():
        write_text(folder / name, tokenizer.text())
    if any("sample.npz" in line for line in exported.example.before):
        first = {
            name: np.asarray(exported.items[name], kind)[: 1 if shape else None]
            for name, (shape, kind) in exported.inputs.items()
        }
        np.savez(folder / "sample.npz", **first)


def _origin(run: RunDirectory, trained: TrainedRun) -> Origin:
    environment = run.read_environment() or {}
    return Origin(
        name=run.name,
        epoch=trained.epoch,
        config=run.read_config(),
        data=run.status.read().get("data") or {},
        command=str(environment.get("command") or ""),
        report=_report(run, trained),
        version=__version__,
    )


def _report(run: RunDirectory, trained: TrainedRun) -> Mapping[str, Any]:
    """Return the run's result; for other weights than the best epoch's it is computed."""
    if run.status.state == "completed":
        metrics = run.read_metrics()
        if trained.epoch == str(metrics.get("best_epoch")):
            return metrics
    report = trained.task.evaluate(trained.model)
    return {"test": report.metrics, **report.scores(), "notes": report.notes}
