"""Which runs belong to a sweep, according to its folder and to the runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.run_directory import ListedRun

STUDY = "study-"  # prefix of the names of a study's sweeps


def runs_of_sweep(listed: Sequence[ListedRun], name: str) -> list[ListedRun]:
    """Return the runs that a sweep trained, and completed ones that it reused."""
    last = {run.path for run in runs_of_last_command(listed, name)}
    return [run for run in listed if run.status.get("sweep") == name or run.path in last]


def runs_of_last_command(listed: Sequence[ListedRun], name: str) -> list[ListedRun]:
    """Return the runs of the last command of a sweep."""
    names = {run for folder in _sweeps_folders(listed) for run in _runs_in_table(folder / name)}
    return [run for run in listed if run.run.name in names]


def sweep_names(listed: Sequence[ListedRun]) -> list[str]:
    """Return the names of all sweeps that these runs belong to."""
    folders = {path.parent.name for f in _sweeps_folders(listed) for path in f.glob("*/sweep.json")}
    return sorted(folders | {str(run.status["sweep"]) for run in listed if run.status.get("sweep")})


def is_of_study(sweep: str | None) -> bool:
    """Return whether a sweep belongs to a study."""
    return str(sweep or "").startswith(STUDY)


def newest_first(listed: Sequence[ListedRun]) -> list[str | None]:
    """Return the names of sweeps by their last activity, the newest first.

    None stands for all runs outside of sweeps.
    """
    moments = {run.status.get("sweep"): str(run.status["started"]) for run in listed}
    for path in (path for f in _sweeps_folders(listed) for path in f.glob("*/sweep.json")):
        with suppress(RequestError):
            moments[path.parent.name] = str(files.read_json(path).get("updated", ""))
    return sorted(moments, key=lambda name: moments[name], reverse=True)


def _sweeps_folders(listed: Sequence[ListedRun]) -> set[Path]:
    return {entry.path.parents[2] / "sweeps" for entry in listed}


def _runs_in_table(folder: Path) -> set[str]:
    """Return the names of the runs in a sweep's table, valid also if the folder has moved."""
    try:
        with open(folder / "table.csv", encoding="utf-8", newline="") as stream:
            folders = [row.get("folder") for row in csv.DictReader(stream)]
    except (OSError, ValueError, csv.Error):
        return set()
    return {"/".join(Path(path).parts[-3:]) for path in folders if path}
