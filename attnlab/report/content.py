"""The sections of a page about runs: results, the views of their kind, settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlab.comparison.comparison import Comparison, Comparisons, Options, compare
from attnlab.comparison.runs import NothingToCompare
from attnlab.comparison.shown import colours_of, curves_chart
from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.report.reported_run import reported_runs, which_are_reported
from attnlab.report.results import result_sentence, results_records
from attnlab.report.settings import runs_table, settings_records, versions_records
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import known_kind
from attnlab.views.records import Page, Record, Section, Text

# Reports progress to the user, since a page may take a minute.
Announce = Callable[[str], None]


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
        entries: the runs, the oldest first. Runs that are not completed have learning curves and
            settings, but no results.
        options: how runs are grouped and compared.
        made: when the page was made.
        about: by which version, and of how many runs.
        announce: see `Announce`.

    Raises:
        RequestError: no run has a key or the metric of `options`.
    """
    sections, result = _results(entries, options, announce)
    sections.append(Section("Runs", [runs_table(entries)]))
    sections.append(Section("Settings", settings_records(entries), folded=True))
    sections.append(Section("Versions and machine", versions_records(entries), folded=True))
    return Page(title, result, made, about, sections)


def _results(
    entries: Sequence[ListedRun], options: Options, announce: Announce
) -> tuple[list[Section], list[str]]:
    """Return the sections about results, and a sentence per task."""
    try:
        found = compare(entries, options)
    except NothingToCompare as error:
        return _without_results(entries), [f"There is no result: {str(error).partition(': ')[2]}"]
    several, sections = len(found.tasks) > 1, []
    for comparison in found.tasks:
        name = f": {comparison.name}" if several else ""
        colours = colours_of(comparison)
        parts = results_records(comparison, colours)
        sections.append(Section(f"Results{name}", [*parts, *_left_out(found, comparison)]))
        sections += _sections_of_kind(comparison, name, len(found.tasks), announce)
    return sections, [result_sentence(comparison) for comparison in found.tasks]


def _left_out(found: Comparisons, comparison: Comparison) -> list[Record]:
    """Return sentences about runs that are in no comparison; they follow the last comparison."""
    if comparison is not found.tasks[-1]:
        return []
    return [Text(f"left out: {text}", "warning") for text in found.left_out]


def _sections_of_kind(
    comparison: Comparison, name: str, tasks: int, announce: Announce
) -> list[Section]:
    """Return what a kind shows: sections about one run per group."""
    kind = known_kind(comparison.task)
    if kind is None:
        return []
    runs = reported_runs(comparison, colours_of(comparison), share=tasks)
    note = [Text(text, "note") for text in [which_are_reported(comparison)] if text]
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


def _without_results(entries: Sequence[ListedRun]) -> list[Section]:
    """Return learning curves if no run is completed: a chart per task and loss."""
    parts: list[Record] = []
    for task in sorted({str(entry.status["task"]) for entry in entries}):
        histories = {}
        for entry in (entry for entry in entries if str(entry.status["task"]) == task):
            try:
                histories[f"{in_prose(str(entry.status['attention']))}, {entry.run.path.name}"] = [
                    entry.run.history.read()
                ]
            except RequestError as error:
                parts.append(Text(f"The history is missing: {error}", "warning"))
        colours = {label: number for number, label in enumerate(histories)}
        for column in ("train_loss", "val_loss"):
            if any(
                column in each and each[column] for seeds in histories.values() for each in seeds
            ):
                parts.append(curves_chart(column, histories, colours, known_kind(task)))
    return [Section("Learning so far", parts)] if parts else []
