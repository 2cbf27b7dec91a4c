"""Completed runs as a table, groups of them, and settings in which runs differ.

The table has a row per run, the oldest first, and a column per config key with values as text; a
missing value is `null`. Other columns have names in capitals: RUN, a `RunRecord`, TASK, DATA and
SEED, and in groups VALUE, the compared number.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attnlab.comparison.selection import read_settings, setting
from attnlab.config.options import follows, in_prose
from attnlab.config.sections import decides_result
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun, RunDirectory, shown_state
from attnlab.tasks.kinds import kind_of

_COLUMNS = ("RUN", "TASK", "DATA", "SEED", "VALUE", "GROUP")
# Settings that make no difference between groups: the seed, and the address of a download.
_IDLE = ("seed", "data.url")
# Packages of environment.json that results can depend on.
_PACKAGES = ("attnlab", "tensorflow", "keras", "numpy", "tokenizers", "sacrebleu")
_MECHANISM = ("attention", "attention.name")  # keys whose values are mechanisms
_SHOWN_DIGITS = 8  # shown digits of a hash


class NothingToCompare(RequestError):
    """No run is completed, or none has a finite value."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The files of a completed run's folder."""

    run: RunDirectory  # its folder
    status: Mapping[str, Any]  # status.json
    # the leaves of config.yaml by dotted key, as text; files of the user by name and hash
    settings: Mapping[str, str]
    metrics: Mapping[str, Any]  # metrics.json

    def setting(self, key: str) -> str | None:
        """Return the value of a config key; for a group such as `attention`, its option's name."""
        return setting(self.settings, key)

    def history(self) -> dict[str, list[float]]:
        """Read history.csv by columns; empty if it is damaged."""
        try:
            return self.run.history.read()
        except RequestError:
            return {}


def read_runs(entries: Iterable[ListedRun]) -> tuple[pd.DataFrame, list[str]]:
    """Read completed runs into a table; also describe the other runs in sentences.

    Raises:
        NothingToCompare: No run is completed.
    """
    records, damaged, states = list[RunRecord](), list[str](), Counter[str]()
    for run, status in entries:
        state = shown_state(status)
        try:
            if state == "damaged":
                raise RequestError(str(status["error"]))
            if state != "completed":
                states[state] += 1
                continue
            metrics, settings = run.read_metrics(), read_settings(run)
            if not isinstance(metrics.get("test"), Mapping):
                raise RequestError(f"{run.path / 'metrics.json'}: damaged: no test metrics.")
            if not settings.get("seed", "").lstrip("-").isdigit():
                raise RequestError(f"{run.path / 'config.yaml'}: damaged: no settings of a run.")
            # Content identifies a file: it may have been moved, or changed in its place.
            for key, digest in status.get("file_hashes", {}).items():
                settings[key] = f"{Path(settings.get(key, 'null')).name} ({digest[:_SHOWN_DIGITS]})"
            records.append(RunRecord(run, status, settings, metrics))
        except RequestError as error:
            damaged.append(str(error))
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    if not records:
        others = ", ".join(filter(None, [counts, *damaged[:1]])) or "none"
        raise NothingToCompare(f"--runs: no run is completed; there are {others}.")
    left_out = [f"not completed: {counts}"] if counts else []
    left_out += damaged
    table = pd.DataFrame([record.settings for record in records]).fillna("null")
    data = [(record.status.get("data") or {}).get("name", "") for record in records]
    return table.assign(
        RUN=records,
        TASK=[str(record.status["task"]) for record in records],
        DATA=[str(name) for name in data],
        SEED=[int(record.settings["seed"]) for record in records],
    ), left_out


@dataclass(frozen=True, eq=False)
class Group:
    """Runs with the same values of the compared settings, one run per seed."""

    # the values of the compared settings; None if the newest run lacks a setting
    key: tuple[str | None, ...]
    by: tuple[str, ...]  # the compared settings
    rows: pd.DataFrame  # of the table, by seed: the newest run of each seed

    @property
    def runs(self) -> dict[int, RunRecord]:
        """The run of each seed."""
        return self.rows["RUN"].to_dict()

    @property
    def values(self) -> dict[int, float]:
        """The compared number of each seed."""
        return self.rows["VALUE"].to_dict()

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

    def pairs(self, reference: Group) -> tuple[pd.Series, pd.Series]:
        """Return the values of both groups for the seeds that both have."""
        return self.rows["VALUE"].align(reference.rows["VALUE"], join="inner")


def split(table: pd.DataFrame, keys: Sequence[str]) -> list[tuple[tuple, pd.DataFrame]]:
    """Divide a table by config keys; numbers come first, then words."""
    if not keys:
        return [((), table)]
    columns = [table[key] if key in table else table[f"{key}.name"] for key in keys]
    return sorted(table.groupby(columns, sort=False), key=lambda part: _order(part[0]))


def _order(values: Iterable[str | None]) -> list[tuple[int, float, str]]:
    """Return a key to sort by: numbers first, then words, then missing values."""

    def order(value: str | None) -> tuple[int, float, str]:
        try:
            return (0, float(value), "") if value is not None else (2, 0.0, "")
        except ValueError:
            return 1, 0.0, str(value)

    return [order(value) for value in values]


