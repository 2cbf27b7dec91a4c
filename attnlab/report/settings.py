"""Tables of runs, their settings, their versions and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.comparison.metrics import reported_metric
from attnlab.comparison.selection import read_settings
from attnlab.errors import RequestError
from attnlab.records.files import flatten
from attnlab.records.run_directory import ListedRun
from attnlab.records.status import shown_state
from attnlab.tasks.kinds import known_kind
from attnlab.views.records import Code, Record, Table, Text

# A page doesn't say who ran it.
_LEFT_OUT = ("user",)
_MOST_NAMED = 4


def runs_table(entries: Sequence[ListedRun]) -> Table:
    """Return a table with a row per run."""
    header = ["task", "attention", "state", "folder", "seed", "epochs", "best", "test", "seconds"]
    return Table("", header, [_row(entry) for entry in entries], words=4)


def _row(entry: ListedRun) -> list[str]:
    status = entry.status
    try:
        metrics: Mapping[str, Any] = entry.run.read_metrics()
    except RequestError:
        metrics = {}
    name = reported_metric(metrics, known_kind(status["task"])) if metrics else ""
    test = (metrics.get("test") or {}).get(name)
    return [
        str(status["task"]),
        str(status["attention"]),
        shown_state(status),
        entry.run.path.name,
        str(status["seed"]),
        str(metrics.get("epochs", status.get("epoch", "-"))),
        f"{_cell(metrics.get('best_value'))} at {metrics.get('best_epoch')}" if metrics else "-",
        f"{name} {_cell(test)}" if metrics else "-",
        _cell(metrics.get("seconds")),
    ]


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "-"


def settings_records(entries: Sequence[ListedRun]) -> list[Record]:
    """Return the settings that all runs share, and those in which they differ."""
    known, parts = {}, []
    for entry in entries:
        try:
            known[entry.run.name] = read_settings(entry.run)
        except RequestError as error:
            parts.append(Text(f"Settings are missing: {error}", "warning"))
    return [*_shared("setting", known), *parts]


def versions_records(entries: Sequence[ListedRun]) -> list[Record]:
    """Return the versions and machines of all runs, and the commands that made them."""
    found = {entry.run.name: entry.run.read_environment() for entry in entries}
    lacking = [name for name, environment in found.items() if environment is None]
    known = {name: _said(each) for name, each in found.items() if each is not None}
    commands = dict.fromkeys(
        str(each["command"]) for each in found.values() if each and "command" in each
    )
    parts: list[Record] = [Code("command", "\n".join(commands))] if commands else []
    if lacking:
        names = ", ".join(lacking[:_MOST_NAMED]) + ", ..." * (len(lacking) > _MOST_NAMED)
        parts.append(Text(f"environment.json is missing or damaged: {names}.", "warning"))
    return [*_shared("what", known), *parts]


def _said(environment: Mapping[str, Any]) -> dict[str, str]:
    return flatten(environment, left_out=(*_LEFT_OUT, "command"))


def _shared(name: str, known: Mapping[str, Mapping[str, str]]) -> list[Record]:
    """Return a table of the values that differ among runs, and one of the values that all share."""
    if not known:
        return []
    keys = dict.fromkeys(key for own in known.values() for key in own)
    values = {key: Counter(own.get(key, "-") for own in known.values()) for key in keys}
    alike = [[key, *counts] for key, counts in values.items() if len(counts) == 1]
    differing = [
        [key, ", ".join(_counted(value, number) for value, number in counts.items())]
        for key, counts in values.items()
        if len(counts) > 1
    ]
    parts: list[Record] = []
    if differing:
        title = f"what differs among the {len(known)} runs (number of runs)"
        parts.append(Table(title, [name, "values"], differing, words=2, prose=True))
    title = f"the same in all {len(known)} runs" if len(known) > 1 else ""
    return [*parts, Table(title, [name, "value"], alike, words=2)]


def _counted(value: str, number: int) -> str:
    return f"{value} ({number})"
