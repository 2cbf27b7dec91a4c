"""A comparison on a page: a sentence, tables and charts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from attnlab.comparison.charts import baseline_values, colours_of, group_curves, means_chart
from attnlab.comparison.comparison import Comparison, Comparisons
from attnlab.comparison.tables import (
    differences_table,
    heading,
    remarks,
    results_table,
    value_format,
)
from attnlab.terminal import in_one_format, p_text
from attnlab.views.records import Intervals, Record, Table, Text

_MOST = 14  # groups that a chart has room for
_MOST_CAVEATS = 5


def result_sentence(comparison: Comparison) -> str:
    """Summarize a comparison in a sentence, with the reference and the best baseline."""
    best, groups = next(comparison.table.itertuples()), len(comparison.table)
    write, name = value_format(comparison), _name(comparison)
    if not comparison.metric.direction:
        return f"{comparison.name}: {groups} groups by {name}; neither direction of it is better."
    units = f" {comparison.units}" if comparison.units else ""
    interval = ""
    if best.low is not None:
        interval = f", 95 % interval {write(best.low)} to {write(best.high)}"
    seeds = f"{best.n} seed{'s' if best.n > 1 else ''}"
    value = f"{write(best.mean)}{units} ({seeds}{interval})"
    if groups == 1:
        said = f"{best.group.name} has a {name} of {value}"
    else:
        mean = "geometric mean" if comparison.geometric else "mean"
        said = f"of {groups} groups {best.group.name} has the best {mean} of the {name}, {value}"
        if not best.verdict:  # it is the reference
            verdicts = Counter(comparison.differences["verdict"])
            others = ", ".join(f"{v} ({n} group{'s' * (n > 1)})" for v, n in verdicts.items())
            said += f"; the others compared with it: {others}" if others else ""
        else:
            is_tested = best.verdict in ("better", "worse", "no evidence")
            p = f", p {p_text(best.p_corrected)}".replace("<", "< ") if is_tested else ""
            said += f"; compared with {comparison.reference_name}: {best.verdict}{p}"
    for baseline, score in [*baseline_values(comparison).items()][:1]:
        said += f". The best baseline, {baseline}, has {_baseline(comparison, score)}"
    return f"{comparison.name}: {said}."


def _name(comparison: Comparison) -> str:
    """Return the metric's name in prose."""
    metric = comparison.metric
    label = metric.metric.label if metric.metric and metric.is_test else metric.path
    return f"{'test ' if metric.is_test else ''}{label}"


def _baseline(comparison: Comparison, value: float) -> str:
    """Write a baseline's value in the groups' number format, unless that rounds it to zero."""
    text = value_format(comparison)(value)
    return text if value == 0 or any(sign in "123456789" for sign in text) else f"{value:.3g}"


def results_records(comparison: Comparison, compared: Comparisons) -> list[Record]:
    """Return charts of means and curves, tables, and notes on how to read them.

    The last one of those that are `compared` says which runs were left out.
    """
    colours = colours_of(comparison)
    curves = group_curves(comparison, colours, _MOST)
    if len({chart.logarithmic for chart in curves}) == 1:  # a loss, and an error that is made of it
        curves = curves[-1:]
    parts: list[Record] = [_intervals(comparison, colours), *curves]
    parts += [_with_baselines(comparison), *_further_parts(comparison)]
    differences = differences_table(comparison)
    if differences is not None:
        parts.append(differences)
    several = (comparison.table["n"] > 1).any()
    notes = []
    if several:
        mean = "geometric mean" if comparison.geometric else "mean"
        notes.append(
            "Curves: mean over seeds; band: from the lowest to the highest seed. "
            f"Dots: a seed each; bars: 95 % interval of their {mean}."
        )
    if several or len(comparison.table) > 1:
        notes += remarks(comparison)
    runs = comparison.records
    caveats = dict.fromkeys(str(note) for run in runs for note in run.metrics.get("notes") or [])
    notes += [*caveats][:_MOST_CAVEATS]
    warnings = [*comparison.warnings]
    if lacking := [run.run.name for run in runs if not any(run.history().values())]:
        warnings.append(f"history.csv is damaged or empty, so no curve: {', '.join(lacking)}.")
    if comparison is compared.tasks[-1]:
        warnings += [f"left out: {text}" for text in compared.left_out]
    parts += [Text(text, "note") for text in notes]
    return parts + [Text(text, "warning") for text in warnings]


def _intervals(comparison: Comparison, colours: Mapping[str, int]) -> Intervals:
    groups = len(comparison.groups)
    lone = groups == 1 and len(comparison.groups[0].values) == 1
    mean = "" if lone else "geometric mean of " if comparison.geometric else "mean of "
    left = f" (the first {_MOST} of {groups} groups)" if groups > _MOST else ""
    better = heading(comparison).rpartition(", ")[2]
    return means_chart(
        comparison,
        colours,
        title=f"{mean}{_name(comparison)}{left}",
        label=f"{comparison.units or comparison.metric.path}, {better}",
        lines=baseline_values(comparison).items() if comparison.metric.is_test else (),
        most=_MOST,
    )


def _with_baselines(comparison: Comparison) -> Table:
    """Return a table of the groups, followed by the baselines."""
    table = results_table(comparison)
    place = table.header.index("geometric mean" if comparison.geometric else "mean")
    rows = list(table.rows)
    for name, value in baseline_values(comparison).items():
        cells = ["-"] * len(table.header)
        cells[: table.words] = [f"baseline {name}", *[""] * (table.words - 1)]
        cells[place] = _baseline(comparison, value)
        rows.append(cells)
    muted = frozenset(range(len(table.rows), len(rows)))
    return Table(heading(comparison), table.header, rows, table.words, muted)


def _further_parts(comparison: Comparison) -> list[Record]:
    """Return a table of each group's mean metric on further parts of the data."""
    names = dict.fromkeys(
        name for run in comparison.records for name in run.metrics.get("extra") or {}
    )
    if not names or not comparison.metric.is_test:
        return []
    columns = []
    for name in names:
        quantity = comparison.metric._replace(path=f"extra.{name}.{comparison.metric.leaf}")
        means: list[float | None] = []
        for group in comparison.groups:
            values = [quantity.value(run.metrics) for run in group.runs.values()]
            finite = [value for value in values if value is not None and math.isfinite(value)]
            is_whole = len(finite) == len(values)
            means.append(math.fsum(finite) / len(finite) if is_whole else None)
        columns.append(in_one_format(means))
    cells = zip(*columns, strict=True)
    rows = [[*group.cells, *row] for group, row in zip(comparison.groups, cells, strict=True)]
    title = f"{comparison.metric.path} on further parts, mean over seeds"
    return [Table(title, [*comparison.by, *names], rows, len(comparison.by))]
