"""The sections of a page about runs: results, the views of their kind, settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnlab.comparison.charts import colours_of
from attnlab.comparison.comparison import Comparison, Options, compare
from attnlab.comparison.metrics import reported_metric
from attnlab.comparison.runs import NothingToCompare, RunRecord
from attnlab.comparison.selection import read_settings
from attnlab.errors import RequestError
from attnlab.records.files import flatten
from attnlab.records.run_directory import ListedRun, shown_state
from attnlab.report.results import result_sentence, results_records
from attnlab.tasks.base import ReportedRun
from attnlab.tasks.kinds import known_kind, load
from attnlab.views.records import Code, Page, Record, Section, Table, Text

# Reports progress to the user, since a page may take a minute.
Announce = Callable[[str], None]
# Bytes of all maps on a page, before base64 makes them larger by a third.
_ROOM = 3_000_000
_MOST = 6  # groups; a run of each is shown
_LEFT_OUT = ("user", "command")  # of environment.json: a page doesn't say who ran it


def runs_page(
    title: str,
    entries: Sequence[ListedRun],
    options: Options,
    *,
    made: str,
    about: str,
    announce: Announce = lambda text: None,
) -> Page:
    """Describe one or more runs on a page.

    Args:
        title: the heading of the page.
        entries: the runs, the oldest first. Runs that are not completed have settings, but no
            results.
        options: how runs are grouped and compared.
        made: when the page was made.
        about: by which version, and of how many runs.
        announce: see `Announce`.

    Raises:
        RequestError: no run has a key or the metric of `options`.
    """
    sections: list[Section] = []
    try:
        compared = compare(entries, options)
    except NothingToCompare as error:
        sentences = [f"There is no result: {str(error).partition(': ')[2]}"]
    else:
        sentences = [result_sentence(comparison) for comparison in compared.tasks]
        several = len(compared.tasks) > 1
        for comparison in compared.tasks:
            name = f": {comparison.name}" if several else ""
            sections.append(Section(f"Results{name}", results_records(comparison, compared)))
            sections += _sections_of_kind(comparison, name, len(compared.tasks), announce)
    sections.append(Section("Runs", [_runs_table(entries)]))
    sections.append(Section("Settings", _settings(entries), folded=True))
    sections.append(Section("Versions and machine", _versions(entries), folded=True))
    return Page(title, sentences, made, about, sections)


def _sections_of_kind(
    comparison: Comparison, name: str, tasks: int, announce: Announce
) -> list[Section]:
    """Return what a kind shows: sections about one run per group."""
    kind = known_kind(comparison.task)
    if kind is None:
        return []
    runs = reported_runs(comparison, colours_of(comparison), share=tasks)
    note = []
    if len(comparison.table) > _MOST or (comparison.table["n"] > 1).any():
        names = ", ".join(f"{run.label} seed {run.metrics.get('seed')}" for run in runs)
        text = f"Of the first {len(runs)} groups the run with the median result is shown: {names}."
        note = [Text(text, "note")]
    sections = []
    for title, records in load(kind.views).sections.items():
        announce(f"computing {title.lower()}{name}")
        try:
            parts = list(records(runs))
        except RequestError as error:
            parts = [Text(f"This part is missing: {error}", "warning")]
        if parts:
            sections.append(Section(f"{title}{name}", [*note, *parts]))
    return sections


def reported_runs(
    comparison: Comparison, colours: Mapping[str, int], share: int = 1
) -> list[ReportedRun]:
    """Choose the run with the median result (of two, the lower one) from each of the best groups.

    `share` comparisons share the room on a page.
    """
    groups = comparison.groups[:_MOST]
    room = _ROOM // (share * len(groups))
    reported = []
    for group in groups:
        seeds = sorted(group.values, key=lambda seed: (group.values[seed], seed))
        run: RunRecord = group.runs[seeds[(len(seeds) - 1) // 2]]
        reported.append(ReportedRun(group.name, colours[group.name], run.run, run.metrics, room))
    return reported


def _runs_table(entries: Sequence[ListedRun]) -> Table:
    """Return a table with a row per run."""

    def cell(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, int | float) else "-"

    rows = []
    for entry in entries:
        status = entry.status
        try:
            metrics: Mapping[str, Any] = entry.run.read_metrics()
        except RequestError:
            metrics = {}
        name = reported_metric(metrics, known_kind(status["task"])) if metrics else ""
        test = (metrics.get("test") or {}).get(name)
        row = [str(status["task"]), str(status["attention"]), shown_state(status)]
        row += [entry.run.path.name, str(status["seed"])]
        row.append(str(metrics.get("epochs", status.get("epoch", "-"))))
        value = metrics.get("best_value")  # none without validation data
        row.append("-" if value is None else f"{cell(value)} at {metrics['best_epoch']}")
        row.append(f"{name} {cell(test)}" if metrics else "-")
        rows.append([*row, cell(metrics.get("seconds"))])
    header = ["task", "attention", "state", "folder", "seed", "epochs", "best", "test", "seconds"]
    return Table("", header, rows, words=4)


def _settings(entries: Sequence[ListedRun]) -> list[Record]:
    """Return the settings that all runs share, and those in which they differ."""
    settings, parts = {}, []
    for entry in entries:
        try:
            settings[entry.run.name] = read_settings(entry.run)
        except RequestError as error:
            parts.append(Text(f"Settings are missing: {error}", "warning"))
    return [*_shared("setting", settings), *parts]


def _versions(entries: Sequence[ListedRun]) -> list[Record]:
    """Return the versions and machines of all runs, and the commands that made them."""
    environments = {entry.run.name: entry.run.read_environment() for entry in entries}
    readable = {name: entries for name, entries in environments.items() if entries is not None}
    commands = dict.fromkeys(str(e["command"]) for e in readable.values() if "command" in e)
    parts: list[Record] = [Code("command", "\n".join(commands))] if commands else []
    if lacking := [name for name in environments if name not in readable]:
        text = f"environment.json is missing or damaged: {', '.join(lacking)}."
        parts.append(Text(text, "warning"))
    versions = {name: flatten(entries, left_out=_LEFT_OUT) for name, entries in readable.items()}
    return [*_shared("what", versions), *parts]


def _shared(name: str, values_of_runs: Mapping[str, Mapping[str, str]]) -> list[Record]:
    """Return a table of the values that differ among runs, and one of the values that all share."""
    if not values_of_runs:
        return []
    keys = dict.fromkeys(key for values in values_of_runs.values() for key in values)
    counts = {key: Counter(v.get(key, "-") for v in values_of_runs.values()) for key in keys}
    alike = [[key, *values] for key, values in counts.items() if len(values) == 1]
    differing = [
        [key, ", ".join(f"{value} ({number})" for value, number in values.items())]
        for key, values in counts.items()
        if len(values) > 1
    ]
    parts: list[Record] = []
    runs = len(values_of_runs)
    if differing:
        title = f"what differs among the {runs} runs (number of runs)"
        parts.append(Table(title, [name, "values"], differing, words=2, prose=True))
    title = f"the same in all {runs} runs" if runs > 1 else ""
    return [*parts, Table(title, [name, "value"], alike, words=2)]
