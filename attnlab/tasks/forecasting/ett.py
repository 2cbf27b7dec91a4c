"""Oil temperature of electricity transformers: the ETT benchmark, by the Informer's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.forecasting.data.csv_series import read_series
from attnlab.tasks.forecasting.data.divided import Divided
from attnlab.tasks.forecasting.data.ett_files import URL, EttFiles, is_published
from attnlab.tasks.forecasting.data.time_series import TimeSeries
from attnlab.tasks.forecasting.data.windows import Splits
from attnlab.tasks.forecasting.series import Series
from attnlab.tasks.forecasting.task import refuse

_MONTH = 30 * 24  # hours
_PARTS = {"train": 12, "validation": 4, "test": 4}  # months
_SEASONS = {"day": 24, "week": 7 * 24, None: None}  # hours


class Ett(Series):
    """The next `horizon` oil temperatures (OT) of a transformer from the `history` before them.

    The univariate protocol of Zhou et al. 2021 (Informer, arXiv 2012.07436, section 5.1), which
    later papers also use: 12 months of 30 days for training, 4 for validation, 4 for the test,
    later rows unused; z-scores by the train part; windows one step apart, whose histories may
    start in the previous part. `mse_z` and `mae_z` are the MSE and MAE of the paper's tables.
    Difference: all test windows count; the published code drops the last batch if it isn't full.

    `series` is ETTh1 or ETTh2 (hourly), ETTm1 or ETTm2 (every 15 minutes). `season` is the period
    of the seasonal baseline: "day", "week", or None. For `path` and `url` see `EttFiles`.

    Raises:
        RequestError: from `load`: the file is missing, or has other rows.
    """

    name = "ett"
    license = EttFiles.license
    cache = Path("~/.cache/attnlab")  # of downloads; a run sets its own

    def __init__(
        self,
        *,
        series: str = "ETTh1",
        horizon: int = 96,
        history: int = 336,
        season: str | None = "day",
        path: str | None = None,
        url: str = URL,
    ):
        self._steps = 4 if series.startswith("ETTm") else 1  # an hour
        hours = _SEASONS[season]
        super().__init__(
            path="",
            column="OT",
            time_column="date",
            history=history,
            horizon=horizon,
            period=hours and hours * self._steps,
        )
        self.transformer, self._files = series, EttFiles(series=series, path=path, url=url)
        self._progress: Progress | None = None

    def load(self, seed: int = 0, progress: Progress | None = None) -> Splits:
        """Find or download the file, and split it; the seed is ignored."""
        self._progress = progress
        return super().load(seed, progress)

    def _read(self) -> Sequence[TimeSeries]:
        self.units = f"units of {self.column}"
        self.path = str(self._files.open(self.cache, self._progress)[self.transformer])
        found = read_series(self.path, self.column, self.time_column)
        rows = sum(_PARTS.values()) * _MONTH * self._steps
        if len(found.values) < rows:
            raise RequestError(
                f"{self.path}: expected at least the {rows:,} rows of {self.transformer}, got "
                f"{len(found.values):,}"
            )
        notes = found.notes
        if not is_published(self.transformer, Path(self.path)):
            notes += (f"{self.path} is not the published {self.transformer}.csv (SHA-256).",)
        source = f"{self.transformer}.csv of {self._files.origin}"
        times, values = found.times[:rows], found.values[:rows]
        return [replace(found, values=values, times=times, source=source, notes=notes)]

    def _find_borders(self, count: int) -> dict[str, int]:
        firsts, months = {}, 0
        for part, own in _PARTS.items():
            firsts[part] = months * _MONTH * self._steps
            months += own
        return firsts

    def _check_counts(self, divided: Divided) -> None:
        super()._check_counts(replace(divided, first={"train": divided.first["train"]}))
        if not all(map(len, divided.first.values())):
            longest = min(_PARTS.values()) * _MONTH * self._steps
            refuse("horizon", f"at most {longest}, the values of a part", self.horizon)
