"""How groups of runs learned: curves over the epochs, with bands over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attnlab.compare.looks import Style, far_apart, use_log_scale
from attnlab.compare.results import Comparison, Group
from attnlab.errors import RequestError
from attnlab.figures.style import tidy

_CURVES = {
    "train_loss": "training loss",
    "val_loss": "validation loss",
    "val_bleu": "validation BLEU",
    "val_chrf": "validation chrF",
}


def histories_of(group: Group) -> list[Mapping[str, list[float]]]:
    """history.csv of each seed; a run whose file is damaged has no curve."""
    found: list[Mapping[str, list[float]]] = []
    for record in group.runs.values():
        try:
            found.append(record.run.history.read())
        except RequestError:
            continue
    return found


def curve_columns(
    histories: Mapping[str, Sequence[Mapping[str, list[float]]]], comparison: Comparison
) -> list[str]:
    """Two columns of the histories: the loss, and what comes closest to the metric."""
    known = {column for seeds in histories.values() for history in seeds for column in history}
    wanted = [f"val_{comparison.metric.leaf}", "val_bleu", "val_loss", "train_loss"]
    chosen = [column for column in dict.fromkeys(wanted) if column in known][:2]
    return sorted(chosen, key=lambda column: ("loss" not in column, column))


def draw_curves(
    axes: Axes,
    column: str,
    histories: Mapping[str, Sequence[Mapping[str, list[float]]]],
    styles: Mapping[str, Style],
) -> None:
    """Draw a column of the histories: each group's mean inside a band over its seeds.

    Args:
        axes: Where.
        column: Of history.csv.
        histories: Group to the history of each seed.
        styles: Group to how it looks.
    """
    seen: list[float] = []
    for label, seeds in histories.items():
        style = styles[label]
        table = _by_epoch([history[column] for history in seeds if column in history])
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
    axes.set_title(_CURVES.get(column, column.replace("_", " ")), fontsize=10, loc="left")
    axes.set_xlabel("epoch", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.margins(x=0.01)
    if far_apart(seen):
        use_log_scale(axes, "y", seen)
    tidy(axes)


def _by_epoch(curves: list[list[float]]) -> np.ndarray:
    """(epochs, seeds) as far as half of the seeds go; NaN where nothing is known."""
    if not curves:
        return np.empty((0, 0))
    lengths = sorted((len(curve) for curve in curves), reverse=True)
    epochs = lengths[(len(curves) - 1) // 2]
    table = np.full((epochs, len(curves)), np.nan)
    for number, curve in enumerate(curves):
        table[: len(curve), number] = curve[:epochs]
    table[~np.isfinite(table)] = np.nan  # BLEU isn't scored in every epoch
    return table
