"""Completed runs, read from their folders, put into groups, and checked for other differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.comparison.metrics import Quantity
from attnlab.comparison.selection import read_settings, setting
from attnlab.config.options import follows, in_prose
from attnlab.config.sections import decides_result
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory
from attnlab.records.status import shown_state

# Settings that make no difference between groups: the seed, and the address of a download.
_IDLE = ("seed", "data.url")
# Makes a difference only for the user's own files: a download is the same in any place.
_OWN_OR_DOWNLOADED = "data.path"
# Packages of environment.json that results can depend on.
_PACKAGES = ("attnlab", "tensorflow", "keras", "numpy", "tokenizers", "sacrebleu")
_MECHANISM = ("attention", "attention.name")  # keys whose values are mechanisms
_SHOWN_DIGITS = 8  # shown digits of a hash

# The values of the compared settings in a group; None if its newest run lacks a setting.
Key = tuple[str | None, ...]


class RunRecord(NamedTuple):
    """The files of a completed run's folder."""

    run: RunDirectory  # its folder
    status: Mapping[str, Any]  # status.json
    # the leaves of config.yaml by dotted key, as text; files of the user by name and hash
    settings: Mapping[str, str]
    metrics: Mapping[str, Any]  # metrics.json

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.status["task"])

    @property
    def data(self) -> str:
        """The name of its data; results on different data can't be compared."""
        return str((self.status.get("data") or {}).get("name", ""))

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.settings["seed"])

    def setting(self, key: str) -> str | None:
        """Return the value of a config key; for a group such as `attention`, its option's name."""
        return setting(self.settings, key)

    def history(self) -> dict[str, list[float]]:
        """Read history.csv by columns; empty if it is damaged."""
        try:
            return self.run.history.read()
        except RequestError:
            return {}


class Completed(NamedTuple):
    """The completed ones among some runs, and the number of others."""

    records: list[RunRecord]  # in the order of the runs
    states: Counter[str]  # number of other runs in each state
    damaged: list[str]  # error messages of completed runs that can't be read


def read_completed(entries: Iterable[ListedRun]) -> Completed:
    """Read the files of completed runs."""
    completed = Completed([], Counter(), [])
    for run, status in entries:
        state = shown_state(status)
        if state == "damaged":
            completed.damaged.append(str(status["error"]))
        elif state != "completed":
            completed.states[state] += 1
        else:
            try:
                completed.records.append(_read(run, status))
            except RequestError as error:
                completed.damaged.append(str(error))
    return completed


def _read(run: RunDirectory, status: Mapping[str, Any]) -> RunRecord:
    metrics, settings = run.read_metrics(), read_settings(run)
    if not isinstance(metrics.get("test"), Mapping):
        raise RequestError(f"{run.path / 'metrics.json'}: damaged: it has no test metrics.")
    if not settings.get("seed", "").lstrip("-").isdigit():
        raise RequestError(f"{run.path / 'config.yaml'}: damaged: it has no settings of a run.")
    # Content identifies a file: it may have been moved, or changed in its place.
    for key, digest in status.get("file_hashes", {}).items():
        settings[key] = f"{Path(settings.get(key, 'null')).name} ({digest[:_SHOWN_DIGITS]})"
    return RunRecord(run, status, settings, metrics)


@dataclass(frozen=True)
class Group:
    """Runs with the same values of the compared settings, one run per seed."""

    key: Key
    by: tuple[str, ...]  # the compared settings
    runs: Mapping[int, RunRecord]  # the newest run of each seed, in the order of seeds
    values: Mapping[int, float]  # the compared quantity of each seed

    @property
    def cells(self) -> list[str]:
        """The values of the key, for the columns of a table."""
        return ["-" if value is None else value for value in self.key]

    @property
    def label(self) -> str:
        """The values of the key in one line, as the user writes them."""
        return " / ".join(self.cells)

    @property
    def name(self) -> str:
        """The values of the key in one line, for sentences."""
        pairs = zip(self.by, self.cells, strict=True)
        return " / ".join(in_prose(value) if key in _MECHANISM else value for key, value in pairs)

    def shared_seeds(self, other: Group) -> list[int]:
        """Return the seeds that both groups have."""
        return [seed for seed in self.runs if seed in other.runs]


def grouped(
    records: list[RunRecord], metric: Quantity, by: tuple[str, ...]
) -> tuple[list[Group], int]:
    """Group runs, with the newest run of each seed; also count the older runs left out."""
    by_key = _by_key(records, by)
    groups = []
    for key in in_order(by_key):
        runs = dict(sorted({record.seed: record for record in by_key[key]}.items()))
        values = {seed: metric.value(run.metrics) or 0.0 for seed, run in runs.items()}
        groups.append(Group(key, by, runs, values))
    return groups, len(records) - sum(len(group.runs) for group in groups)


