"""Completed runs, read from their folders, put into groups, and checked for other differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from attnlab.compare.metrics import Quantity
from attnlab.compare.selection import read_settings, setting
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
_MOST_GROUPS_NAMED = 3
_MECHANISM = ("attention", "attention.name")  # keys whose values are mechanisms
_SHOWN_DIGITS = 8  # shown digits of a data digest
_SHOWN_OF_HASH = 6  # shown digits of a file's hash; more if two files share them


class RunRecord(NamedTuple):
    """The files of a completed run's folder."""

    run: RunDirectory  # its folder
    status: Mapping[str, Any]  # status.json
    # the leaves of config.yaml by dotted key, as text; see `read_settings`
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

    @property
    def file_hashes(self) -> Mapping[str, str]:
        """Hashes of the user's own files, by the settings that name the files."""
        return self.status.get("file_hashes", {})

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
    """The completed ones among some runs, and what is known of the others."""

    records: list[RunRecord]  # in the order of the runs
    states: Counter[str]  # number of other runs in each state
    damaged: list[str]  # error messages of completed runs that can't be read


def read_completed(entries: Iterable[ListedRun]) -> Completed:
    """Read the files of completed runs."""
    found = Completed([], Counter(), [])
    for run, status in entries:
        state = shown_state(status)
        if state == "damaged":
            found.damaged.append(str(status["error"]))
        elif state != "completed":
            found.states[state] += 1
        else:
            try:
                found.records.append(_read(run, status))
            except RequestError as error:
                found.damaged.append(str(error))
    return found._replace(records=_with_files_named(found.records))


