"""Find or download the files of the electricity transformer data set."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import Corpus
from attnlab.tasks.data.published import Published
from attnlab.tasks.data.readers import read_bytes
from attnlab.tasks.declaration import Progress

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

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the file, for `count`."""
        self.place = self.find(cache, progress)

    def count(self, seed: int) -> dict[str, dict[str, Any]]:
        """Return the rows of the series, its first and last time, and whether it is published."""
        from attnlab.tasks.forecasting.data.csv_series import Form, read_panel

        (series,) = read_panel(self.place, Form("OT", time_column="date")).series
        numbers = {"rows": len(series.columns), "from": series.times[0], "to": series.times[-1]}
        published = "yes" if is_published(self.series, self.place) else "no"
        return {self.series: {**numbers, "as published": published}}


def is_published(name: str, path: Path) -> bool:
    """Return whether a file, plain or gzipped, has the published content."""
    return sha256(read_bytes(path, "task.path")).hexdigest() == DIGESTS[name]
