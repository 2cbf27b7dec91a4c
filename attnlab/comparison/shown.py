"""The charts of a comparison: learning curves, means, differences to the reference."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace

from attnlab.comparison.comparison import Comparison, Comparisons, GroupResult
from attnlab.comparison.curves import (
    Histories,
    baseline_values,
    by_epoch,
    curve_columns,
    curve_title,
)
from attnlab.comparison.tables import heading
from attnlab.tasks.declaration import Kind
from attnlab.tasks.kinds import known_kind
from attnlab.terminal import p_text
from attnlab.views.records import (
    Curve,
    Curves,
    Figure,
    Grid,
    IntervalRow,
    Intervals,
)

# Inches.
_WIDTH, _CURVES_HEIGHT, _ROW_HEIGHT, _ROOM, _LEGEND_LINE = 10.5, 2.9, 0.36, 1.15, 0.24
_LEGEND_COLUMNS, _LEGEND_WIDTH = 4, 29  # names as wide leave room for one column less
_WARNING_LINE, _WARNING_WIDTH = 0.14, 160  # inches, characters


def colours_of(comparison: Comparison) -> dict[str, int]:
    """Number the groups' colours by name, so that they are the same for every metric."""
    return {label: n for n, label in enumerate(sorted(g.name for g in comparison.groups))}


def comparison_figure(comparisons: Comparisons) -> Figure:
    """Describe four panels per task.

    The upper two are learning curves: the mean over seeds, in a band from the lowest to the highest
    seed, up to the epoch that half of the seeds reached. The lower two are each group's mean with
    its 95 % interval and a dot per seed, and the paired differences to the reference.
    """
    tasks = comparisons.tasks
    title = heading(tasks[0]) if len(tasks) == 1 else f"Compared by {', '.join(tasks[0].by)}"
    sequential = ", sequential: hold at every look" if tasks[0].sequential else ""
    subtitle = (
        "curves: mean over seeds, band from the lowest to the highest; "
        f"dots: one seed each; bars: 95 % intervals{sequential}"
    )
    grids = [grid for task in tasks for grid in _grids(task, heading(task) * (len(tasks) > 1))]
    return Figure(title, subtitle, grids, (_WIDTH, sum(grid.height for grid in grids) + 0.6))


def _grids(comparison: Comparison, title: str) -> list[Grid]:
    colours = colours_of(comparison)
    columns = _LEGEND_COLUMNS - (max(map(len, colours)) >= _LEGEND_WIDTH)
    legend = math.ceil(len(colours) / columns) * _LEGEND_LINE
    warnings = [textwrap.fill(f"warning: {text}", _WARNING_WIDTH) for text in comparison.warnings]
    lines = "\n".join(warnings).count("\n") + 1 if warnings else 0
    below = _ROOM + max(len(comparison.results), 3) * _ROW_HEIGHT + lines * _WARNING_LINE
    # The legend of the grid names the groups, the title says what a chart is of.
    charts = group_curves(comparison, colours)
    curves = [replace(chart, y_label="", legend="none") for chart in charts]
    differences, best = differences_chart(comparison, colours), comparison.baseline
    means = means_chart(
        comparison,
        colours,
        title=f"{'test ' * comparison.metric.is_test}{comparison.metric.path}: {_mean(comparison)}",
        label=comparison.units or "",
        lines=[line for line in baseline_values(comparison).items() if line[0] == best],
    )
    forest = [means, *([differences] if differences else [])]
    return [
        Grid([curves], (), _CURVES_HEIGHT + legend, colours, title, columns, 2),
        Grid([forest], (), below, columns=2, warning="\n".join(warnings)),
    ]


def _mean(comparison: Comparison) -> str:
    return "geometric mean" if comparison.geometric else "mean"


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
    tables = {
        label: by_epoch([history[column] for history in seeds if column in history])
        for label, seeds in histories.items()
    }
    epochs = range(1, max(map(len, tables.values())) + 1)
    curves = []
    for label, table in tables.items():
        if not table.empty:
            table = table.reindex(range(len(epochs)))
            ends = [table.min(axis=1), table.max(axis=1)] if table.shape[1] > 1 else []
            mean, *band = [
                [None if math.isnan(value) else value for value in column.tolist()]
                for column in (table.mean(axis=1), *ends)
            ]
            low, high = band or (None, None)
            curves.append(Curve(label, mean, colours[label], low, high))
    title = curve_title(column, kind)
    logarithmic = kind is not None and kind.scoring.is_lower_better(column)
    return Curves(title, "epoch", title, [*epochs], curves, logarithmic=logarithmic)


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
    rows = [
        IntervalRow(
            result.group.name,
            colours[result.group.name],
            *result.interval[1:4],
            list(result.group.values.values()),
        )
        for result in comparison.results[:most]
    ]
    return Intervals(title, label, rows, [*lines], comparison.metric.direction < 1)


def differences_chart(comparison: Comparison, colours: Mapping[str, int]) -> Intervals | None:
    """The paired differences to the reference; None if no group has one."""
    rows = [
        IntervalRow(
            result.group.name,
            colours[result.group.name],
            *(result.difference[1:4] if result.difference else (None, None, None)),
            note=_judged(result),
        )
        for result in comparison.results
    ]
    if all(row.mean is None for row in rows):
        return None
    sequential = ", sequential" if comparison.sequential else ""
    what = "ratio" if comparison.geometric else "difference"
    label = ""
    if comparison.metric.direction:
        label = f"{'right' if comparison.metric.direction > 0 else 'left'} of the line is better"
    return Intervals(
        f"{what} to {comparison.reference_name}, paired by seed{sequential}",
        label,
        rows,
        logarithmic=comparison.geometric,
        zero=1.0 if comparison.geometric else 0.0,
        names=False,
    )


def _judged(result: GroupResult) -> str:
    if result.difference is None:
        return "reference"
    p = p_text(result.p_corrected)
    sign = f"< {p[1:]}" if p.startswith("<") else f"= {p}"
    return f"{result.verdict}, p {sign}" if result.p_corrected is not None else result.verdict
