"""Build the report of a forecast: errors, baselines, skill."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.data.corpus import listed
from attnlab.tasks.forecasting.data.measures import (
    Errors,
    Yardstick,
    errors,
    mean_errors,
    put_around,
)
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.data.windows import Windows

# Rows of predictions.csv, about 200 bytes each. Overlapping windows add little information.
_MOST_ROWS = 200_000
_MANY_ZEROS = 0.01  # share of zero targets from which a note is added
_BASELINE_ERRORS = ("rmse", "mase", "smape")  # errors of baselines that metrics.json has per series


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

    The reported metric is RMSE, or MASE for several series, because their levels differ. There is
    no skill against a baseline whose errors are only rounding: it knows the rule, and no network
    can be better.

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
    target, rows = windows.exact, windows.by_series()
    counts = {series: len(target[at]) for series, at in rows.items()}
    notes = [*notes]
    yardsticks = {series: yardsticks[series] for series in rows}
    scores = {  # "": of the model
        name: {
            series: errors(target[at], values[at], yardsticks[series])
            for series, at in rows.items()
        }
        for name, values in {"": forecast, **baselines}.items()
    }
    means = {name: mean_errors(by_series, counts) for name, by_series in scores.items()}
    ids = windows.ids
    use_mase = ids is not None and all(score["mase"] is not None for score in means.values())
    metric = "mase" if use_mase else "rmse"
    metrics = means.pop("")
    best = min((name for name in means if name not in oracles), key=lambda n: means[n][metric])
    skills: dict[str, float | None] = {}
    for name, score in means.items():
        is_rounding = all(
            (scores[name][series]["rmse"] or 0.0) <= resolution(target[at])
            for series, at in rows.items()
        )
        skills[name] = (
            None if is_rounding or not score[metric] else 1 - metrics[metric] / score[metric]
        )

    steps = np.broadcast_to(np.arange(target.shape[1]), target.shape)
    band, details = ({}, {}) if ends is None else put_around(forecast, ends, target, scale)
    columns = {
        "index": windows.index[:, None] + steps,
        "time": windows.times,
        "step": steps + 1,
        "target": target,
        "prediction": forecast,
        **band,
        **baselines,
    }
    if ids is not None:
        columns = {"id": np.broadcast_to(ids[:, None], target.shape), **columns}
        details |= {
            "series": {
                series: {
                    "windows": counts[series],
                    **scores[""][series],
                    "naive_error": yardsticks[series].naive_error,
                    "deviation": yardsticks[series].deviation,
                    "baselines": {
                        name: {key: scores[name][series][key] for key in _BASELINE_ERRORS}
                        for name in means
                    },
                }
                for series in rows
            }
        }
        notes.append(_summary(metric, scores[""], best, scores[best]))
    every = -(-target.size // _MOST_ROWS)  # predictions.csv has one window in so many
    if every > 1:
        notes.append(
            f"predictions.csv has one window in {every}; scores are of all {len(target):,} windows."
        )
    zeros = int(np.sum(target == 0))
    if zeros >= _MANY_ZEROS * target.size:
        notes.append(
            f"{zeros} of {target.size} targets are 0: smape is 200 % there unless the forecast is "
            "0."
        )
    return Report(
        metrics=metrics,
        baselines=means,
        best_baseline=best,
        skill=skills[best],
        notes=[*notes, *_undefined(yardsticks)],
        predictions={name: column[::every].reshape(-1) for name, column in columns.items()},
        units=units,
        metric=metric,
        oracles=oracles,
        skills=skills,
        details=details,
    )


def _summary(
    metric: str, scores: Mapping[str, Errors], baseline: str, others: Mapping[str, Errors]
) -> str:
    """Summarize the scores of several series, compared with those of a baseline."""
    values = {
        name: errors_of[metric]
        for name, errors_of in scores.items()
        if errors_of[metric] is not None
    }
    better = sum(error < (others[name][metric] or 0.0) for name, error in values.items())
    ranked = sorted(values, key=values.__getitem__)
    return (
        f"{metric} by series: best {values[ranked[0]]:.3g} ({ranked[0]}), median "
        f"{np.median([*values.values()]):.3g}, worst {values[ranked[-1]]:.3g} ({ranked[-1]}); "
        f"better than {baseline} in {better} of {len(values)} series. metrics.json has each under "
        "series."
    )


def _undefined(yardsticks: Mapping[str, Yardstick]) -> list[str]:
    """Return notes on errors that are undefined, with the reason."""
    notes = []
    for metrics, key, reason in (
        ("mse_z and mae_z", "deviation", "all values of the train part are equal"),
        (
            "mase",
            "naive_error",
            "before the test part the naive forecast has no error, or too few values",
        ),
    ):
        names = [name for name, yardstick in yardsticks.items() if getattr(yardstick, key) is None]
        if names:
            where = f" for {len(names)} series ({listed(names)})" if len(yardsticks) > 1 else ""
            notes.append(f"Undefined{where}: {metrics}, since {reason}.")
    return notes
