"""Groups of runs that were not trained, and comparisons of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from run_folders import write_run

from attnlab.comparison.charts import colours_of
from attnlab.comparison.comparison import Comparison, Comparisons, Options, compare
from attnlab.comparison.selection import Filters
from attnlab.records.run_directory import RunDirectory, list_runs
from attnlab.report.page import reported_runs
from attnlab.tasks.base import ReportedRun
from attnlab.views.records import Table

# Test results of seeds 0 to 4: of a reference, clearly better ones, and about equal ones.
NONE = (1.00, 1.10, 0.95, 1.05, 1.20)
BETTER = (0.90, 1.01, 0.86, 0.94, 1.08)
SAME = (1.02, 1.07, 0.96, 1.01, 1.23)


def write_group(runs: Path, attention: str, values: Sequence[float], **options: Any) -> None:
    """Write a run of each seed from 0."""
    for seed, value in enumerate(values):
        write_run(runs, attention, seed, value, **options)


def write_translations(run: RunDirectory, texts: Sequence[str], references: Sequence[str]) -> None:
    """Predictions of a translation."""
    number = np.arange(len(texts))
    sources = [f"source {place}" for place in number]
    scores = [100.0 * (text == other) for text, other in zip(texts, references, strict=True)]
    columns = {"index": number, "source": sources, "reference": references, "hypothesis": texts}
    run.write_predictions({**columns, "sentence_chrf": scores})


def compared(runs: Path, filters: Filters | None = None, **options: Any) -> Comparisons:
    """The comparison of the runs in a folder."""
    return compare((filters or Filters()).apply(list_runs(runs)), Options(**options))


def only(runs: Path, filters: Filters | None = None, **options: Any) -> Comparison:
    """The comparison of runs of one task."""
    (comparison,) = compared(runs, filters, **options).tasks
    return comparison


def on_page(runs: Path) -> list[ReportedRun]:
    """Runs of one task as a page shows them."""
    comparison = only(runs)
    return reported_runs(comparison, colours_of(comparison))


def column(table: Table, name: str) -> list[str]:
    """The cells of a page's table below one of its headings."""
    return [row[table.header.index(name)] for row in table.rows]
