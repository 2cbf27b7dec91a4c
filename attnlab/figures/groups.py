"""Shares of right answers by group, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attnlab.figures.labels import drawable, label_font
from attnlab.figures.style import BLUE, GREY, new_figure, run_title, tidy
from attnlab.tasks.accuracy_tests import wilson_interval

_MOST_GROUPS = 40


def shares_figure(
    groups: Mapping[str, tuple[float, int]],
    whole: float,
    metrics: Mapping[str, Any],
    *,
    measure: str,
    items: str,
    result: str,
) -> Figure:
    """The share of right answers by group, with Wilson's 95 % interval, and that of all items.

    Of more than 40 groups the largest are shown.

    Args:
        groups: name -> share from 0 to 1, and of how many items.
        whole: the share of all.
        metrics: metrics.json.
        measure: what the share is called.
        items: what they are called, in the plural.
        result: a line below the title.
    """
    largest = sorted(groups, key=lambda name: -groups[name][1])[:_MOST_GROUPS]
    shown = {name: each for name, each in groups.items() if name in largest}
    title = f"{run_title(metrics)}: test {measure} by group"
    if len(shown) < len(groups):
        title += f", the largest {len(shown)} of {len(groups)}"
    figure = new_figure(7.5, 1.5 + 0.28 * max(len(shown), 3), title, result)
    axes = figure.add_subplot()
    places = np.arange(len(shown))
    values = np.array([share for share, _ in shown.values()])
    counts = [int(count) for _, count in shown.values()]
    ends = [
        wilson_interval(round(value * count), count)
        for value, count in zip(values, counts, strict=True)
    ]
    distances = np.abs(np.array(ends).T - values)
    axes.errorbar(values, places, xerr=distances, fmt="o", color=BLUE, markersize=5, elinewidth=1.2)
    label = f"all {items}: {whole:.3g}"
    axes.axvline(whole, color=GREY, linestyle="--", linewidth=1, zorder=0, label=label)
    names = [f"{drawable(name, 30)}  ({n})" for name, n in zip(shown, counts, strict=True)]
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
        text.set_fontproperties(label_font(9))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{measure}, 95 % interval (in brackets: {items})")
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)
    tidy(axes, grid="x")
    return figure
