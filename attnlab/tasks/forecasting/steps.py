"""The steps of a series in time: found from its times, counted on, written in ISO 8601."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# pandas' name of a step -> steps per season; a year has about 52 weeks.
_SEASONS = {"D": 7, "B": 5, "W": 52} | dict.fromkeys(["MS", "ME", "BMS", "BME"], 12)
_QUARTERS = ("QS", "QE", "BQS", "BQE")


def find_step(times: pd.DatetimeIndex) -> str | None:
    """Return the step between three or more sorted times, as pandas names it; None: they differ."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from pandas 3.1 on: pandas 4 will return an offset
        step = pd.infer_freq(times)
    if step is None or not pd.date_range(times[0], periods=len(times), freq=step, unit="us").equals(
        times
    ):
        return None
    return getattr(step, "freqstr", step)


def season(step: str | None) -> int | None:
    """Return the steps per season: a year for months, quarters and weeks, a week for days.

    The season of shorter steps is a day. Other steps, such as years, have none.
    """
    import pandas as pd

    if step is None:
        return None
    number, base = re.fullmatch(r"(\d*)([A-Za-z]+)(?:-.*)?", step).groups()  # type: ignore[union-attr]
    count = int(number or 1)
    if base in _QUARTERS:
        base, count = "MS", 3 * count
    if base in _SEASONS:
        whole = _SEASONS[base] % count == 0 and (count == 1 or _SEASONS[base] == 12)
        return _SEASONS[base] // count if whole and count < 12 else None
    day, length = pd.Timedelta(1, "D"), _length(step)
    return day // length if pd.Timedelta(0) < length < day and not day % length else None


def time_labels(times: pd.DatetimeIndex, step: str) -> list[str]:
    """Return times in ISO 8601, as exact as the step: `2020`, `2020-07`, `2020-07-31T14:00`."""
    import pandas as pd

    base = step.lstrip("0123456789").partition("-")[0]
    if (times != times.normalize()).any() or pd.Timedelta(0) < _length(step) < pd.Timedelta(1, "D"):
        seconds = times.second.any() or times.microsecond.any() or _length(step).seconds % 60
        form = "%Y-%m-%dT%H:%M" + (":%S" if seconds else "")
        form += ".%f" if times.microsecond.any() or _length(step).microseconds else ""
    elif base == "YS" and (times.month == 1).all():
        form = "%Y"
    else:
        form = "%Y-%m" if base in ("MS", "QS", "YS") else "%Y-%m-%d"
    return times.strftime(form).tolist()


def _length(step: str) -> pd.Timedelta:
    """Return the length of a step; 0 if it isn't fixed, such as a month."""
    import pandas as pd

    with suppress(ValueError):
        return pd.Timedelta(pd.tseries.frequencies.to_offset(step))
    return pd.Timedelta(0)
