"""The charts of a comparison: learning curves, means, differences to the reference; baselines."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from attnlab.comparison.comparison import Comparison, Comparisons
from attnlab.comparison.metrics import part_of
from attnlab.comparison.tables import heading, p_cell
from attnlab.tasks.kinds import Kind, known_kind
from attnlab.terminal import NOTHING
from attnlab.views.records import Curve, Curves, Figure, Grid, IntervalRow, Intervals

# Inches.
_WIDTH, _CURVES_HEIGHT, _ROW_HEIGHT, _ROOM, _LEGEND_LINE = 10.5, 2.9, 0.36, 1.15, 0.24
_LEGEND_COLUMNS = 3
_WARNING_LINE, _WARNING_WIDTH = 0.14, 160  # inches, characters
_PARTS = {"train": "training", "val": "validation"}

# The history of each seed of a group.
Histories = Sequence[Mapping[str, list[float]]]


def colours_of(comparison: Comparison) -> dict[str, int]:
    """Number the groups' colours by name, so that they are the same for every metric."""
    return {label: n for n, label in enumerate(sorted(g.name for g in comparison.groups))}


def comparison_figure(comparisons: Comparisons) -> Figure:
    """Describe four panels per task.

    The upper two are learning curves: the mean over seeds, in a band from the lowest to the highest
    seed, up to the epoch that half of the seeds reached. The lower two are each group's mean with
    its 95 % interval and a dot per seed, and the paired differences to the reference.
    """
    tasks, grids = comparisons.tasks, list[Grid]()
    for task in tasks:
        metric, colours = task.metric, colours_of(task)
        legend = math.ceil(len(colours) / _LEGEND_COLUMNS) * _LEGEND_LINE
        # The legend of the grid names the groups, the title says what a chart is of.
        curves = [replace(c, y_label="", legend="none") for c in group_curves(task, colours)]
        mean = "geometric mean" if task.geometric else "mean"
        means = means_chart(
            task,
            colours,
            title=f"{'test ' * metric.is_test}{metric.path}: {mean}",
            label=task.units or "",
            lines=[*baseline_values(task).items()][: 1 if metric.is_test else 0],
        )
        forest = [chart for chart in (means, differences_chart(task, colours)) if chart]
        warnings = [textwrap.fill(f"warning: {text}", _WARNING_WIDTH) for text in task.warnings]
        warning = "\n".join(warnings)
        below = _ROOM + max(len(task.groups), 3) * _ROW_HEIGHT
        below += len(warning.splitlines()) * _WARNING_LINE
        title = heading(task) * (len(tasks) > 1)
        grids += [
            Grid([curves], _CURVES_HEIGHT + legend, colours, title, _LEGEND_COLUMNS, 2),
            Grid([forest], below, columns=2, warning=warning),
        ]
    title = heading(tasks[0]) if len(tasks) == 1 else f"Compared by {', '.join(tasks[0].by)}"
    sequential = ", sequential: hold at every look" if tasks[0].sequential else ""
    subtitle = (
        "curves: mean over seeds, band from the lowest to the highest; "
        f"dots: one seed each; bars: 95 % intervals{sequential}"
    )
    return Figure(title, subtitle, grids, (_WIDTH, sum(grid.height for grid in grids) + 0.6))


def group_curves(
    comparison: Comparison, colours: Mapping[str, int], most: int | None = None
) -> list[Curves]:
    """Learning curves of the best groups: the loss, and the column closest to the metric."""
    kind = known_kind(comparison.task)
    histories = {
        group.name: [run.history() for run in group.runs.values()]
        for group in comparison.groups[:most]
    }
    columns = curve_columns(histories, comparison.metric.leaf, kind)
    return [curves_chart(column, histories, colours, kind) for column in columns]


