"""Build the report of a forecast: errors, baselines, skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.forecasting.by_series import SeriesScores
from attnlab.tasks.forecasting.data.intervals import put_around
from attnlab.tasks.forecasting.data.measures import Yardstick
from attnlab.tasks.forecasting.data.windows import Windows

# Rows of predictions.csv, about 200 bytes each. Overlapping windows add little information.
_MOST_ROWS = 200_000
_MANY_ZEROS = 0.01  # share of zero targets from which a note is added


def skill(error: float, baseline: float, *, is_rounding: bool = False) -> float | None:
    """Return 1 - error / baseline's error; None if the baseline's error is only rounding.

    A baseline with such a small error knows the rule, and no network can be better.
    """
    return None if is_rounding or not baseline else 1.0 - error / baseline


def build_report(
    windows: Windows,
    forecast: np.ndarray,
    baselines: Mapping[str, np.ndarray],
    *,
    oracles: tuple[str, ...],
    units: str,
    yardsticks: Mapping[str, Yardstick],
    notes: list[str],
    ends: np.ndarray | None = None,
    scale: np.ndarray | float = 1.0,
) -> Report:
    """Compare a forecast with the baselines; all forecasts are (N, horizon) in `units`.

    The reported metric is RMSE, or MASE for several series, because their levels differ.

    Args:
        windows: the windows that were forecast.
        forecast: of the model.
        baselines: name -> forecast.
        oracles: baselines that the skill ignores.
        units: units of the forecasts.
        yardsticks: id of a series -> the statistics that normalize its errors.
        notes: caveats.
        ends: (2, K) in model units; see `interval_ends`.
        scale: (N, 1) size of a model unit in `units`.
    """
    target = windows.exact
    scores = SeriesScores(windows, yardsticks)
    metrics, others = scores.add("", forecast), {}
    for name, values in baselines.items():
        others[name] = scores.add(name, values)
    metric = _deciding(windows, [metrics, *others.values()])
    skills = {
        name: skill(metrics[metric], score[metric], is_rounding=scores.are_rounding(name))
        for name, score in others.items()
    }
    best = min((name for name in others if name not in oracles), key=lambda n: others[n][metric])
    steps = np.broadcast_to(np.arange(target.shape[1]), target.shape)
    index = windows.index[:, None] + steps
    columns = {"index": index, "time": windows.times, "step": steps + 1}
    band, details = ({}, {}) if ends is None else put_around(forecast, ends, target, scale)
    columns |= {"target": target, "prediction": forecast, **band, **baselines}
    if windows.ids is not None:
        columns = {"id": np.broadcast_to(windows.ids[:, None], target.shape), **columns}
        details |= {"series": scores.table()}
        notes = [*notes, scores.summary(metric, best)]
    return Report(
        metrics=metrics,
        baselines=others,
        best_baseline=best,
        skill=skills[best],
        notes=[*notes, *scores.undefined(), *_about_zeros(target), *_about_thinning(target)],
        predictions={
            name: column[:: _apart(target)].reshape(-1) for name, column in columns.items()
        },
        units=units,
        metric=metric,
        oracles=oracles,
        skills=skills,
        details=details,
    )


def _deciding(windows: Windows, scores: Sequence[Mapping[str, float | None]]) -> str:
    several = windows.ids is not None
    return "mase" if several and all(own["mase"] is not None for own in scores) else "rmse"


def _apart(target: np.ndarray) -> int:
    """Return n such that predictions.csv has every n-th window and stays short."""
    return -(-target.size // _MOST_ROWS)


def _about_thinning(target: np.ndarray) -> list[str]:
    apart = _apart(target)
    if apart == 1:
        return []
    return [
        f"predictions.csv has one window in {apart}; scores are of all {len(target):,} windows."
    ]


def _about_zeros(target: np.ndarray) -> list[str]:
    """Return a note if sMAPE says little because many targets are 0."""
    zeros = int(np.sum(target == 0))
    if zeros < _MANY_ZEROS * target.size:
        return []
    return [
        f"{zeros} of {target.size} targets are 0: smape is 200 % there unless the forecast is 0."
    ]


def along_time(index: np.ndarray, times: np.ndarray) -> bool:
    """Return whether rows are consecutive in time: they have times, or follow a history.

    Random windows are numbered from 0 or unordered; the test part of a series is neither.
    """
    ordered = bool(np.all(np.diff(index) > 0)) and len(index) > 1
    labelled = any(str(number) != label for number, label in zip(index, times, strict=True))
    return ordered and (labelled or bool(index[0] > 0 and np.all(np.diff(index) == 1)))


def window_labels(
    index: np.ndarray, predictions: Mapping[str, np.ndarray], ids: np.ndarray | None = None
) -> list[str]:
    """Return a label per window, whose first target is at `index`: its time if it has one.

    If there are several series, the label starts with the id of the series.
    """
    if ids is None:
        known = dict(zip(predictions["index"], predictions["time"], strict=True))
        times = {number: str(known.get(number, number)) for number in index}
        return [f"index {at}" if times[at] == str(at) else times[at] for at in index]
    columns = (predictions[name] for name in ("id", "index", "time"))
    labels = {(name, at): f"{name} {time}" for name, at, time in zip(*columns, strict=True)}
    keys = [*zip(ids, index, strict=True)]
    return [labels.get(key, f"{key[0]} index {key[1]}") for key in keys]


def first_steps(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the rows of predictions.csv with step 1; all rows if there is only one window."""
    first = columns["step"] == 1
    if first.sum() == 1:
        first[:] = True
    return {name: column[first] for name, column in columns.items()}


def rows_of(columns: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the rows of predictions.csv of one series."""
    own = columns["id"] == name
    return {key: column[own] for key, column in columns.items()}


def spread_series(metrics: Mapping[str, Any], most: int) -> list[str]:
    """Return ids of a few series, evenly spread from the best forecast to the worst."""
    metric = str(metrics["metric"])
    scores = {name: own[metric] for name, own in metrics["series"].items()}
    ranked = sorted((name for name, own in scores.items() if own is not None), key=scores.get)
    ranked = ranked or [*scores]
    places = np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(int)
    return [ranked[place] for place in places]
