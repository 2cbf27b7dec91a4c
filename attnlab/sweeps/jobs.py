"""The jobs of a sweep: what each is, how it stands, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.records.status import actual_state

if TYPE_CHECKING:
    from attnlab.config.sections import RunConfig

# How a job stands.
DONE, NEW, KILLED, FAILED = "completed", "new", "killed", "failed"
RUNNING, PRUNED, WAITING = "running", "pruned", "waiting"


@dataclass
class Job:
    """One run that a sweep is to make.

    Attributes:
        number: its place in the sweep, from 1.
        overrides: which make its configuration.
        varying: the keys along which jobs differ, and its values.
        config: its configuration, checked.
        trial: its number in a search; None in a grid.
        state: how it stands.
        folder: its run's, where there is one.
        error: why it failed.
        results: what `results_of` says of a completed one.
    """

    number: int
    overrides: tuple[str, ...]
    varying: Mapping[str, str]
    config: RunConfig
    trial: int | None = None
    state: str = NEW
    folder: Path | None = None
    error: str | None = None
    results: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of its record."""
        return record_key(self.config.digest, self.trial)

    @property
    def label(self) -> str:
        """The job in a few words: its varying keys."""
        return label(self.varying, self.config.task.name, self.config.attention.name)

    def stand(self, state: str, folder: Path | None = None, error: str | None = None) -> None:
        """Note how it stands, with its results if it is done."""
        self.state, self.folder, self.error = state, folder, error
        self.results = results_of(folder) if folder and state == DONE else {}


def record_key(digest: str, trial: int | None) -> str:
    """The name of a job's record: by its config, or by its trial, for two trials may be equal."""
    return digest if trial is None else f"trial_{trial:04d}"


def label(varying: Mapping[str, str], task: str, attention: str) -> str:
    """A job in a few words."""
    return words(varying) or f"{task} / {attention}"


def words(varying: Mapping[str, str]) -> str:
    """Keys and values as on a command line."""
    return " ".join(f"{key}={value}" for key, value in varying.items())


def without_twins(jobs: Iterable[Job]) -> tuple[list[Job], int]:
    """The jobs without those whose configuration another one has, and how many these were."""
    seen: dict[str, Job] = {}
    twins = 0
    for job in jobs:
        twins += job.key in seen
        seen.setdefault(job.key, job)
    return list(seen.values()), twins


def survey(jobs: Sequence[Job], runs: Path, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Find out how each job stands, by the runs there are and by what the sweep noted.

    Args:
        jobs: whose state is set.
        runs: the folder of all runs.
        records: key -> the sweep's record of the job.
    """
    listed = runs_by_digest(runs)
    taken: set[Path] = set()  # trials of a search may be equal: each goes on with a run of its own
    for job in jobs:
        record = records.get(job.key, {})
        entries = listed.get(job.config.digest, [])
        entry = decisive([entry for entry in entries if entry.run.path not in taken])
        if entry is not None:
            if entry.state == KILLED:
                taken.add(entry.run.path)
            job.stand(entry.state, entry.run.path, entry.error)
        elif record.get("state") == FAILED and not record.get("folder"):
            # Nothing came to be of it: its settings don't fit its data.
            job.stand(FAILED, None, record.get("error"))
        else:
            job.stand(NEW)


class Entry(NamedTuple):
    """A run and how it stands."""

    run: RunDirectory
    state: str
    error: str | None


def runs_by_digest(runs: Path) -> dict[str, list[Entry]]:
    """All runs by the hash of their configuration, each list in the order they began."""
    found: dict[str, list[Entry]] = {}
    for run, status in list_runs(runs):
        entry = Entry(run, _state(run, status), status.get("error"))
        found.setdefault(str(status.get("config_hash")), []).append(entry)
    return found


def decisive(entries: Sequence[Entry]) -> Entry | None:
    """Of runs of one configuration the one that counts: done, then running, killed, failed."""
    order = (DONE, RUNNING, KILLED, FAILED)
    known = [entry for entry in reversed(entries) if entry.state in order]
    return min(known, key=lambda entry: order.index(entry.state), default=None)


def _state(run: RunDirectory, status: Mapping[str, Any]) -> str:
    state = actual_state(status)
    if state == DONE and not (run.path / "metrics.json").is_file():
        return "damaged"  # half deleted
    return state


def results_of(folder: Path) -> dict[str, Any]:
    """What a table says of a completed run; empty where metrics.json is damaged."""
    try:
        metrics = RunDirectory(folder).read_metrics()
    except RequestError:
        return {}
    metric = metrics.get("metric")
    return {
        "monitor": metrics.get("monitor"),
        "best": metrics.get("best_value"),
        "metric": metric,
        "test": metrics.get("test", {}).get(metric),
        "seconds": metrics.get("seconds"),
    }
