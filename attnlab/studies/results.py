"""The results of a study: our groups compared with published numbers, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from attnlab.comparison.comparison import (
    Comparison,
    Comparisons,
    GroupResult,
    NoReference,
    Options,
    compare,
)
from attnlab.comparison.formats import numbers
from attnlab.comparison.shown import baseline_values
from attnlab.comparison.statistics import ENOUGH_SEEDS, Interval
from attnlab.config.options import in_prose
from attnlab.errors import RequestError
from attnlab.records.run_directory import ListedRun
from attnlab.studies.study import Published, Study

NO_RUN = "no run"


@dataclass(frozen=True)
class Cell:
    """A published number, and our group of runs that it is compared with."""

    published: Published
    verdict: str
    result: GroupResult | None = None  # the group's; None if no group fits, or several do
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
    def missing(self) -> list[Published]:
        """Published numbers for which there is no run."""
        return [cell.published for cell in self.cells if cell.verdict == NO_RUN]


def verdict(published: float, ours: Interval, direction: int) -> str:
    """Compare our interval with a published number; higher (1) or lower (-1) is better.

    Few seeds reproduce nothing: their interval is so wide that it contains nearly any number.
    """
    if ours.low is None or ours.high is None:
        return "one seed"
    if ours.low <= published <= ours.high:
        return "reproduced" if ours.n >= ENOUGH_SEEDS else "too few seeds"
    return "better" if (ours.mean - published) * direction > 0 else "worse"


def results(study: Study, entries: Sequence[ListedRun]) -> Results:
    """Compare a study's runs with each other and with published numbers.

    Without a run of the reference, another group is the reference.

    Raises:
        RequestError: no run is completed, or a key, a metric or the reference is unknown.
    """
    by, within = (
        tuple(key.strip() for key in (keys or "").split(",") if key.strip())
        for keys in (study.by, study.within)
    )
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
        (comparison, result)
        for comparison in comparisons
        for result in comparison.results
        if all(
            run.setting(key) == value
            for run in result.group.runs.values()
            for key, value in published.where.items()
        )
    ]
    if len(fitting) != 1:
        return Cell(published, "several groups" if fitting else NO_RUN)
    ((comparison, result),) = fitting
    if published.why:
        return Cell(published, "not comparable", result)
    sign = comparison.metric.direction
    values = baseline_values(comparison)
    beaten_by = [name for name, v in values.items() if sign * v > sign * published.value]
    return Cell(published, verdict(published.value, result.interval, sign), result, beaten_by)


def table_csv(study_results: Results) -> str:
    """Write a row per group, per baseline and per published number, with all digits."""
    return pd.DataFrame([*_rows(study_results)], dtype=object).to_csv(index=False)


def _rows(study_results: Results) -> Iterator[dict[str, Any]]:
    title, main = {"study": study_results.study.title}, study_results.main
    for row in numbers(main):
        yield {**title, "who": "ours", **row}
    for comparison in main.tasks:
        place = {"task": comparison.task, "data": comparison.data}
        for name, value in baseline_values(comparison).items():
            metric = comparison.metric.path
            yield {**title, "who": "baseline", "name": name, "metric": metric, "mean": value,
                   **place}  # fmt: skip
    for cell in study_results.cells:
        number, interval = cell.published, cell.result.interval if cell.result else None
        yield {
            **title,
            "who": "published",
            "name": number.system,
            "metric": number.metric,
            "mean": number.value,
            **number.where,
            "source": number.source,
            "verdict": cell.verdict,
            "why": number.why,
            **{f"ours_{end}": getattr(interval, end, None) for end in ("n", "mean", "low", "high")},
        }
