"""Which runs belong to a sweep, as its folder and the runs themselves say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.run_directory import ListedRun


def runs_of_sweep(listed: Iterable[ListedRun], name: str) -> list[ListedRun]:
    """The runs that a sweep made, and those that it found done by an earlier command."""
    listed = list(listed)
    jobs: set[str] = set()
    for folder in _sweeps_folders(listed):
        for path in (folder / name / "jobs").glob("*.json"):
            try:
                run = files.read_json(path).get("folder")
            except RequestError:
                continue
            if run:
                jobs.add("/".join(Path(run).parts[-3:]))
    return [run for run in listed if run.status.get("sweep") == name or run.run.name in jobs]


def sweep_names(listed: Iterable[ListedRun]) -> list[str]:
    """The names of all sweeps that some runs belong to."""
    listed = list(listed)
    found = {path.parent.name for f in _sweeps_folders(listed) for path in f.glob("*/sweep.json")}
    return sorted(found | {str(run.status["sweep"]) for run in listed if run.status.get("sweep")})


def _sweeps_folders(listed: Iterable[ListedRun]) -> set[Path]:
    return {entry.run.path.parents[2] / "sweeps" for entry in listed}
