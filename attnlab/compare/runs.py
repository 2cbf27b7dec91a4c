"""Which runs a comparison is about: read from their folders, chosen, and those left out counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from attnlab.compare.conditions import check_keys, fits, read_settings, setting
from attnlab.config.rules import nearest
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory, list_runs
from attnlab.records.status import shown_state
from attnlab.records.sweep_runs import runs_of_sweep, sweep_names

_MOST_NAMED = 8
_DAMAGED = "damaged"


class RunRecord(NamedTuple):
    """A completed run as its folder tells it.

    Attributes:
        run: Its folder.
        status: status.json.
        settings: The leaves of config.yaml by dotted key, as text; see `read_settings`.
        metrics: metrics.json.
    """

    run: RunDirectory
    status: Mapping[str, Any]
    settings: Mapping[str, str]
    metrics: Mapping[str, Any]

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.status["task"])

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.settings["seed"])

    def setting(self, key: str) -> str | None:
        """The value of a config key, of a group such as `attention` the name of its option."""
        return setting(self.settings, key)


class Selection(NamedTuple):
    """Which runs are asked for.

    Attributes:
        task: Name of the task; None for all.
        sweep: Name of the sweep; None for all.
        where: Config key to the values that it may have; see `read_conditions`.
    """

    task: str | None = None
    sweep: str | None = None
    where: Mapping[str, str] = {}


class Chosen(NamedTuple):
    """The runs to compare, the oldest first.

    Attributes:
        records: Completed runs.
        left_out: How many others were chosen too, by state.
        damaged: What is wrong with completed runs that can't be read.
    """

    records: list[RunRecord]
    left_out: Counter[str]
    damaged: list[str]


def choose(runs: Path, selection: Selection) -> Chosen:
    """Read the runs that a selection means.

    Args:
        runs: The folder of all runs.
        selection: What is asked for.

    Raises:
        RequestError: There is no run, none is of the task or sweep, none is completed, or no run
            has a key or value of `where`.
    """
    listed = list_runs(runs)
    if not listed:
        raise RequestError(
            f"--runs: expected a folder of runs, but {str(runs)!r} has none: train some first, "
            "for example attnlab -m attention=none,bahdanau seed=0,1,2,3,4."
        )
    listed = _of_task(listed, selection.task)
    listed = _of_sweep(listed, selection.sweep)
    read = _read_all(listed, selection.where)
    records = _where(read.records, selection.where)
    if not records:
        raise RequestError(_none_completed(read, selection))
    return read._replace(records=records)


def _of_task(listed: list[ListedRun], name: str | None) -> list[ListedRun]:
    found = [entry for entry in listed if name in (None, entry.status["task"])]
    if not found:
        _refuse("task", name, sorted({str(entry.status["task"]) for entry in listed}))
    return found


def _of_sweep(listed: list[ListedRun], name: str | None) -> list[ListedRun]:
    found = listed if name is None else runs_of_sweep(listed, name)
    if not found:
        _refuse("sweep", name, sweep_names(listed))
    return found


def _refuse(key: str, name: str | None, known: list[str]) -> NoReturn:
    near = nearest(str(name), known)
    hint = f" Did you mean {near}?" if near else ""
    there = f"one of {_some(known)}" if known else f"a {key} that runs have, but none has one"
    raise RequestError(f"--{key}: expected {there}, got {name!r}.{hint}")


def _read_all(listed: list[ListedRun], where: Mapping[str, str]) -> Chosen:
    chosen = Chosen([], Counter(), [])
    for run, status in listed:
        state = shown_state(status)
        if state == _DAMAGED:
            chosen.damaged.append(str(status["error"]))
        elif state != "completed":
            chosen.left_out[state] += _might_be_meant(run, where)
        else:
            try:
                chosen.records.append(_read(run, status))
            except RequestError as error:
                chosen.damaged.append(str(error))
    return chosen


def _might_be_meant(run: RunDirectory, where: Mapping[str, str]) -> bool:
    """Whether an unfinished run's settings, where they can be read, are those asked for."""
    try:
        return not where or fits(read_settings(run), where)
    except RequestError:
        return False


def _read(run: RunDirectory, status: Mapping[str, Any]) -> RunRecord:
    """A run's files; raises `RequestError` with the name of the one that is damaged."""
    metrics = run.read_metrics()
    if not isinstance(metrics.get("test"), Mapping):
        raise RequestError(f"{run.path / 'metrics.json'}: damaged: it has no test metrics.")
    settings = read_settings(run)
    if not settings.get("seed", "").lstrip("-").isdigit():
        raise RequestError(f"{run.path / 'config.yaml'}: damaged: expected a run's settings.")
    return RunRecord(run, status, settings, metrics)


def _where(records: list[RunRecord], where: Mapping[str, str]) -> list[RunRecord]:
    """The runs whose settings have these values."""
    if records:
        check_keys("--where", where, [record.settings for record in records])
    for key, text in where.items():
        found = [record for record in records if fits(record.settings, {key: text})]
        if records and not found:
            there = sorted({record.setting(key) or "nothing" for record in records})
            near = nearest(text, there)
            hint = f" Did you mean {near}?" if near else ""
            raise RequestError(
                f"--where: expected a value of {key} that a run has ({_some(there)}), "
                f"got {text!r}.{hint}"
            )
        records = found
    return records


def _none_completed(read: Chosen, selection: Selection) -> str:
    states = [f"{count} {state}" for state, count in read.left_out.items()]
    states += [f"{len(read.damaged)} damaged ({read.damaged[0]})"] if read.damaged else []
    asked = [f"{key} {name}" for key, name in (("task", selection.task), ("sweep", selection.sweep))
             if name]  # fmt: skip
    of = f" of {' and '.join(asked)}" if asked else ""
    return f"--runs: expected completed runs{of}, but there are only {', '.join(states)}."


def _some(names: list[str]) -> str:
    more = f", ... ({len(names)})" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
