"""The results of a study: our groups compared with published numbers, a table and a page of all."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attnlab import __version__
from attnlab.comparison.charts import baseline_values, comparison_figure
from attnlab.comparison.comparison import Comparison, Comparisons, NoReference, Options, compare
from attnlab.comparison.statistics import TOO_FEW, Interval, enough_seeds
from attnlab.comparison.tables import numbers
from attnlab.config.options import in_prose
from attnlab.errors import RequestError, explained
from attnlab.records import files
from attnlab.records.environment import TYPED
from attnlab.records.run_directory import ListedRun
from attnlab.report.page import Announce, runs_page
from attnlab.studies.study import Published, Study
from attnlab.terminal import Write, distinct, number_format
from attnlab.views.html.page import page_text
from attnlab.views.png.figure import save
from attnlab.views.records import Code, Record, Section, Table, Text

NO_RUN = "no run"
_QUICK = "This is the quick form of the study: its few runs prove little."


@dataclass(frozen=True)
class Cell:
    """A published number, and our group of runs that it is compared with."""

    published: Published
    verdict: str
    ours: Interval | None = None  # the group's; None if no group fits, or several do
    # the baselines that are better than the published number, the best one first
    beaten_by: Sequence[str] = ()


@dataclass(frozen=True)
class Results:
    """The results of a study's runs."""

    study: Study
    options: Options  # how runs are compared
    main: Comparisons  # by the study's metric
    cells: Sequence[Cell]  # the published numbers in the study's order

    @property
    def report_cells(self) -> list[Cell]:
        """The cells that a report has: without those that a part of the study has no runs for."""
        return [cell for cell in self.cells if cell.ours or not self.study.is_part]


def results(study: Study, entries: Sequence[ListedRun]) -> Results:
    """Compare a study's runs with each other and with published numbers.

    Without a run of the reference, another group is the reference.

    Raises:
        RequestError: no run is completed, or a key, a metric or the reference is unknown.
    """
    by, within = (tuple(keys.split(",")) if keys else () for keys in (study.by, study.within))
    options = Options(by, within, study.metric, study.reference, study.geometric)
    remarks = list[str]()
    try:
        main = compare(entries, options)
    except NoReference:
        name = in_prose(str(options.reference))
        remarks.append(f"No run of the reference, {name}, is completed.")
        options = replace(options, reference=None)
        main = compare(entries, options)
    by_metric: dict[str, list[Comparison]] = {}
    for metric in dict.fromkeys(number.metric for number in study.published):
        try:
            by_metric[metric] = compare(entries, replace(options, metric=metric)).tasks
        except RequestError as error:  # some tasks of the study may lack the metric
            by_metric[metric] = []
            remarks.append(str(error))
    main = main._replace(left_out=[*main.left_out, *remarks])
    cells = [_cell(number, by_metric[number.metric]) for number in study.published]
    return Results(study, options, main, cells)


def _cell(published: Published, comparisons: Sequence[Comparison]) -> Cell:
    """Compare a published number with the only group of runs that fits it."""
    fitting = [
        (comparison, row)
        for comparison in comparisons
        for row in comparison.table.itertuples()
        if all(
            run.setting(key) == value
            for run in row.group.runs.values()
            for key, value in published.where.items()
        )
    ]
    if len(fitting) != 1:
        return Cell(published, "several groups" if fitting else NO_RUN)
    ((comparison, row),) = fitting
    ours = Interval(row.n, row.mean, row.low, row.high)
    if published.why:
        return Cell(published, "not comparable", ours)
    sign = comparison.metric.direction
    values = baseline_values(comparison)
    beaten_by = [name for name, v in values.items() if sign * v > sign * published.value]
    return Cell(published, verdict(published.value, ours, sign), ours, beaten_by)


def verdict(published: float, ours: Interval, direction: int) -> str:
    """Compare our interval with a published number; higher (1) or lower (-1) is better."""
    if ours.n < enough_seeds() or ours.low is None or ours.high is None:
        return TOO_FEW
    if ours.low <= published <= ours.high:
        return "reproduced"
    return "better" if (ours.mean - published) * direction > 0 else "worse"