def _by_key(records: Iterable[RunRecord], by: Sequence[str]) -> dict[Key, list[RunRecord]]:
    """Group the runs that agree in these settings, by the values that the last of them has."""
    parts: dict[Key, list[RunRecord]] = {}
    for record in records:
        parts.setdefault(values_of(record, by), []).append(record)
    return {tuple(map(runs[-1].setting, by)): runs for runs in parts.values()}


def values_of(run: RunRecord, keys: Iterable[str]) -> tuple[str, ...]:
    """Return the values of config keys; a missing one is null."""
    return tuple("null" if value is None else value for value in map(run.setting, keys))


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort keys: numbers first, then words, then missing values."""

    def order(value: str | None) -> tuple[int, float, str]:
        try:
            return (0, float(value), "") if value is not None else (2, 0.0, "")
        except ValueError:
            return 1, 0.0, str(value)

    return sorted(keys, key=lambda key: [order(value) for value in key])


def splitting_settings(records: Iterable[RunRecord], by: Sequence[str]) -> list[str]:
    """List the settings in which runs differ although they agree in all compared settings.

    Only settings that can change results count.
    """
    parts = _by_key(records, by).values()
    return sorted({key for runs in parts for key in _differing_settings(runs, by)})


def _differing_settings(records: Sequence[RunRecord], by: Sequence[str]) -> Iterator[str]:
    compared = {*by, *(f"{key}.name" for key in by), *_IDLE}
    for key in sorted({key for run in records for key in run.settings} - compared):
        if not decides_result(key):
            continue
        section = key.partition(".")[0]
        by_option: dict[str | None, set[str]] = {}
        for run in records:
            if key == _OWN_OR_DOWNLOADED and key not in run.status.get("file_hashes", {}):
                continue
            if follows(run.settings.get("attention.name"), key, run.settings.get(key)):
                continue
            option = None if key.endswith(".name") else run.settings.get(f"{section}.name")
            by_option.setdefault(option, set()).add(run.settings.get(key, "null"))
        if any(len(values) > 1 for values in by_option.values()):
            yield key


def doubts(groups: Sequence[Group], by: Sequence[str]) -> list[str]:
    """Describe in sentences in what else the runs differ, besides the compared settings.

    A setting that only some options have, such as `attention.window`, is named only if runs with
    the same option differ in it. Settings that follow from the mechanism, as `model.readout` does
    from `none`, are not named.
    """
    records = [run for group in groups for run in group.runs.values()]

    def value(run: RunRecord, key: str) -> str:
        return run.settings.get(key, "null")

    sentences = [
        f"{key} differs: {_counts(groups, partial(value, key=key))}"
        for key in _differing_settings(records, by)
    ]

    def digest(run: RunRecord) -> str:
        return str(run.status.get("data_digest"))

    # Data may depend on the seed, so only runs with the same seed are compared.
    for seed in {seed for group in groups for seed in group.runs}:
        if len({digest(group.runs[seed]) for group in groups if seed in group.runs}) > 1:
            counts = _counts(groups, lambda run: digest(run)[:_SHOWN_DIGITS])
            sentences.append(f"the data differ (data_digest): {counts}")
            break
    surroundings = {record.run.path: _surroundings(record) for record in records}

    def surrounding(run: RunRecord, text: str) -> str:
        return surroundings[run.run.path][text]

    for text in next(iter(surroundings.values()), {}):
        if len({values[text] for values in surroundings.values()}) > 1:
            sentences.append(f"{text}: {_counts(groups, partial(surrounding, text=text))}")
    return sentences


def _surroundings(run: RunRecord) -> dict[str, str]:
    """Return versions, code and machine of a run, by the sentence for a difference in them."""
    environment = run.run.read_environment() or {}
    packages, code = environment.get("packages") or {}, environment.get("code") or {}
    machine = f"{environment.get('processor_model')} with {environment.get('cpus')} cores"
    earlier = ", ".join(map(str, run.status.get("earlier_epochs", [])))
    return {
        "runs were trained longer later, so earlier trainer.epochs differ": earlier or "none",
        **{f"the version of {name} differs": str(packages.get(name)) for name in _PACKAGES},
        "attnlab's code differs": str(code.get("commit"))[:8] + "+" * bool(code.get("dirty")),
        "machines differ, so seconds can't be compared": machine,
        "stacks have different sizes, so seconds can't be compared": str(
            run.status.get("together", 1)
        ),
    }


def _counts(groups: Sequence[Group], value: Callable[[RunRecord], str]) -> str:
    """Write which groups have which value: `30 (no attention, pooling); 60 (2 of 5 bahdanau)`."""
    counts: dict[str, Counter[str]] = {}
    for group in groups:
        for run in group.runs.values():
            counts.setdefault(value(run), Counter())[group.name] += 1
    sizes = {group.name: len(group.runs) for group in groups}
    parts = []
    for text, names in counts.items():
        labels = [
            name if number == sizes[name] else f"{number} of {sizes[name]} {name}"
            for name, number in names.items()
        ]
        more = f" and {len(labels) - 2} more" if len(labels) > 3 else ""
        parts.append(f"{text} ({', '.join(labels[: 2 if more else 3])}{more})")
    return "; ".join(parts)