def make_groups(table: pd.DataFrame, by: tuple[str, ...]) -> list[Group]:
    """Group runs, with the newest run of each seed."""
    groups = []
    for _, rows in split(table, by):
        key = tuple(rows["RUN"].iloc[-1].setting(name) for name in by)
        newest = rows.drop_duplicates("SEED", keep="last").set_index("SEED").sort_index()
        groups.append(Group(key, by, newest))
    return sorted(groups, key=lambda group: _order(group.key))


def differing_settings(
    table: pd.DataFrame, by: Sequence[str], *, in_groups: bool = False
) -> list[str]:
    """List the settings, besides the keys `by`, that can change results and in which runs differ.

    A setting that only some options have, such as `attention.window`, counts only if runs with the
    same option differ in it. Settings that follow from the mechanism, as `model.readout` does from
    `none`, don't count, nor does the place of a downloaded file.

    Args:
        table: Runs of one task.
        by: Config keys.
        in_groups: List only settings in which runs differ that agree in all keys `by`.
    """

    def is_implied(run: RunRecord, key: str) -> bool:
        if key == "data.path" and key not in run.status.get("file_hashes", {}):
            return True  # the place of a download
        return follows(run.settings.get("attention.name"), key, run.settings.get(key))

    differing = []
    ignored = {*by, *(f"{key}.name" for key in by), *_IDLE, *_COLUMNS}
    for key in sorted({*table.columns} - ignored):
        if not decides_result(key) or table[key].nunique() == 1:
            continue
        chosen = table[[not is_implied(run, key) for run in table["RUN"]]]
        option = f"{key.partition('.')[0]}.name"
        agreeing = [option] if option in table and not key.endswith(".name") else []
        parts = split(chosen, [*agreeing, *(by if in_groups else ())])
        if any(part[key].nunique() > 1 for _, part in parts):
            differing.append(key)
    return differing


def doubts(groups: Sequence[Group], by: Sequence[str]) -> list[str]:
    """Describe in sentences in what else the runs differ, besides the compared settings."""
    table = pd.concat([group.rows.assign(GROUP=group.name) for group in groups])
    columns = {f"{key} differs": table[key] for key in differing_settings(table, by)}
    # Data may depend on the seed, so only runs with the same seed are compared.
    digests = pd.Series([str(run.status.get("data_digest")) for run in table["RUN"]], table.index)
    if (digests.groupby(level="SEED").nunique() > 1).any():
        columns["the data differ (data_digest)"] = digests.str[:_SHOWN_DIGITS]
    surroundings = pd.DataFrame([_surroundings(run) for run in table["RUN"]], table.index)
    columns |= {text: column for text, column in surroundings.items() if column.nunique() > 1}
    return [f"{text}: {_counts(table['GROUP'], column)}" for text, column in columns.items()]


def still_improving(groups: Sequence[Group]) -> list[str]:
    """Warn of groups whose runs mostly have their best validation result in the last epoch."""
    names, records = list[str](), [run for group in groups for run in group.runs.values()]
    for group in groups:
        results = [run.metrics for run in group.runs.values()]
        if 2 * sum(kind_of(m["task"]).scoring.is_still_improving(m) for m in results) > len(
            results
        ):
            names.append(group.name)
    if not names:
        return []
    longer = f"trainer.epochs={2 * max(run.metrics.get('epochs', 0) for run in records)}"
    commands = {str((run.run.read_environment() or {}).get("command")) for run in records}
    words = [word for word in shlex.split(min(commands)) if word[:15] != "trainer.epochs="]
    if len(commands) == 1 and words[:1] == ["attnlab"]:  # no script
        longer = shlex.join([*words, longer])
    return [f"still improving in the last epoch: {', '.join(names)}. Train longer: {longer}"]


def _surroundings(run: RunRecord) -> dict[str, str]:
    """Return versions and code of a run, by the sentence for a difference in them."""
    environment = run.run.read_environment() or {}
    packages, code = environment.get("packages") or {}, environment.get("code") or {}
    earlier = ", ".join(map(str, run.status.get("earlier_epochs", [])))
    return {
        "runs were trained longer later, so earlier trainer.epochs differ": earlier or "none",
        **{f"the version of {name} differs": str(packages.get(name)) for name in _PACKAGES},
        "attnlab's code differs": str(code.get("commit"))[:8] + "+" * bool(code.get("dirty")),
    }


def _counts(groups: pd.Series, values: pd.Series) -> str:
    """Write which groups have which value: `30 (no attention, pooling); 60 (2 of 5 bahdanau)`."""
    sizes, parts = Counter(groups), []
    for value in values.unique():
        labels = [
            name if number == sizes[name] else f"{number} of {sizes[name]} {name}"
            for name, number in Counter(groups[values == value]).items()
        ]
        more = f" and {len(labels) - 2} more" if len(labels) > 3 else ""
        parts.append(f"{value} ({', '.join(labels[: 2 if more else 3])}{more})")
    return "; ".join(parts)
