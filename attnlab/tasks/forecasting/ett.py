"""Oil temperature of electricity transformers: the ETT benchmark, by the Informer's protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import Corpus
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import read_bytes
from attnlab.tasks.forecasting.csv_series import Form, Panel, read_panel
from attnlab.tasks.forecasting.series import SplitSeries
from attnlab.tasks.kinds import Progress

_FORM = Form(column="OT", time_column="date")
_MONTH = 30 * 24  # hours
_PARTS = {"train": 12, "validation": 4, "test": 4}  # months

URL = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small"
# SHA-256 of the published files.
DIGESTS = {
    "ETTh1": "f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066",
    "ETTh2": "a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b",
    "ETTm1": "6ce1759b1a18e3328421d5d75fadcb316c449fcd7cec32820c8dafda71986c9e",
    "ETTm2": "db973ca252c6410a30d0469b13d696cf919648d0f3fd588c60f03fdbdbadd1fd",
}


@dataclass(kw_only=True, eq=False)
class EttFiles(Corpus):
    """One of the files ETTh1.csv, ETTh2.csv, ETTm1.csv and ETTm2.csv.

    `path` is a folder with the file, plain or gzipped, or the file itself. None downloads it from
    the folder `url`, and accepts only the published file.
    """

    name = "ett"
    noun = "row"
    origin = "Zhou et al. 2021 (Informer), github.com/zhouhaoyi/ETDataset"
    license = "CC BY-ND 4.0: share it only whole and unchanged"
    published = tuple(Published(f"{URL}/{name}.csv", digest) for name, digest in DIGESTS.items())

    series: str = "ETTh1"
    path: str | None = None
    url: str = URL

    def find(self, cache: Path, progress: Progress | None = None) -> Path:
        """Return the file; download it into `cache` if it is missing.

        Raises:
            RequestError: the file is missing, can't be downloaded, or is not the published one.
        """
        if place := self.location(cache):
            return place
        if self.path:
            raise RequestError(
                f"task.path: expected a folder with {self.series}.csv or {self.series}.csv.gz, or "
                f"that file, got {self.path}; null downloads it"
            )
        file = Published(f"{self.url.rstrip('/')}/{self.series}.csv", DIGESTS[self.series])
        return file.fetch(cache.expanduser() / self.name, progress=progress, section="task")

    def location(self, cache: Path) -> Path | None:
        """Return the file; None if it is missing."""
        folder = Path(self.path).expanduser() if self.path else cache.expanduser() / self.name
        places = [folder / f"{self.series}.csv", folder / f"{self.series}.csv.gz"]
        return next((place for place in [folder, *places] if place.is_file()), None)

    def is_published(self, path: Path) -> bool:
        """Return whether a file, plain or gzipped, has the published content."""
        return sha256(read_bytes(path, "task.path")).hexdigest() == DIGESTS[self.series]


@dataclass(kw_only=True, eq=False)
class Ett(SplitSeries):
    """The next `horizon` oil temperatures (OT) of a transformer from the `history` before them.

    The univariate protocol of Zhou et al. 2021 (Informer, arXiv 2012.07436, section 5.1), which
    later papers also use: 12 months of 30 days for training, 4 for validation, 4 for the test,
    later rows unused; z-scores by the train part; windows one step apart, whose histories may
    start in the previous part. `mse_z` and `mae_z` are the MSE and MAE of the paper's tables.
    Difference: all test windows count; the published code drops the last batch if it isn't full.

    `series` is ETTh1 or ETTh2 (hourly), ETTm1 or ETTm2 (every 15 minutes); the season is a day.
    For `path` and `url` see `EttFiles`.
    """

    name = "ett"
    units = "units of OT"
    license = EttFiles.license
    cache = Path("~/.cache/attnlab")  # of downloads; a run sets its own
    form = _FORM

    series: str = "ETTh1"
    horizon: int = 96
    history: int = 336
    path: str | None = None
    url: str = URL

    def __post_init__(self) -> None:
        hour = 4 if self.series.startswith("ETTm") else 1  # steps
        self.period, self._month = 24 * hour, _MONTH * hour

    def read_series(self, progress: Progress | None) -> tuple[Panel, str]:  # noqa: D102
        files = EttFiles(series=self.series, path=self.path, url=self.url)
        path = files.find(self.cache, progress)
        panel = read_panel(path, self.form)
        (series,) = panel.series
        rows = sum(_PARTS.values()) * self._month
        if len(series.columns) < rows:
            raise RequestError(
                f"{path}: expected at least the {rows:,} rows of {self.series}, got "
                f"{len(series.columns):,}"
            )
        notes = [*panel.notes]
        if not files.is_published(path):
            notes.append(f"{path} is not the published {self.series}.csv (SHA-256).")
        series = replace(series, columns=series.columns[:rows], times=series.times[:rows])
        return Panel([series], panel.name, notes), f"{self.series}.csv of {files.origin}"

    def _find_borders(self, count: int) -> dict[str, int]:
        firsts = np.cumsum([0, *_PARTS.values()])[:-1] * self._month
        return dict(zip(_PARTS, firsts.tolist(), strict=True))