def curves_chart(
    column: str, histories: Mapping[str, Histories], colours: Mapping[str, int], kind: Kind | None
) -> Curves:
    """A chart of one history column: each group's mean in a band over its seeds."""
    tables = {}
    for label, seeds in histories.items():
        columns = [pd.Series(h[column], dtype=float) for h in seeds if column in h]
        # As long as half of the seeds last. Missing values are NaN: some epochs have no BLEU.
        lengths = sorted(map(len, columns), reverse=True)
        length = lengths[(len(columns) - 1) // 2] if columns else 0
        table = pd.DataFrame(dict(enumerate(columns)))[:length]
        tables[label] = table.replace([math.inf, -math.inf], math.nan)
    epochs = range(max(map(len, tables.values())))
    curves = []
    for label, table in tables.items():
        if not table.empty:
            table = table.reindex(epochs)
            lines = table.agg(["mean", "min", "max"], axis=1).astype(object)
            mean, low, high = lines.where(lines.notna(), None).T.to_numpy().tolist()
            band = (low, high) if table.shape[1] > 1 else ()
            curves.append(Curve(label, mean, colours[label], *band))
    title = curve_title(column, kind)
    logarithmic = kind is not None and kind.scoring.is_lower_better(column)
    return Curves(title, "epoch", title, [n + 1 for n in epochs], curves, logarithmic=logarithmic)


def means_chart(
    comparison: Comparison,
    colours: Mapping[str, int],
    *,
    title: str,
    label: str,
    lines: Iterable[tuple[str, float]],
    most: int | None = None,
) -> Intervals:
    """Each group's mean with its 95 % interval and a dot per seed, and some baselines."""
    rows = []
    for row in comparison.table[:most].itertuples():
        name, values = row.group.name, [*row.group.values.values()]
        rows.append(IntervalRow(name, colours[name], row.mean, row.low, row.high, values))
    return Intervals(title, label, rows, [*lines], comparison.metric.direction < 1)


def differences_chart(comparison: Comparison, colours: Mapping[str, int]) -> Intervals | None:
    """The paired differences to the reference; None if no group has one."""
    rows = []
    for row in comparison.table.itertuples():
        p = p_cell(row)
        note = f"{row.verdict}, p {p}" if p != NOTHING else row.verdict or "reference"
        name, ends = row.group.name, (row.difference_low, row.difference_high)
        rows.append(IntervalRow(name, colours[name], row.difference, *ends, note=note))
    if all(row.mean is None for row in rows):
        return None
    sequential = ", sequential" if comparison.sequential else ""
    what = "ratio" if comparison.geometric else "difference"
    side = {1: "right of the line is better", -1: "left of the line is better"}
    return Intervals(
        f"{what} to {comparison.reference_name}, paired by seed{sequential}",
        side.get(comparison.metric.direction, ""),
        rows,
        logarithmic=comparison.geometric,
        zero=1.0 if comparison.geometric else 0.0,
        names=False,
    )


def curve_columns(histories: Mapping[str, Histories], metric: str, kind: Kind | None) -> list[str]:
    """Choose two columns of the histories: the loss, and the one closest to the metric."""
    every = [history for seeds in histories.values() for history in seeds]
    monitored = [kind.scoring.monitored] if kind else []
    wanted = dict.fromkeys([f"val_{metric}", *monitored, "val_loss", "train_loss"])
    chosen = [column for column in wanted if any(history.get(column) for history in every)][:2]
    return sorted(chosen, key=lambda column: ("loss" not in column, column))


def curve_title(column: str, kind: Kind | None) -> str:
    """Write the name of a column of history.csv in words: `validation BLEU` for `val_bleu`."""
    part, _, name = column.partition("_")
    if part not in _PARTS:
        return column.replace("_", " ")
    metric = kind.scoring.metric(column) if kind else None
    return f"{_PARTS[part]} {metric.label if metric else name.replace('_', ' ')}"


def baseline_values(comparison: Comparison) -> dict[str, float]:
    """Average each baseline over the runs, if all have it; the best baseline comes first.

    The values are those of the metric, on the metric's part of the data.
    """
    parts = [part_of(run.metrics, comparison.metric.path) for run in comparison.records]
    tables = [part.get("baselines") or {} for part in parts]
    averages = {}
    for name in tables[0]:
        values = [(table.get(name) or {}).get(comparison.metric.leaf) for table in tables]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) == len(values):
            averages[name] = statistics.fmean(numbers)
    way = -comparison.metric.direction
    return dict(sorted(averages.items(), key=lambda item: way * item[1]))