def write_report(
    study_results: Results,
    entries: Sequence[ListedRun],
    folder: Path,
    *,
    runs: Path | None,
    announce: Announce,
) -> None:
    """Write report.html, table.csv and comparison.png into a folder.

    The page is that of the study's runs, with a section on published numbers. `runs` is the folder
    of all runs if it isn't the default; `announce` as for `runs_page`.
    """
    study = study_results.study
    page = runs_page(
        study.name,
        entries,
        study_results.options,
        made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        about=f"attnlab {__version__}, {len(entries)} runs of study {study.title}",
        announce=announce,
    )
    sections = [*page.sections]
    if study_results.cells:
        parts: list[Record] = [*map(Text, study.differences)]
        missing = sum(cell.verdict == NO_RUN for cell in study_results.cells)
        if study.is_part and missing:
            left_out = f"{missing} of {len(study_results.cells)}"
            parts.insert(0, Text(f"{left_out} published numbers have no runs here."))
        if study_results.report_cells:
            parts.insert(0, published_table(study_results))
        sections.insert(0, Section("Compared with published numbers", parts))
    commands = [os.environ.get(TYPED) or f"attnlab study {study.name}"]
    commands += [shlex.join(["attnlab", *words]) for words in study.commands(runs)]
    made_by: list[Record] = [Code("commands", "\n".join(commands))]
    if study.source:
        made_by.append(Text(f"Source: {study.source}", "note"))
    sections.append(Section("Made by", made_by, folded=True))
    lead = [study.question, *([_QUICK] if study.quick else []), *page.result]
    text = page_text(page._replace(result=lead, sections=sections))
    with explained(f"--runs: expected a folder that can be written, got {str(folder)!r}"):
        folder.mkdir(parents=True, exist_ok=True)
        files.write_text(folder / "table.csv", table_csv(study_results))
        files.write_text(folder / "report.html", text)
        save(comparison_figure(study_results.main), folder / "comparison.png")


def published_table(study_results: Results) -> Table:
    """Make a row per published number."""
    header = ["group", "published by", "baselines that beat it", "metric", "published",
              "ours [95 %]", "n", "verdict"]  # fmt: skip
    cells = study_results.report_cells
    formats = {
        metric: _format([cell for cell in cells if cell.published.metric == metric])
        for metric in {cell.published.metric for cell in cells}
    }
    rows = []
    for cell in cells:
        number, ours, n, why = cell.published, "", "", ""
        value = f"{number.value:g}"
        if cell.ours is not None:
            write = formats[number.metric]
            mean, *ends = [write(value) for value in cell.ours[1:4] if value is not None]
            in_full = np.format_float_scientific if "e" in mean else np.format_float_positional
            value = in_full(number.value, trim="-")
            ours, n = mean + (f" [{', '.join(ends)}]" if ends else ""), str(cell.ours.n)
            why = f": {number.why}" if number.why else ""
        by, beaten_by = f"{number.system}, {number.source}", ", ".join(cell.beaten_by)
        rows.append([number.label, by, beaten_by, number.metric, value, ours, n,
                     cell.verdict + why])  # fmt: skip
    return Table("", header, rows, words=3, prose=True)


def _format(cells: Sequence[Cell]) -> Write:
    """Return a metric's number format; it never makes an end equal to a published number."""
    intervals = [cell.ours[1:4] if cell.ours else () for cell in cells]
    write = number_format(value for interval in intervals for value in interval)
    for cell, interval in zip(cells, intervals, strict=True):
        write = distinct(interval, cell.published.value, write)
    return write


def table_csv(study_results: Results) -> str:
    """Write a row per group, per baseline and per published number, with all digits."""
    rows = [{"who": "ours", **row} for row in numbers(study_results.main).to_dict("records")]
    for comparison in study_results.main.tasks:
        place = {"task": comparison.task, "data": comparison.data, "metric": comparison.metric.path}
        for name, value in baseline_values(comparison).items():
            rows.append({"who": "baseline", **place, "name": name, "mean": value})
    for cell in study_results.cells:
        number, ours = cell.published, cell.ours
        row: dict[str, Any] = {"who": "published", "name": number.system, "metric": number.metric}
        row |= {"mean": number.value, **number.where, "source": number.source}
        row |= {"verdict": cell.verdict, "why": number.why}
        for end in ("n", "mean", "low", "high"):
            row[f"ours_{end}"] = getattr(ours, end, None)
        rows.append(row)
    title = {"study": study_results.study.title}
    return pd.DataFrame([{**title, **row} for row in rows], dtype=object).to_csv(index=False)
