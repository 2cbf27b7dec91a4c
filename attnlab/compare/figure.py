"""A comparison as a figure: how groups learned, how good they are, how they differ."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attnlab.compare.comparison import Comparison, Comparisons, GroupResult
from attnlab.compare.curves import Histories, by_epoch, curve_columns, curve_title
from attnlab.compare.tables import heading, margin_ends
from attnlab.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    new_figure,
    tidy,
    use_log_scale,
    without_formulas,
)
from attnlab.tasks.kinds import known_kind
from attnlab.terminal.numbers import p_text

# Okabe and Ito (2008) without their yellow, which white paper swallows. Markers and dashes tell
# groups apart where colours come round again, and in grey.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", BLACK, "#56B4E9", "#E69F00")
_DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# From how many times the smallest value an axis is logarithmic.
_LOGARITHMIC = 10.0
_FURTHEST = 10.0  # times, from which a baseline on a logarithmic axis is left out
_MOST_TICKS = 6
_LABEL_WIDTH = 22
# Inches.
_WIDTH, _CURVES_HEIGHT, _ROW_HEIGHT, _ROOM, _LEGEND_LINE = 10.5, 2.9, 0.36, 1.15, 0.24
_LEGEND_COLUMNS, _LEGEND_WIDTH = 4, 29  # names as wide leave room for one column less
_WARNING_LINE, _WARNING_WIDTH = 0.14, 160  # inches, characters


class Style(NamedTuple):
    """How a group is drawn, in every panel."""

    colour: str
    dashes: Literal["-", "--", ":", "-."]
    marker: str


def comparison_figure(found: Comparisons) -> Figure:
    """Four panels for each task.

    Above, curves over the epochs: the mean over seeds inside a band from the lowest to the highest
    seed, as far as half of the seeds were trained. Below, each group's mean with its 95 % interval
    and a dot for each seed, and the paired differences to the reference with theirs.
    """
    tasks = found.tasks
    heights = [_height(comparison) for comparison in tasks]
    title = heading(tasks[0]) if len(tasks) == 1 else f"Compared by {', '.join(tasks[0].by)}"
    sequential = ", sequential: hold at every look" if tasks[0].sequential else ""
    subtitle = (
        "curves: mean over seeds, band from the lowest to the highest; "
        f"dots: one seed each; bars: 95 % intervals{sequential}"
    )
    figure = new_figure(_WIDTH, sum(heights) + 0.6, title, subtitle)
    parts = figure.subfigures(len(tasks), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, comparison in zip(parts, tasks, strict=True):
        _draw_task(part, comparison, heading(comparison) if len(tasks) > 1 else "")
    return without_formulas(figure)


def _height(comparison: Comparison) -> float:
    columns = _legend_columns(group.name for group in comparison.groups)
    legend = math.ceil(len(comparison.results) / columns) * _LEGEND_LINE
    return _CURVES_HEIGHT + _forest_height(comparison) + legend


def _forest_height(comparison: Comparison) -> float:
    warnings = _warnings(comparison).count("\n") + 1 if comparison.warnings else 0
    return _ROOM + max(len(comparison.results), 3) * _ROW_HEIGHT + warnings * _WARNING_LINE


def _warnings(comparison: Comparison) -> str:
    """What makes the comparison doubtful, in lines as wide as the figure."""
    texts = (textwrap.fill(f"warning: {text}", _WARNING_WIDTH) for text in comparison.warnings)
    return "\n".join(texts)


def _draw_task(part: SubFigure, comparison: Comparison, title: str) -> None:
    styles = _styles(comparison)
    forest = _forest_height(comparison)
    heights = [_height(comparison) - forest, forest]
    above, below = part.subfigures(2, 1, height_ratios=heights, squeeze=False)[:, 0]
    kind = known_kind(comparison.task)
    histories = {
        group.name: [run.history() for run in group.runs.values()] for group in comparison.groups
    }
    columns = curve_columns(histories, comparison.metric.leaf, kind)
    for axes, column in zip(above.subplots(1, 2), [*columns, None, None], strict=False):
        if column is None:
            axes.set_visible(False)
        else:
            _draw_curves(axes, column, histories, styles)
            if kind and not kind.scoring.is_lower_better(column):
                axes.set_yscale("linear")  # a score from 0 to 100
            axes.set_title(curve_title(column, kind), fontsize=10, loc="left")
    _draw_legend(above, styles, title)
    left, right = below.subplots(1, 2, sharey=True)
    _draw_means(left, comparison, styles)
    _draw_differences(right, comparison, styles)
    below.supxlabel(_warnings(comparison), x=0.012, ha="left", fontsize=8, color=ORANGE)


def _styles(comparison: Comparison) -> dict[str, Style]:
    """A style for each group, by the order of names, so that it is the same for every metric."""
    labels = sorted(group.name for group in comparison.groups)
    return {
        label: Style(
            _COLOURS[number % len(_COLOURS)],
            _DASHES[number // len(_COLOURS) % len(_DASHES)],
            _MARKERS[number % len(_MARKERS)],
        )
        for number, label in enumerate(labels)
    }


def _legend_columns(names: Iterable[str]) -> int:
    return _LEGEND_COLUMNS - (max(map(len, names)) >= _LEGEND_WIDTH)


def _draw_legend(part: SubFigure, styles: Mapping[str, Style], title: str) -> None:
    handles = [
        Line2D([], [], color=style.colour, linestyle=style.dashes, marker=style.marker,
               markersize=5, linewidth=1.8, label=label)
        for label, style in styles.items()
    ]  # fmt: skip
    part.legend(
        handles=handles,
        title=title or None,
        title_fontproperties={"weight": "bold", "size": 10},
        alignment="left",
        loc="outside upper left",
        ncols=_legend_columns(styles),
        frameon=False,
        fontsize=9,
        handlelength=2.6,
    )


def _draw_curves(
    axes: Axes, column: str, histories: Mapping[str, Histories], styles: Mapping[str, Style]
) -> None:
    """Draw a column of the histories: each group's mean inside a band over its seeds."""
    seen: list[float] = []
    for label, seeds in histories.items():
        style = styles[label]
        table = by_epoch([history[column] for history in seeds if column in history])
        known = ~np.isnan(table).all(axis=1) if table.size else np.zeros(0, bool)
        if not known.any():
            continue
        epochs, table = np.flatnonzero(known) + 1, table[known]
        low, high = np.nanmin(table, axis=1), np.nanmax(table, axis=1)
        axes.fill_between(epochs, low, high, color=style.colour, alpha=0.13, linewidth=0)
        axes.plot(
            epochs,
            np.nanmean(table, axis=1),
            color=style.colour,
            linestyle=style.dashes,
            linewidth=1.6,
            marker=style.marker if len(table) == 1 else "",
        )
        seen += [*low, *high]
    axes.set_xlabel("epoch", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.margins(x=0.01)
    if _far_apart(seen):
        use_log_scale(axes, seen)
    tidy(axes)


def _draw_means(axes: Axes, comparison: Comparison, styles: Mapping[str, Style]) -> None:
    results = list(reversed(comparison.results))
    for place, result in enumerate(results):
        style = styles[result.group.name]
        seeds = list(result.group.values.values())
        axes.plot(seeds, [place - 0.24] * len(seeds), "o", color=style.colour, alpha=0.45,
                  markersize=3.5, markeredgewidth=0)  # fmt: skip
        _, mean, low, high = result.interval
        _draw_interval(axes, place, low, mean, high, style)
    values = [value for result in results for value in result.group.values.values()]
    is_named = _draw_baseline(axes, comparison, values)
    mean_name = "geometric mean" if comparison.geometric else "mean"
    part = "test " if comparison.metric.is_test else ""
    axes.set_title(f"{part}{comparison.metric.path}: {mean_name}", fontsize=10, loc="left",
                   pad=16 if is_named else 6)  # fmt: skip
    if comparison.units:
        axes.set_xlabel(comparison.units, fontsize=9)
    if _far_apart(values) and comparison.metric.direction < 1:
        use_log_scale(axes, values, "x")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    labels = [textwrap.fill(result.group.name, _LABEL_WIDTH) for result in results]
    axes.set_yticks(range(len(results)), labels)
    axes.set_ylim(-0.6, len(results) - 0.4)
    _tidy_forest(axes)


def _draw_baseline(axes: Axes, comparison: Comparison, values: Sequence[float]) -> bool:
    """A named line for the best baseline, where it leaves groups room to differ in; whether so."""
    baseline = _baseline(comparison)
    if baseline is None or not _is_near(baseline, values):
        return False
    axes.axvline(baseline, color=GREY, linewidth=1.2, linestyle="--", zorder=0)
    name, above = str(comparison.baseline), axes.get_xaxis_transform()
    axes.text(baseline, 1, name, fontsize=8, color="#666666", transform=above,
              va="bottom", ha="center")  # fmt: skip
    return True


def _baseline(comparison: Comparison) -> float | None:
    """The best baseline's value of the metric, where all runs have the same."""
    found = {
        record.metrics.get("baselines", {}).get(comparison.baseline, {}).get(comparison.metric.leaf)
        for group in comparison.groups
        for record in group.runs.values()
    }
    return found.pop() if len(found) == 1 else None


def _is_near(baseline: float, values: Sequence[float]) -> bool:
    least, most = min(values), max(values)
    if _far_apart(values):
        return least / _FURTHEST <= baseline <= most * _FURTHEST
    spread = max(most - least, 0.02 * max(abs(most), abs(least)))
    return least - 3 * spread <= baseline <= most + 3 * spread


def _draw_differences(axes: Axes, comparison: Comparison, styles: Mapping[str, Style]) -> None:
    results = list(reversed(comparison.results))
    ends: list[float] = []
    for place, result in enumerate(results):
        found = result.difference
        if found is not None and found.mean is not None:
            style = styles[result.group.name]
            _draw_interval(axes, place, found.low, found.mean, found.high, style)
            ends += [end for end in found[1:4] if end is not None]
    if not ends:
        axes.set_visible(False)
        return
    axes.axvline(1.0 if comparison.geometric else 0.0, color=BLACK, linewidth=1.2, zorder=1)
    if comparison.geometric and _far_apart(ends):
        use_log_scale(axes, ends, "x")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    if comparison.margin:
        axes.axvspan(*margin_ends(comparison), color=GREY, alpha=0.2, linewidth=0, zorder=0)
    what = "ratio" if comparison.geometric else "difference"
    sequential = ", sequential" if comparison.sequential else ""
    axes.set_title(
        f"{what} to {comparison.reference_name}, paired by seed{sequential}",
        fontsize=10,
        loc="left",
    )
    if comparison.metric.direction:
        better = "right" if comparison.metric.direction > 0 else "left"
        grey = "; grey: equivalent" if comparison.margin else ""
        axes.set_xlabel(f"{better} of the line is better{grey}", fontsize=9)
    _tidy_forest(axes)
    axes.tick_params(axis="y", labelleft=False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(results)), [_judged(result) for result in results], fontsize=8)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def _draw_interval(
    axes: Axes, place: float, low: float | None, mean: float, high: float | None, style: Style
) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], color=style.colour, linewidth=2.2, alpha=0.75,
                  solid_capstyle="butt")  # fmt: skip
    axes.plot(mean, place, style.marker, color=style.colour, markersize=7,
              markeredgecolor="white", markeredgewidth=0.8, zorder=3)  # fmt: skip


def _tidy_forest(axes: Axes) -> None:
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _judged(result: GroupResult) -> str:
    if result.difference is None:
        return "reference"
    p = p_text(result.p_corrected)
    sign = f"< {p[1:]}" if p.startswith("<") else f"= {p}"
    return f"{result.verdict}, p {sign}" if result.p_corrected is not None else result.verdict


def _far_apart(values: Iterable[float]) -> bool:
    """Whether values are above 0 and span more than a decade."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > _LOGARITHMIC * min(known)
