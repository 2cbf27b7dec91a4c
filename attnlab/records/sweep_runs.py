"""Which runs belong to a sweep, as its folder and the runs themselves say."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from attnlab.records.run_directory import ListedRun


def runs_of_sweep(listed: Sequence[ListedRun], name: str) -> list[ListedRun]:
    """The runs that a sweep made, and those that it found done by an earlier command."""
    found = {run.run.path for run in runs_of_last_command(listed, name)}
    return [run for run in listed if run.status.get("sweep") == name or run.run.path in found]


def runs_of_last_command(listed: Sequence[ListedRun], name: str) -> list[ListedRun]:
    """Of a sweep's runs, those that the last command of that name wanted."""
    found = {run for folder in _sweeps_folders(listed) for run in _runs_in_table(folder / name)}
    return [run for run in listed if run.run.name in found]


def sweep_names(listed: Sequence[ListedRun]) -> list[str]:
    """The names of all sweeps that some runs belong to."""
    found = {path.parent.name for f in _sweeps_folders(listed) for path in f.glob("*/sweep.json")}
    return sorted(found | {str(run.status["sweep"]) for run in listed if run.status.get("sweep")})


def _sweeps_folders(listed: Sequence[ListedRun]) -> set[Path]:
    return {entry.run.path.parents[2] / "sweeps" for entry in listed}


def _runs_in_table(folder: Path) -> set[str]:
    """The names of the runs in a sweep's table; they may have moved with the runs folder."""
    try:
        with open(folder / "table.csv", encoding="utf-8", newline="") as stream:
            folders = [row.get("folder") for row in csv.DictReader(stream)]
    except (OSError, ValueError, csv.Error):
        return set()
    return {"/".join(Path(path).parts[-3:]) for path in folders if path}
