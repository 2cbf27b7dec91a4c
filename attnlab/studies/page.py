"""A study's report: the page of its runs, with a section on published numbers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from attnlab.config.arguments import quoted
from attnlab.process import variable
from attnlab.records.environment import TYPED
from attnlab.records.run_directory import ListedRun
from attnlab.report.page import Announce, runs_page
from attnlab.studies.results import Cell, Results
from attnlab.terminal import Write, distinct, number_format
from attnlab.views.html.page import page_text
from attnlab.views.records import Code, Section, Table, Text

_QUICK = "This is the quick form of the study: its few runs prove little."


def study_page(
    results: Results,
    entries: Sequence[ListedRun],
    *,
    made: str,
    about: str,
    announce: Announce,
    runs: str | None = None,
) -> str:
    """Write the page of the study's runs, with a section on published numbers; see `runs_page`.

    `runs` is the folder of runs if it isn't the default.
    """
    study = results.study
    page = runs_page(
        study.name, entries, results.options, made=made, about=about, announce=announce
    )
    published = []
    if results.cells:
        notes = [*map(Text, study.differences)]
        if study.is_part and results.missing:
            left_out = f"{len(results.missing)} of {len(results.cells)}"
            notes = [Text(f"{left_out} published numbers have no runs here."), *notes]
        published.append(
            Section("Compared with published numbers", [*published_tables(results), *notes])
        )
    source = [Text(f"Source: {study.source}", "note")] if study.source else []
    commands = Code("commands", "\n".join(_commands(results, runs)))
    sections = [*published, *page.sections, Section("Made by", [commands, *source], folded=True)]
    lead = [study.question, *([_QUICK] if study.quick else []), *page.result]
    return page_text(page._replace(result=lead, sections=sections))


def published_tables(results: Results) -> list[Table]:
    """Make a table with a row per published number; none without rows.

    Numbers without runs are left out if only a part of the study was run.
    """
    cells = [cell for cell in results.cells if cell.result or not results.study.is_part]
    if not cells:
        return []
    header = ["group", "published by", "baselines that beat it", "metric", "published",
              "ours [95 %]", "n", "verdict"]  # fmt: skip
    formats = {
        metric: _format([cell for cell in cells if cell.published.metric == metric])
        for metric in {cell.published.metric for cell in cells}
    }
    rows = []
    for cell in cells:
        number, ours, n = cell.published, "", ""
        if cell.result is not None:
            write, interval = formats[number.metric], cell.result.interval
            mean, *ends = [write(value) for value in interval[1:4] if value is not None]
            ours, n = mean + (f" [{', '.join(ends)}]" if ends else ""), str(interval.n)
        why = f": {number.why}" if number.why and cell.result else ""
        by, beaten_by = f"{number.system}, {number.source}", ", ".join(cell.beaten_by)
        rows.append([number.label, by, beaten_by, number.metric, f"{number.value:g}", ours, n,
                     cell.verdict + why])  # fmt: skip
    return [Table("", header, rows, words=3, prose=True)]


def _format(cells: Sequence[Cell]) -> Write:
    """Return a metric's number format; it never makes an end equal to a published number."""
    intervals = [cell.result.interval[1:4] if cell.result else () for cell in cells]
    write = number_format(value for interval in intervals for value in interval)
    for cell, interval in zip(cells, intervals, strict=True):
        write = distinct(interval, cell.published.value, write)
    return write


def _commands(results: Results, runs: str | None) -> list[str]:
    """Return the command that the user typed, and the sweeps that it ran."""
    place = [f"paths.runs={quoted(runs)}"] if runs else []
    sweeps = [
        f"attnlab -m {shlex.join([*words, *place, f'sweep.name={name}'])}"
        for name, words in results.study.sweeps(Path(runs or "runs") / "sweeps").items()
    ]
    return [variable(TYPED) or f"attnlab study {results.study.name}", *sweeps]
