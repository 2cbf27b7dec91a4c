"""From forecasts to a report: errors, baselines, skill."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.forecasting.data.intervals import put_around
from attnlab.tasks.forecasting.data.measures import Yardstick, errors
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.data.windows import Windows

# Of predictions.csv, some 200 bytes each. Windows that overlap say little that is new.
_MOST_ROWS = 200_000
_MANY_ZEROS = 0.01  # share of the targets that is worth a note


def skill(rmse: float, baseline_rmse: float, target: np.ndarray) -> float | None:
    """1 - rmse / baseline_rmse; None if the baseline's error is only rounding, see `resolution`.

    A baseline with so small an error knows the rule, and no network can do better.
    """
    return 1.0 - rmse / baseline_rmse if baseline_rmse > resolution(target) else None


def build_report(
    windows: Windows,
    forecast: np.ndarray,
    baselines: Mapping[str, np.ndarray],
    *,
    oracles: tuple[str, ...],
    units: str,
    yardstick: Yardstick,
    notes: list[str],
    ends: np.ndarray | None = None,
) -> Report:
    """Put the forecast of some windows beside its baselines, all (N, horizon) in `units`.

    `oracles` are baselines that don't count for the skill; `yardstick` is what `errors` are held
    against; `ends` as of `interval_ends`.
    """
    target = windows.exact
    metrics = errors(target, forecast, yardstick)
    scores = {name: errors(target, values, yardstick) for name, values in baselines.items()}
    skills = {name: skill(metrics["rmse"], score["rmse"], target) for name, score in scores.items()}
    best = min((name for name in scores if name not in oracles), key=lambda n: scores[n]["rmse"])
    steps = np.broadcast_to(np.arange(target.shape[1]), target.shape)
    index = windows.index[:, None] + steps
    columns = {"index": index, "time": windows.times, "step": steps + 1}
    band, details = ({}, {}) if ends is None else put_around(forecast, ends, target)
    columns |= {"target": target, "prediction": forecast, **band, **baselines}
    return Report(
        metrics=metrics,
        baselines=scores,
        best_baseline=best,
        skill=skills[best],
        notes=[*notes, *yardstick.notes(), *_about_zeros(target), *_about_thinning(target)],
        predictions={
            name: column[:: _apart(target)].reshape(-1) for name, column in columns.items()
        },
        units=units,
        metric="rmse",
        oracles=oracles,
        skills=skills,
        details=details,
    )


def _apart(target: np.ndarray) -> int:
    """Every how many windows predictions.csv has one, so that it doesn't get too long."""
    return -(-target.size // _MOST_ROWS)


def _about_thinning(target: np.ndarray) -> list[str]:
    apart = _apart(target)
    if apart == 1:
        return []
    return [
        f"predictions.csv has a window in {apart}; scores are of all {len(target):,} test windows."
    ]


def _about_zeros(target: np.ndarray) -> list[str]:
    """Where sMAPE says little."""
    zeros = int(np.sum(target == 0))
    if zeros < _MANY_ZEROS * target.size:
        return []
    return [
        f"{zeros} of the {target.size} targets are 0, where smape is 200 % for any forecast but 0."
    ]


def along_time(index: np.ndarray, times: np.ndarray) -> bool:
    """Whether rows follow each other in time: they have labels, or they go on after a history.

    Windows drawn at random are numbered from 0 or out of order; a series' test part is neither.
    """
    ordered = bool(np.all(np.diff(index) > 0)) and len(index) > 1
    labelled = any(str(number) != label for number, label in zip(index, times, strict=True))
    return ordered and (labelled or bool(index[0] > 0 and np.all(np.diff(index) == 1)))


def window_labels(index: np.ndarray, predictions: Mapping[str, np.ndarray]) -> list[str]:
    """A label for each window whose first target is at `index`: its time, where it has one."""
    known = dict(zip(predictions["index"], predictions["time"], strict=True))
    times = {number: str(known.get(number, number)) for number in index}
    return [f"index {at}" if times[at] == str(at) else times[at] for at in index]
