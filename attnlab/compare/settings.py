"""What differs between compared runs beside what is compared: settings, data, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attnlab.compare.runs import RunRecord
from attnlab.errors import RequestError
from attnlab.records import files

# Settings that decide nothing: where files lie, how the run was started, the seed within groups.
_IDLE = ("seed", "data.path", "data.url", "trainer.checkpoint_every_seconds")
_IDLE_SECTIONS = ("paths", "tracking", "sweep", "search", "hydra", "experiment")
# Packages of environment.json that results can depend on.
_PACKAGES = ("attnlab", "tensorflow", "keras", "numpy", "tokenizers", "sacrebleu")
_MOST_NAMED = 3

# A group's label and its runs by seed.
Labelled = tuple[str, Mapping[int, RunRecord]]


def changed_settings(first: RunRecord, second: RunRecord) -> list[str]:
    """The decisive settings in which two runs differ."""
    keys = dict.fromkeys([*first.settings, *second.settings])
    return [key for key in keys if _decides(key) and _text(first, key) != _text(second, key)]


def warnings_of(groups: Sequence[Labelled], by: Sequence[str]) -> list[str]:
    """Sentences about all in which the runs differ and which isn't compared.

    What an option brings along is a matter of course: `attention.window` where `attention` is
    compared, `model.heads` where `model` is said to differ. It is named where runs of one option
    differ in it.

    Args:
        groups: Each group's label and runs.
        by: The compared keys.
    """
    found = list(_settings(groups, by))
    found += _data(groups)
    environments = {id(run): _environment(run) for _, runs in groups for run in runs.values()}
    found += _versions(groups, environments)
    return found


def _settings(groups: Sequence[Labelled], by: Sequence[str]) -> Iterator[str]:
    records = [run for _, runs in groups for run in runs.values()]
    compared = {*by, *(f"{key}.name" for key in by)}
    for key in sorted(dict.fromkeys(key for run in records for key in run.settings)):
        if key in compared or not _decides(key):
            continue
        section = key.partition(".")[0]
        by_option: dict[str | None, set[str]] = {}
        for run in records:
            option = None if key.endswith(".name") else run.settings.get(f"{section}.name")
            by_option.setdefault(option, set()).add(_text(run, key))
        if any(len(values) > 1 for values in by_option.values()):
            yield f"{key} differs: {_who(groups, partial(_text, key=key))}"


def _data(groups: Sequence[Labelled]) -> Iterator[str]:
    """Other data for one seed; data that follow from the seed are the same for all groups."""
    seeds = dict.fromkeys(seed for _, runs in groups for seed in runs)
    for seed in seeds:
        if len({_digest(runs[seed]) for _, runs in groups if seed in runs}) > 1:
            yield f"the data differ (data_digest): {_who(groups, _digest)}"
            return


def _versions(groups: Sequence[Labelled], environments: Mapping[int, Any]) -> Iterator[str]:
    def package(name: str) -> Callable[[RunRecord], str]:
        return lambda run: str((environments[id(run)].get("packages") or {}).get(name))

    def code(run: RunRecord) -> str:
        found = environments[id(run)].get("code") or {}
        return f"{str(found.get('commit'))[:8]}{' with changes' if found.get('dirty') else ''}"

    def machine(run: RunRecord) -> str:
        found = environments[id(run)]
        return f"{found.get('processor')} with {found.get('cpus')} cores"

    entries: list[tuple[str, Callable[[RunRecord], str]]] = [
        *((f"the version of {name} differs", package(name)) for name in _PACKAGES),
        ("attnlab's code differs", code),
        ("machines differ, so seconds don't compare", machine),
    ]
    for text, value in entries:
        if len({value(run) for _, runs in groups for run in runs.values()}) > 1:
            yield f"{text}: {_who(groups, value)}"


def _who(groups: Sequence[Labelled], value: Callable[[RunRecord], str]) -> str:
    """Which groups have which value: `30 in none, pooling; 60 in bahdanau`."""
    having: dict[str, dict[str, int]] = {}
    for label, runs in groups:
        for run in runs.values():
            counts = having.setdefault(value(run), {})
            counts[label] = counts.get(label, 0) + 1
    sizes = {label: len(runs) for label, runs in groups}
    return "; ".join(f"{value} in {_labels(counts, sizes)}" for value, counts in having.items())


def _labels(counts: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    """Groups by name, with a count where only some of a group's runs are meant."""
    names = [
        label if counts[label] == sizes[label] else f"{counts[label]} of {label}"
        for label in counts
    ]
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} more"


def _decides(key: str) -> bool:
    return key not in _IDLE and key.partition(".")[0] not in _IDLE_SECTIONS


def _text(run: RunRecord, key: str) -> str:
    """A setting's value; one that an older version didn't have counts as null."""
    return run.settings.get(key, "null")


def _digest(run: RunRecord) -> str:
    return str(run.status.get("data_digest"))[:8]


def _environment(run: RunRecord) -> dict[str, Any]:
    """environment.json; empty where it is damaged, which only versions suffer from."""
    try:
        return files.read_json(run.run.path / "environment.json")
    except RequestError:
        return {}
