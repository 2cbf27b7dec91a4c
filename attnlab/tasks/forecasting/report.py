"""Build the report of a forecast: errors, baselines, skill."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.data.corpus import listed
from attnlab.tasks.forecasting.data.intervals import put_around
from attnlab.tasks.forecasting.data.measures import Errors, Yardstick, errors, mean_errors
from attnlab.tasks.forecasting.data.scaling import resolution
from attnlab.tasks.forecasting.data.windows import Windows

# Rows of predictions.csv, about 200 bytes each. Overlapping windows add little information.
_MOST_ROWS = 200_000
_MANY_ZEROS = 0.01  # share of zero targets from which a note is added
_FEW = 8  # most series that a note lists
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
    yardsticks = {series: yardsticks[series] for series in rows}
    scores = {  # "": of the model
        name: {
            series: errors(target[at], values[at], yardsticks[series])
            for series, at in rows.items()
        }
        for name, values in {"": forecast, **baselines}.items()
    }
    means = {name: mean_errors(by_series, counts) for name, by_series in scores.items()}
    several = windows.ids is not None
    use_mase = several and all(own["mase"] is not None for own in means.values())
    metric = "mase" if use_mase else "rmse"
    metrics = means.pop("")
    best = min((name for name in means if name not in oracles), key=lambda n: means[n][metric])
    skills: dict[str, float | None] = {}
    for name, own in means.items():
        is_rounding = all(
            (scores[name][series]["rmse"] or 0.0) <= resolution(target[at])
            for series, at in rows.items()
        )
        skills[name] = None if is_rounding or not own[metric] else 1 - metrics[metric] / own[metric]

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
    if several:
        columns = {"id": np.broadcast_to(windows.ids[:, None], target.shape), **columns}
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
        notes = [*notes, _summary(metric, scores[""], best, scores[best])]
    every = -(-target.size // _MOST_ROWS)  # predictions.csv has one window in so many
    if every > 1:
        notes = [
            *notes,
            f"predictions.csv has one window in {every}; scores are of all {len(target):,} "
            "windows.",
        ]
    zeros = int(np.sum(target == 0))
    if zeros >= _MANY_ZEROS * target.size:
        notes = [
            *notes,
            f"{zeros} of {target.size} targets are 0: smape is 200 % there unless the forecast is "
            "0.",
        ]
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
    """List the scores of a few series, or summarize those of many, compared with a baseline."""
    known = {name: own[metric] for name, own in scores.items() if own[metric] is not None}
    better = sum(value < (others[name][metric] or 0.0) for name, value in known.items())
    than = f"better than {baseline} in {better} of {len(known)} series"
    if len(known) <= _FEW:
        pairs = (
            f"{name} {value:.3g} ({others[name][metric]:.3g})" for name, value in known.items()
        )
        return f"{metric} of each series ({baseline}): {', '.join(pairs)}; {than}."
    ranked = sorted(known, key=known.get)
    low, high = ranked[0], ranked[-1]
    return (
        f"{metric} by series: best {low} {known[low]:.3g}, median "
        f"{np.median([*known.values()]):.3g}, worst {high} {known[high]:.3g}; {than}. "
        "metrics.json has each under series."
    )


def _undefined(yardsticks: Mapping[str, Yardstick]) -> list[str]:
    """Return notes on errors that are undefined or leave series out, with the reason."""
    reasons = {
        "mse_z and mae_z": (
            [name for name, own in yardsticks.items() if own.deviation is None],
            "all values of the train part are equal",
        ),
        "mase": (
            [name for name, own in yardsticks.items() if own.naive_error is None],
            "before the test part the naive forecast (the value a season before, or the last one) "
            "has no error, or too few values",
        ),
    }
    notes = []
    for metric, (names, reason) in reasons.items():
        if names and len(yardsticks) == 1:
            verb = "are" if " and " in metric else "is"
            notes.append(f"{metric} {verb} undefined: {reason}.")
        elif names:
            notes.append(
                f"{len(names)} of {len(yardsticks)} series are left out of {metric}, since "
                f"{reason}: {listed(names, _FEW)}."
            )
    return notes
