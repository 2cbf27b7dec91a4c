"""A study's report: in Markdown, and as a page of HTML."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from attnlab.compare.comparison import Comparison
from attnlab.compare.curves import baseline_values
from attnlab.compare.formats import markdown
from attnlab.config.arguments import quoted
from attnlab.process import variable
from attnlab.records.environment import TYPED
from attnlab.records.run_directory import ListedRun
from attnlab.report.content import Announce, runs_page
from attnlab.report.results import result_sentence
from attnlab.studies.results import Cell, Results
from attnlab.terminal import Write, distinct, number_format
from attnlab.views.html.page import page_text
from attnlab.views.records import Code, Section, Table, Text

_PUBLISHED, _DIFFERENCES, _BASELINES, _MADE_BY = (
    *("Compared with published numbers", "How the protocol differs", "Baselines", "Made by"),
)
_QUICK = "This is the quick form of the study: its few runs prove little."
_HEADER = ["group", "published by", "metric", "published", "ours [95 %]", "n", "verdict"]
_WORDS = 2  # columns at the left
_BEATEN = "baselines that beat it"


def report_md(found: Results, runs: str | None = None) -> str:
    """Write the report in Markdown; `runs` is the folder of runs if it isn't the default."""
    study = found.study
    parts = [f"# {study.name}", study.question, *([f"**{_QUICK}**"] if study.quick else [])]
    parts.append(_listed(result_sentence(each) for each in found.main.tasks))
    parts += [f"Source: {study.source}"] if study.source else []
    if found.cells:
        header, *rows = _table(found)
        parts.append(f"## {_PUBLISHED}")
        if rows:
            lines = [header, ["---"] * len(header), *rows]
            cells = [[text.replace("|", "\\|") for text in row] for row in lines]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
        parts += [*_without_runs(found), *found.about_verdicts]
    parts += [f"## {_DIFFERENCES}", _listed(study.differences)] if study.differences else []
    parts += ["## All groups", markdown(found.main).rstrip("\n")]
    parts += [f"## {_BASELINES}", _listed(map(_baselines, found.main.tasks))]
    parts += [f"## {_MADE_BY}", "\n".join(f"    {line}" for line in _commands(found, runs))]
    return "\n\n".join(parts) + "\n"


def report_html(
    found: Results,
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
    study = found.study
    page = runs_page(study.name, entries, found.options, made=made, about=about, announce=announce)
    own = []
    if found.cells:
        header, *rows = _table(found)
        words = header.index("metric")
        tables = [Table("", header, rows, words=words, prose=True)] if rows else []
        notes = [*_without_runs(found), *found.about_verdicts, *study.differences]
        own.append(Section(_PUBLISHED, [*tables, *map(Text, notes)]))
    source = [Text(f"Source: {study.source}", "note")] if study.source else []
    made_by = Section(
        _MADE_BY, [Code("commands", "\n".join(_commands(found, runs))), *source], True
    )
    first = [study.question, *([_QUICK] if study.quick else [])]
    sections = [*own, *page.sections, made_by]
    return page_text(page._replace(result=[*first, *page.result], sections=sections))


def _listed(lines) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(found: Results) -> list[list[str]]:
    """A header, and a row per published number.

    If a baseline beats a published number, a column names the baselines that do. Numbers without
    runs are left out if only a part of the study was run.
    """
    cells = [cell for cell in found.cells if cell.result or not found.study.is_part]
    beaten = [", ".join(cell.beaten_by) for cell in cells]
    formats = _formats(cells)
    header, rows = [*_HEADER], [_row(cell, formats[cell.published.metric]) for cell in cells]
    if any(beaten):
        for line, text in zip([header, *rows], [_BEATEN, *beaten], strict=True):
            line.insert(_WORDS, text)
    return [header, *rows]


def _without_runs(found: Results) -> list[str]:
    """Say how many published numbers are left out."""
    left_out = len(found.missing) if found.study.is_part else 0
    return [f"{left_out} of {len(found.cells)} published numbers have no runs here."] * bool(
        left_out
    )


def _formats(cells: Sequence[Cell]) -> dict[str, Write]:
    """A number format per metric; it never makes an end equal to a published number."""
    found = {}
    for metric in dict.fromkeys(cell.published.metric for cell in cells):
        own = [cell for cell in cells if cell.published.metric == metric]
        intervals = [cell.result.interval[1:] if cell.result else () for cell in own]
        write = number_format(value for interval in intervals for value in interval)
        for cell, interval in zip(own, intervals, strict=True):
            write = distinct(interval, cell.published.value, write)
        found[metric] = write
    return found


def _row(cell: Cell, write: Write) -> list[str]:
    """The row of a published number and ours."""
    each, ours, n = cell.published, "", ""
    if cell.result is not None:
        seeds, *values = cell.result.interval
        mean, *ends = [write(value) for value in values if value is not None]
        ours, n = mean + (f" [{', '.join(ends)}]" if ends else ""), str(seeds)
    why = f": {each.why}" if each.why and cell.result is not None else ""
    by = f"{each.system}, {each.source}"
    return [each.label, by, each.metric, f"{each.value:g}", ours, n, cell.verdict + why]


def _baselines(comparison: Comparison) -> str:
    found = baseline_values(comparison)
    write = number_format(found.values())
    values = ", ".join(f"{name} {write(value)}" for name, value in found.items())
    return f"{comparison.name}, {comparison.metric.path}: {values or 'none'}"


def _commands(found: Results, runs: str | None) -> list[str]:
    """The command that the user typed, and the sweeps that it ran."""
    commands = found.study.sweeps(Path(runs or "runs") / "sweeps").items()
    place = [f"paths.runs={quoted(runs)}"] if runs else []
    sweeps = [
        f"attnlab -m {shlex.join([*words, *place, f'sweep.name={name}'])}"
        for name, words in commands
    ]
    return [variable(TYPED) or f"attnlab study {found.study.name}", *sweeps]
