"""A comparison as a figure: how groups learned, how good they are, how they differ."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attnlab.compare.curves import curve_columns, draw_curves, histories_of
from attnlab.compare.looks import Style, far_apart, styles_of, use_log_scale
from attnlab.compare.results import Comparison, Comparisons, Row
from attnlab.compare.sheets import heading, p_text
from attnlab.figures.style import BLACK, GREY, new_figure, save, tidy, words

_FURTHEST = 10.0  # times, from which a baseline on a logarithmic axis is left out
_MOST_TICKS = 6
_LABEL_WIDTH = 22
# Inches.
_WIDTH, _CURVES_HEIGHT, _ROW_HEIGHT, _ROOM, _LEGEND_LINE = 10.5, 2.9, 0.36, 1.15, 0.24
_LEGEND_COLUMNS = 4


def draw_comparisons(found: Comparisons, path: Path) -> Path:
    """Draw `comparison_figure` into a file.

    Args:
        found: What was compared.
        path: Ends with .png, .pdf or .svg.

    Raises:
        OSError: The file can't be written.
    """
    return save(comparison_figure(found), path)


def comparison_figure(found: Comparisons) -> Figure:
    """Four panels for each task.

    Above, curves over the epochs: the mean over seeds inside a band from the lowest to the highest
    seed, as far as half of the seeds were trained. Below, each group's mean with its 95 % interval
    and a dot for each seed, and the paired differences to the reference with theirs.
    """
    tasks = found.tasks
    heights = [_height(comparison) for comparison in tasks]
    keys = ", ".join(tasks[0].by)
    title = f"{heading(tasks[0])}" if len(tasks) == 1 else f"Compared by {keys}"
    subtitle = (
        "curves: mean over seeds, band from the lowest to the highest; "
        "dots: one seed each; bars: 95 % interval"
    )
    figure = new_figure(_WIDTH, sum(heights) + 0.6, title, subtitle)
    parts = figure.subfigures(len(tasks), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, comparison in zip(parts, tasks, strict=True):
        _draw_task(part, comparison, heading(comparison) if len(tasks) > 1 else "")
    return figure


def _height(comparison: Comparison) -> float:
    legend = math.ceil(len(comparison.rows) / _LEGEND_COLUMNS) * _LEGEND_LINE
    return _CURVES_HEIGHT + _ROOM + max(len(comparison.rows), 3) * _ROW_HEIGHT + legend


def _draw_task(part: SubFigure, comparison: Comparison, title: str) -> None:
    styles = styles_of(comparison)
    height = _height(comparison)
    forest = _ROOM + max(len(comparison.rows), 3) * _ROW_HEIGHT
    parts = part.subfigures(2, 1, height_ratios=[height - forest, forest], squeeze=False)
    above, below = parts[:, 0]
    histories = {group.label: histories_of(group) for group in comparison.groups}
    columns = curve_columns(histories, comparison)
    panels = above.subplots(1, 2)
    for axes, column in zip(panels, [*columns, None, None], strict=False):
        if column is None:
            axes.set_visible(False)
        else:
            draw_curves(axes, column, histories, styles)
    handles = [
        Line2D([], [], color=style.colour, linestyle=style.dashes, marker=style.marker,
               markersize=5, linewidth=1.8, label=label)
        for label, style in styles.items()
    ]  # fmt: skip
    above.legend(
        handles=handles,
        title=title or None,
        title_fontproperties={"weight": "bold", "size": 10},
        alignment="left",
        loc="outside upper left",
        ncols=_LEGEND_COLUMNS,
        frameon=False,
        fontsize=9,
        handlelength=2.6,
    )
    left, right = below.subplots(1, 2, sharey=True)
    _draw_means(left, comparison, styles)
    _draw_differences(right, comparison, styles)


def _draw_means(axes: Axes, comparison: Comparison, styles: Mapping[str, Style]) -> None:
    rows = list(reversed(comparison.rows))
    baseline = _baseline(comparison)
    for place, row in enumerate(rows):
        style = styles[row.group.label]
        seeds = list(row.group.values.values())
        axes.plot(seeds, [place - 0.24] * len(seeds), "o", color=style.colour, alpha=0.45,
                  markersize=3.5, markeredgewidth=0)  # fmt: skip
        _draw_interval(axes, place, row.interval.low, row.interval.mean, row.interval.high, style)
    values = [value for row in rows for value in row.group.values.values()]
    logarithmic = far_apart(values)
    near = baseline is not None and _worth_showing(baseline, values, logarithmic)
    if baseline is not None and near:
        axes.axvline(baseline, color=GREY, linewidth=1.2, linestyle="--", zorder=0)
        name, above = words(str(comparison.baseline)), axes.get_xaxis_transform()
        axes.text(baseline, 1, name, fontsize=8, color="#666666", transform=above,
                  va="bottom", ha="center")  # fmt: skip
    mean = "geometric mean" if comparison.geometric else "mean"
    axes.set_title(f"test {comparison.metric.leaf}: {mean}", fontsize=10, loc="left",
                   pad=16 if near else 6)  # fmt: skip
    if comparison.units:
        axes.set_xlabel(comparison.units, fontsize=9)
    if logarithmic:
        use_log_scale(axes, "x", values)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    _name_rows(axes, rows)


def _draw_differences(axes: Axes, comparison: Comparison, styles: Mapping[str, Style]) -> None:
    rows = list(reversed(comparison.rows))
    if not any(map(_has_mean, rows)):
        axes.set_visible(False)
        return
    nothing = 1.0 if comparison.geometric else 0.0
    axes.axvline(nothing, color=BLACK, linewidth=1.2, zorder=1)
    ends: list[float] = []
    for place, row in enumerate(rows):
        found = row.difference
        if found is not None and found.mean is not None:
            _draw_interval(axes, place, found.low, found.mean, found.high, styles[row.group.label])
            ends += [end for end in (found.mean, found.low, found.high) if end is not None]
    if comparison.geometric and far_apart(ends):
        use_log_scale(axes, "x", ends)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    what = "ratio" if comparison.geometric else "difference"
    axes.set_title(f"{what} to {comparison.reference}, paired by seed", fontsize=10, loc="left")
    direction = comparison.metric.direction
    if direction:
        better = "right" if direction > 0 else "left"
        axes.set_xlabel(f"{better} of the line is better", fontsize=9)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelleft=False)
    axes.spines["left"].set_visible(False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [_judged(row) for row in rows], fontsize=8)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def _draw_interval(
    axes: Axes,
    place: float,
    low: float | None,
    mean: float,
    high: float | None,
    style: Style,
) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], color=style.colour, linewidth=2.2, alpha=0.75,
                  solid_capstyle="butt")  # fmt: skip
    axes.plot(mean, place, style.marker, color=style.colour, markersize=7,
              markeredgecolor="white", markeredgewidth=0.8, zorder=3)  # fmt: skip


def _name_rows(axes: Axes, rows: Sequence[Row]) -> None:
    labels = [textwrap.fill(row.group.label, _LABEL_WIDTH) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _judged(row: Row) -> str:
    if row.difference is None:
        return "reference"
    return f"{row.verdict}, p {_p(row)}" if row.p_holm is not None else row.verdict


def _p(row: Row) -> str:
    text = p_text(row.p_holm)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def _has_mean(row: Row) -> bool:
    return row.difference is not None and row.difference.mean is not None


def _baseline(comparison: Comparison) -> float | None:
    """The best baseline's value of the metric, where all runs have the same."""
    found = set()
    for group in comparison.groups:
        for record in group.runs.values():
            values = record.metrics.get("baselines", {}).get(comparison.baseline, {})
            found.add(values.get(comparison.metric.leaf))
    (value,) = found if len(found) == 1 else (None,)
    return value


def _worth_showing(baseline: float, values: Sequence[float], logarithmic: bool) -> bool:
    """Whether a line for the baseline leaves the groups room to differ in."""
    least, most = min(values), max(values)
    if logarithmic:
        return least / _FURTHEST <= baseline <= most * _FURTHEST
    spread = max(most - least, 0.02 * max(abs(most), abs(least)))
    return least - 3 * spread <= baseline <= most + 3 * spread