def _with_files_named(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Replace the paths of the user's files by one name per content.

    A file that was moved has one name; a file that was changed has two, each with its hash.
    """
    newest = {
        (key, digest): run.settings.get(key, "null")
        for run in records
        for key, digest in run.file_hashes.items()
    }
    files = Counter((key, path) for (key, _), path in newest.items())
    lengths = range(_SHOWN_OF_HASH, len(max((s for _, s in newest), key=len, default="")))
    digits = next((n for n in lengths if len({(k, s[:n]) for k, s in newest}) == len(newest)), None)

    def name(key: str, digest: str) -> str:
        path = newest[key, digest]
        return path if files[key, path] == 1 else f"{path} ({digest[:digits]})"

    def named(run: RunRecord) -> dict[str, str]:
        return {key: name(key, digest) for key, digest in run.file_hashes.items()}

    return [run._replace(settings={**run.settings, **named(run)}) for run in records]


def _read(run: RunDirectory, status: Mapping[str, Any]) -> RunRecord:
    metrics = run.read_metrics()
    if not isinstance(metrics.get("test"), Mapping):
        raise RequestError(f"{run.path / 'metrics.json'}: damaged: it has no test metrics.")
    settings = read_settings(run)
    if not settings.get("seed", "").lstrip("-").isdigit():
        raise RequestError(f"{run.path / 'config.yaml'}: damaged: it has no settings of a run.")
    return RunRecord(run, status, settings, metrics)


@dataclass(frozen=True)
class Group:
    """Runs with the same values of the compared settings, one run per seed."""

    # the values of the compared settings in the newest run; None if it lacks a setting
    key: tuple[str | None, ...]
    by: tuple[str, ...]  # the compared settings
    runs: Mapping[int, RunRecord]  # the newest run of each seed, in the order of seeds
    values: Mapping[int, float]  # the compared quantity of each seed

    @property
    def label(self) -> str:
        """The values of the key in one line, as the user writes them."""
        return " / ".join(value or "-" for value in self.key)

    @property
    def name(self) -> str:
        """The values of the key in one line, for sentences."""
        pairs = zip(self.by, self.key, strict=True)
        return " / ".join(value_in_prose(key, value or "-") for key, value in pairs)

    def shared_seeds(self, other: Group) -> list[int]:
        """Return the seeds that both groups have."""
        return [seed for seed in self.runs if seed in other.runs]


def value_in_prose(key: str, value: str) -> str:
    """Write the value of a compared setting for a sentence."""
    return in_prose(value) if key in _MECHANISM else value


def grouped(
    records: list[RunRecord], metric: Quantity, by: tuple[str, ...]
) -> tuple[list[Group], int]:
    """Group runs, with the newest run of each seed; also count the older runs left out."""
    found = _by_key(records, by)
    groups = []
    for key in in_order(found):
        newest = {record.seed: record for record in found[key]}
        runs = dict(sorted(newest.items()))
        values = {seed: metric.value(run.metrics) or 0.0 for seed, run in runs.items()}
        groups.append(Group(key, by, runs, values))
    return groups, len(records) - sum(len(group.runs) for group in groups)


def _by_key(
    records: Iterable[RunRecord], by: Sequence[str]
) -> dict[tuple[str | None, ...], list[RunRecord]]:
    """Group the runs that agree in these settings, by the values that the last of them has."""
    found: dict[tuple[str, ...], list[RunRecord]] = {}
    for record in records:
        found.setdefault(values_of(record, by), []).append(record)
    return {tuple(map(runs[-1].setting, by)): runs for runs in found.values()}


def values_of(run: RunRecord, keys: Iterable[str]) -> tuple[str, ...]:
    """Return the values of config keys; a missing one is null."""
    return tuple("null" if value is None else value for value in map(run.setting, keys))


def in_order(keys: Iterable[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
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
    found = _by_key(records, by).values()
    return sorted({key for runs in found for key in _differing_settings(runs, by)})


def doubts(groups: Sequence[Group], by: Sequence[str]) -> list[str]:
    """Describe in sentences in what else the runs differ, besides the compared settings.

    A setting that only some options have, such as `attention.window`, is named only if runs with
    the same option differ in it. Settings that follow from the mechanism, as `model.readout` does
    from `none`, are not named.
    """
    records = [run for group in groups for run in group.runs.values()]
    found = [
        f"{key} differs: {_counts_by_value(groups, partial(_text, key=key))}"
        for key in _differing_settings(records, by)
    ]
    seeds = dict.fromkeys(seed for group in groups for seed in group.runs)
    # Data may depend on the seed, so only runs with the same seed are compared.
    if any(_differ(_digest, [g.runs[seed] for g in groups if seed in g.runs]) for seed in seeds):
        counts = _counts_by_value(groups, _digest, _SHOWN_DIGITS)
        found.append(f"the data differ (data_digest): {counts}")
    for text, value in _surroundings(records):
        if _differ(value, records):
            found.append(f"{text}: {_counts_by_value(groups, value)}")
    return found


def _differing_settings(records: Sequence[RunRecord], by: Sequence[str]) -> Iterator[str]:
    compared = {*by, *(f"{key}.name" for key in by)}
    for key in sorted({key for run in records for key in run.settings}):
        if key in compared or not _decides(key):
            continue
        section = key.partition(".")[0]
        by_option: dict[str | None, set[str]] = {}
        for run in records:
            if key == _OWN_OR_DOWNLOADED and key not in run.file_hashes:
                continue
            if follows(run.settings.get("attention.name"), key, run.settings.get(key)):
                continue
            option = None if key.endswith(".name") else run.settings.get(f"{section}.name")
            by_option.setdefault(option, set()).add(_text(run, key))
        if any(len(values) > 1 for values in by_option.values()):
            yield key


def _surroundings(records: Sequence[RunRecord]) -> list[tuple[str, Callable[[RunRecord], str]]]:
    """Return pairs for versions, code and machines: a sentence for a difference, and the value."""
    environments = {run.run.path: run.run.read_environment() or {} for run in records}

    def version(run: RunRecord, name: str) -> str:
        return str((environments[run.run.path].get("packages") or {}).get(name))

    def code(run: RunRecord) -> str:
        found = environments[run.run.path].get("code") or {}
        return f"{str(found.get('commit'))[:8]}{' with changes' if found.get('dirty') else ''}"

    def machine(run: RunRecord) -> str:
        found = environments[run.run.path]
        return f"{found.get('processor_model')} with {found.get('cpus')} cores"

    def stack(run: RunRecord) -> str:
        size = run.status.get("together", 1)
        return "single" if size == 1 else f"stacks of {size}"

    def earlier_epochs(run: RunRecord) -> str:
        return ", ".join(map(str, run.status.get("earlier_epochs", []))) or "none"

    return [
        ("runs were trained longer later, so earlier trainer.epochs differ", earlier_epochs),
        *((f"the version of {name} differs", partial(version, name=name)) for name in _PACKAGES),
        ("attnlab's code differs", code),
        ("machines differ, so seconds can't be compared", machine),
        ("runs were trained in stacks of different sizes, so seconds can't be compared", stack),
    ]


def _differ(value: Callable[[RunRecord], str], records: Iterable[RunRecord]) -> bool:
    return len({value(run) for run in records}) > 1


def _counts_by_value(
    groups: Sequence[Group], value: Callable[[RunRecord], str], shown: int | None = None
) -> str:
    """Write which groups have which value: `30 (no attention, pooling); 60 (bahdanau)`.

    Values are cut to `shown` characters.
    """
    found: dict[str, Counter[str]] = {}
    for group in groups:
        for run in group.runs.values():
            found.setdefault(value(run), Counter())[group.name] += 1
    sizes = {group.name: len(group.runs) for group in groups}
    return "; ".join(
        f"{value[:shown]} ({_labels(counts, sizes)})" for value, counts in found.items()
    )


def _labels(counts: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    """List groups by name; `2 of 5 pooling` if only some runs of a group are meant."""
    names = [
        label if number == sizes[label] else f"{number} of {sizes[label]} {label}"
        for label, number in counts.items()
    ]
    if len(names) <= _MOST_GROUPS_NAMED:
        return ", ".join(names)
    left = len(names) - _MOST_GROUPS_NAMED + 1
    return f"{', '.join(names[: _MOST_GROUPS_NAMED - 1])} and {left} more"


def _decides(key: str) -> bool:
    return key not in _IDLE and decides_result(key)


def _text(run: RunRecord, key: str) -> str:
    """Return a setting's value; null if the run doesn't have it."""
    return run.settings.get(key, "null")


def _digest(run: RunRecord) -> str:
    return str(run.status.get("data_digest"))
