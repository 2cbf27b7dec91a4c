"""Baselines of series: repeated values, and linear maps that are fitted on all series."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnlab.tasks.forecasting.data import baselines, windows
from attnlab.tasks.forecasting.data.divided import Divided

Found = tuple[dict[str, np.ndarray], list[str]]  # forecasts (N, horizon) by name; notes


def repeated(series: Sequence[Divided], part: str, horizon: int, period: int | None) -> Found:
    """Forecast each series by its last value, its season, and its mean, in natural units."""

    def each(forecast: Callable[[Divided, np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([forecast(own, own.first[part]) for own in series])

    def last(own: Divided, first: np.ndarray) -> np.ndarray:
        return baselines.persistence(windows.histories(own.values, first, 1), horizon)

    def season(own: Divided, first: np.ndarray) -> np.ndarray:
        past = windows.histories(own.values, first, period or 1)
        return baselines.seasonal_naive(past, period or 1, horizon)

    def mean(own: Divided, first: np.ndarray) -> np.ndarray:
        scaler, known = own.scalers[0], own.values[: own.train_end]
        value = scaler.invert(np.mean(scaler.apply(known)))  # avoids rounding of large values
        return baselines.constant(float(value), len(first), horizon)

    found, notes = {"persistence": each(last)}, []
    if period and period <= shortest_past(series, part):
        found["seasonal_naive"] = each(season)
    elif period:
        notes.append(left_out("seasonal_naive", period, part))
    return found | {"train_mean": each(mean)}, notes


def linear_maps(
    series: Sequence[Divided],
    part: str,
    history: int,
    horizon: int,
    fit_targets: Callable[[Divided, int], np.ndarray],
) -> Found:
    """Forecast with linear autoregressions and NLinear, fitted on all series, in model units.

    Args:
        series: the series to forecast.
        part: the part whose windows are forecast.
        history: number of values that NLinear reads.
        horizon: steps to forecast.
        fit_targets: returns the positions of the first train targets of a series, given the number
            of values that are needed before each.
    """
    found, notes = {}, []
    tested = [own.first[part] for own in series]
    held_out = None
    if "validation" in series[0].first:
        validated = [own.first["validation"] for own in series]
        held_out = _known(series, validated, history), _wanted(series, validated, horizon)
    orders = {f"linear_ar{order}": order for order in baselines.ORDERS} | {"nlinear": history}
    for name, order in orders.items():
        fitted = [own.unfilled(fit_targets(own, order), horizon) for own in series]
        spare = 0 if name == "nlinear" else 1  # its intercept
        if order > shortest_past(series, part) or sum(map(len, fitted)) <= order + spare:
            notes.append(left_out(name, order, part))
            continue
        train = _known(series, fitted, order), _wanted(series, fitted, horizon)
        past = _known(series, tested, order)
        if name == "nlinear":
            found[name] = baselines.nlinear(*train, past, held_out)
        else:
            found[name] = baselines.autoregression(*train, past)
    return found, notes


def shortest_past(series: Sequence[Divided], part: str) -> int:
    """Return the number of values before the earliest target of a part."""
    return min(int(own.first[part].min()) for own in series)


def left_out(baseline: str, needed: int, part: str) -> str:
    """Return the note on a missing baseline."""
    return (
        f"The baseline {baseline} is left out: it needs {needed} values before every target of "
        f"the {part} part, and enough train targets to be fitted on."
    )


def _known(series: Sequence[Divided], first: Sequence[np.ndarray], length: int) -> np.ndarray:
    """Return the values before first targets of each series, (N, length)."""
    pairs = zip(series, first, strict=True)
    return _joined([windows.histories(own.scaled, at, length) for own, at in pairs])


def _wanted(series: Sequence[Divided], first: Sequence[np.ndarray], horizon: int) -> np.ndarray:
    """Return the targets at some positions of each series, (N, horizon)."""
    pairs = zip(series, first, strict=True)
    return _joined([windows.targets(own.scaled, at, horizon) for own, at in pairs])


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; a single one is not copied, since it may be a view."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
