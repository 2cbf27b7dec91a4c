"""Synthetic run folders for tests of comparisons."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.comparison.charts import colours_of
from attnlab.comparison.comparison import Comparison, Comparisons, Options, compare
from attnlab.comparison.selection import Filters
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.report.page import reported_runs
from attnlab.tasks.base import ReportedRun
from attnlab.views.records import Table

# Test results of seeds 0 to 4: of a reference, clearly better ones, and about equal ones.
NONE = (1.00, 1.10, 0.95, 1.05, 1.20)
BETTER = (0.90, 1.01, 0.86, 0.94, 1.08)
SAME = (1.02, 1.07, 0.96, 1.01, 1.23)

_TARGETS = 10 + np.arange(40.0) % 7
_CONFIG = {
    "task": {"name": "sunspots", "history": 24, "horizon": 1},
    "attention": {"name": "none"},
    "model": {"name": "rnn", "cell": "gru", "units": 16},
    "optimizer": {"name": "adam", "learning_rate": 0.003},
    "trainer": {"epochs": 30, "batch_size": 32},
    "tracking": {"enabled": True},
    "paths": {"runs": "./runs"},
    "seed": 0,
}
_ENVIRONMENT = {
    "python": "3.11.7",
    "processor": "x86_64",
    "processor_model": "Abacus",
    "cpus": 2,
    "packages": {"attnlab": "0.1.0", "tensorflow": "2.21.0", "keras": "3.15.1"},
    "code": {"commit": "0123456789abcdef", "dirty": False},
}


def write_run(
    runs: Path,
    attention: str,
    seed: int,
    rmse: float | None,
    *,
    task: str = "sunspots",
    state: str = "completed",
    config: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """Write a run whose forecasts have this `rmse`, or a translation run.

    Args:
        runs: The folder of all runs.
        attention: Its mechanism.
        seed: Its seed, which also orders the signs of the misses.
        rmse: The test result; of task translate BLEU, for what metrics.json says.
        task: `translate` gives metrics of translations and no predictions.
        state: Its state.
        config: Dotted key to value, in place of the defaults.
        metrics: Entries of metrics.json in place of the defaults.
        status: Further entries of status.json.
        environment: Entries of environment.json in place of the defaults.
    """
    number = len(list(runs.glob("*/*/*")))  # each begins after those before
    folder = runs / task / attention / f"2026-05-01_{number // 60:02d}{number % 60:02d}00_s{seed}"
    folder.mkdir(parents=True)
    began = f"2026-05-01T{number // 60:02d}:{number % 60:02d}:00+00:00"
    names = {"task": task, "attention": attention, "seed": seed}
    settings = copy.deepcopy({**_CONFIG, "seed": seed})
    changes = {"task.name": task, "attention.name": attention, **(config or {})}
    for key, value in changes.items():
        section, _, leaf = key.partition(".")
        settings.setdefault(section, {})[leaf] = value
    documents = {
        "status.json": {
            **{"format": 2, "state": state, **names, "started": began, "data_digest": "d" * 64},
            **(status or {}),
        },
        "config.yaml": settings,  # JSON is YAML, too
        "environment.json": {**_ENVIRONMENT, **(environment or {})},
    }
    for file, document in documents.items():
        (folder / file).write_text(json.dumps(document))
    lines = [f"{epoch},{9.0 if epoch == 1 else 0.5},{1 / epoch}\n" for epoch in (1, 2, 3)]
    (folder / "history.csv").write_text("".join(["epoch,seconds,val_loss\n", *lines]))
    run = RunDirectory(folder)
    if state == "completed":
        name, units = ("bleu", "points of 100") if task == "translate" else ("rmse", "sunspots")
        run.write_json(
            "metrics.json",
            {
                **names,
                "test": {name: rmse, "mae" if name == "rmse" else "chrf": rmse},
                "metric": name,
                "units": units,
                "baselines": {"persistence": {name: 2.0}},
                "best_baseline": "persistence",
                "skill": None if rmse is None else 1 - rmse / 2,
                "parameters": 1000,
                "extra": {},
                **(metrics or {}),
            },
        )
        if name == "rmse" and rmse is not None:
            write_forecast(run, _misses(rmse, seed))
    return run


def write_group(runs: Path, attention: str, values: Sequence[float], **options: Any) -> None:
    """Write a run of each seed from 0."""
    for seed, value in enumerate(values):
        write_run(runs, attention, seed, value, **options)


def write_forecast(run: RunDirectory, misses: np.ndarray) -> None:
    """Predictions with the given errors on the same targets."""
    index = 100 + np.arange(len(misses))
    run.write_predictions(
        {
            "index": index,
            "time": [f"1900, {number}" for number in index],
            "step": np.ones(len(misses), int),
            "target": _TARGETS[: len(misses)],
            "prediction": _TARGETS[: len(misses)] + misses,
        }
    )


def write_translations(run: RunDirectory, texts: Sequence[str], references: Sequence[str]) -> None:
    """Predictions of a translation."""
    number = np.arange(len(texts))
    sources = [f"source {place}" for place in number]
    scores = [100.0 * (text == other) for text, other in zip(texts, references, strict=True)]
    columns = {"index": number, "source": sources, "reference": references, "hypothesis": texts}
    run.write_predictions({**columns, "sentence_chrf": scores})


def compared(runs: Path, filters: Filters | None = None, **options: Any) -> Comparisons:
    """The comparison of the runs in a folder."""
    return compare((filters or Filters()).apply(list_runs(runs)), Options(**options))


def only(runs: Path, filters: Filters | None = None, **options: Any) -> Comparison:
    """The comparison of runs of one task."""
    (comparison,) = compared(runs, filters, **options).tasks
    return comparison


def on_page(runs: Path) -> list[ReportedRun]:
    """Runs of one task as a page shows them."""
    comparison = only(runs)
    return reported_runs(comparison, colours_of(comparison))


def column(table: Table, name: str) -> list[str]:
    """The cells of a page's table below one of its headings."""
    return [row[table.header.index(name)] for row in table.rows]


def _misses(rmse: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    misses = rng.normal(size=len(_TARGETS))
    return misses * rmse / np.sqrt(np.mean(misses**2))
