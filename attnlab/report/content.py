"""The sections of a page about runs: what came out, what the kind tells of it, how it was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlab.compare.comparison import Comparison, Comparisons, Options, compare
from attnlab.compare.grouping import NothingToCompare
from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.page.parts import Page, Part, Section, Text
from attnlab.records.run_directory import ListedRun
from attnlab.report.results import colours_of, curves_chart, result_sentence, results_parts
from attnlab.report.settings import runs_table, settings_parts, versions_parts
from attnlab.report.shown import shown_runs, which_are_shown
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import known_kind

# Told what is being done, for it may take a minute.
Told = Callable[[str], None]


def runs_page(
    title: str,
    entries: Sequence[ListedRun],
    options: Options,
    *,
    made: str,
    about: str,
    told: Told = lambda text: None,
) -> Page:
    """The page of some runs, at least one, the oldest first.

    Args:
        title: its heading.
        entries: the runs; those that are not completed have no results, but what they have.
        options: how they are grouped and compared.
        made: when.
        about: with what.
        told: see `Told`.

    Raises:
        RequestError: no run has such a key or such a metric.
    """
    sections, result = _results(entries, options, told)
    sections.append(Section("Runs", [runs_table(entries)]))
    sections.append(Section("Settings", settings_parts(entries), folded=True))
    sections.append(Section("Versions and machine", versions_parts(entries), folded=True))
    return Page(title, result, made, about, sections)


def _results(
    entries: Sequence[ListedRun], options: Options, told: Told
) -> tuple[list[Section], list[str]]:
    """The sections about results, and a sentence for each task."""
    try:
        found = compare(entries, options)
    except NothingToCompare as error:
        return _without_results(entries), [f"There is no result: {str(error).partition(': ')[2]}"]
    several, sections = len(found.tasks) > 1, []
    for comparison in found.tasks:
        name = f": {comparison.name}" if several else ""
        colours = colours_of(comparison)
        parts = results_parts(comparison, colours)
        sections.append(Section(f"Results{name}", [*parts, *_left_out(found, comparison)]))
        sections += _told_by_kind(comparison, name, len(found.tasks), told)
    return sections, [result_sentence(comparison) for comparison in found.tasks]


def _left_out(found: Comparisons, comparison: Comparison) -> list[Part]:
    """Sentences about runs that are in no comparison, behind the last one."""
    if comparison is not found.tasks[-1]:
        return []
    return [Text(f"left out: {text}", "warning") for text in found.left_out]


def _told_by_kind(comparison: Comparison, name: str, tasks: int, told: Told) -> list[Section]:
    """What the kind of a task has to tell of one run of each group."""
    kind = known_kind(comparison.task)
    if kind is None:
        return []
    shown = shown_runs(comparison, colours_of(comparison), share=tasks)
    note = [Text(text, "note") for text in [which_are_shown(comparison)] if text]
    sections = []
    for title, path in kind.page.items():
        told(f"{title.lower()}{name}")
        try:
            parts = list(load(path)(shown))
        except RequestError as error:
            parts = [Text(f"This part is missing: {error}", "warning")]
        sections.append(Section(f"{title}{name}", [*note, *parts]))
    return sections


def _without_results(entries: Sequence[ListedRun]) -> list[Section]:
    """The curves of runs none of which is completed, a chart for each task and loss."""
    parts: list[Part] = []
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
