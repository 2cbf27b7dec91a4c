"""Build the report of a forecast: errors, baselines, skill."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.forecasting.data.measures import LEVEL, errors, mean_errors
from attnlab.tasks.forecasting.data.scaling import resolution

# Rows of predictions.csv, about 200 bytes each. Overlapping windows add little information.
_MOST_ROWS = 200_000
_MODEL = ""  # its name among the baselines


def build_report(task: Any, forecast: np.ndarray, part: str, ends: np.ndarray | None) -> Report:
    """Compare a model's forecast of a task's part, (N, horizon) in model units, with the baselines.

    The reported metric is RMSE, or MASE for several series, because their levels differ. There is
    no skill against a baseline whose errors are only rounding: it knows the rule, and no network
    can be better. `ends` (2, K) is the prediction interval in model units; see `interval_ends`.
    """
    windows, yardsticks, oracles = task.splits.parts[part], task.yardsticks(), task.oracles
    forecast = task.report_units(np.asarray(forecast, dtype=np.float64), windows)
    baselines, notes = task.baselines(part), [*task.notes(part)]
    target, rows = windows.exact, windows.by_series()
    counts = {series: len(target[at]) for series, at in rows.items()}
    scores = {
        name: {
            series: errors(target[at], values[at], yardsticks[series])
            for series, at in rows.items()
        }
        for name, values in {_MODEL: forecast, **baselines}.items()
    }
    means = {name: mean_errors(by_series, counts) for name, by_series in scores.items()}
    use_mase = windows.ids is not None and all(
        score["mase"] is not None for score in means.values()
    )
    metric = "mase" if use_mase else "rmse"
    metrics = means.pop(_MODEL)
    best = min((name for name in means if name not in oracles), key=lambda n: means[n][metric])
    skills: dict[str, float | None] = {}
    for name, score in means.items():
        is_rounding = all(
            (scores[name][series]["rmse"] or 0.0) <= resolution(target[at])
            for series, at in rows.items()
        )
        has_skill = score[metric] and not is_rounding
        skills[name] = 1 - metrics[metric] / score[metric] if has_skill else None

    steps = np.broadcast_to(np.arange(target.shape[1]), target.shape)
    band: dict[str, np.ndarray] = {}
    details: dict[str, Any] = {}
    if ends is not None:
        scale = task.report_scaler(windows).scale
        low, high = (forecast + end[: target.shape[1]] * scale for end in ends)
        band, inside = {"low": low, "high": high}, (low <= target) & (target <= high)
        coverage = {"coverage": inside.mean(), "coverage_by_step": inside.mean(axis=0).tolist()}
        by_step = {"low": ends[0].tolist(), "high": ends[1].tolist()}
        details["interval"] = {"level": LEVEL, **coverage, **by_step}
    columns = {
        "index": windows.index[:, None] + steps,
        "time": windows.times,
        "step": steps + 1,
        "target": target,
        "prediction": forecast,
        **band,
        **baselines,
    }
    if windows.ids is not None:
        columns = {"id": np.broadcast_to(windows.ids[:, None], target.shape), **columns}
        details["series"] = {
            series: {
                "windows": count,
                **scores[_MODEL][series],
                "naive_error": yardsticks[series].naive_error,
                "deviation": yardsticks[series].deviation,
            }
            for series, count in counts.items()
        }
    every = -(-target.size // _MOST_ROWS)  # predictions.csv has one window in so many
    if every > 1:
        notes.append(
            f"predictions.csv has one window in {every}; scores are of all {len(target):,} windows."
        )
    undefined = [
        name for name in metrics if any(row[name] is None for row in scores[_MODEL].values())
    ]
    if undefined:
        notes.append(
            f"Undefined: {', '.join(undefined)}, since what divides the errors of a series is 0 or "
            "needs more values."
        )
    return Report(
        metrics=metrics,
        baselines=means,
        best_baseline=best,
        skill=skills[best],
        notes=notes,
        predictions={name: column[::every].reshape(-1) for name, column in columns.items()},
        units=task.units,
        metric=metric,
        oracles=oracles,
        skills=skills,
        details=details,
    )
