"""Learning curves of compared groups, and the values of their baselines."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import pandas as pd

from attnlab.comparison.comparison import Comparison
from attnlab.comparison.metrics import part_of
from attnlab.tasks.declaration import Kind

_PARTS = {"train": "training", "val": "validation"}

# The history of each seed of a group.
Histories = Sequence[Mapping[str, list[float]]]


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


def by_epoch(curves: list[list[float]]) -> pd.DataFrame:
    """Make a table with a row per epoch and a column per seed, as long as half of the seeds last.

    Missing and infinite values are NaN: BLEU isn't scored in every epoch.
    """
    lengths = sorted(map(len, curves), reverse=True)
    table = pd.DataFrame({seed: pd.Series(curve, dtype=float) for seed, curve in enumerate(curves)})
    shown = table[: lengths[(len(curves) - 1) // 2] if curves else 0]
    return shown.replace([math.inf, -math.inf], math.nan)


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
