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
    """One or all of the files ETTh1.csv, ETTh2.csv, ETTm1.csv and ETTm2.csv.

    `path` is a folder with the files, plain or gzipped, or a single file. None downloads them from
    the folder `url`, and accepts only the published files.
    """

    name = "ett"
    noun = "row"
    origin = "Zhou et al. 2021 (Informer), github.com/zhouhaoyi/ETDataset"
    license = "CC BY-ND 4.0: share it only whole and unchanged"
    published = tuple(Published(f"{URL}/{name}.csv", digest) for name, digest in DIGESTS.items())

    series: str | None = None
    path: str | None = None
    url: str = URL

    @property
    def names(self) -> list[str]:
        """Return the names of the requested series."""
        return [self.series] if self.series else [*DIGESTS]

    def files(self, cache: Path, progress: Progress | None = None) -> dict[str, Path]:
        """Return series -> file; download missing files into `cache`.

        Raises:
            RequestError: a file is missing, can't be downloaded, or is not the published one.
        """
        files = self.present(cache)
        for name in self.names:
            if name in files:
                continue
            if self.path:
                raise RequestError(
                    f"task.path: expected a folder with {name}.csv or {name}.csv.gz, or that file, "
                    f"got {self.path}; null downloads it"
                )
            published = Published(f"{self.url.rstrip('/')}/{name}.csv", DIGESTS[name])
            files[name] = published.fetch(
                cache.expanduser() / self.name, progress=progress, section="task"
            )
        return files

    def present(self, cache: Path) -> dict[str, Path]:
        """Return series -> file for the available files."""
        files = {}
        for name in self.names:
            places = [cache.expanduser() / self.name / f"{name}.csv"]
            if self.path:
                path = Path(self.path).expanduser()
                is_folder = path.is_dir()
                places = [path / f"{name}.csv", path / f"{name}.csv.gz"] if is_folder else [path]
            if file := next((place for place in places if place.is_file()), None):
                files[name] = file
        return files

    def find(self, cache: Path, progress: Progress | None = None) -> Path:
        """Return the folder or the file; download missing files."""
        self.files(cache, progress)
        return Path(self.path).expanduser() if self.path else cache.expanduser() / self.name

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, for `count`."""
        self._places = self.files(cache, progress)

    def count(self, seed: int) -> dict[str, dict[str, Any]]:
        """Return the rows of each series, its first and last time, and whether it is published."""
        from attnlab.tasks.forecasting.data.csv_series import Form, read_panel

        numbers: dict[str, dict[str, Any]] = {}
        for name, path in self._places.items():
            (series,) = read_panel(path, Form("OT", time_column="date")).series
            numbers[name] = {
                **{"rows": len(series.columns), "from": series.times[0], "to": series.times[-1]},
                "as published": "yes" if is_published(name, path) else "no",
            }
        return numbers

    def location(self, cache: Path) -> Path | None:
        """Return the given path, or the folder of downloads; None if that is incomplete."""
        if self.path:
            return Path(self.path).expanduser()
        is_complete = len(self.present(cache)) == len(self.names)
        return cache.expanduser() / self.name if is_complete else None


def is_published(name: str, path: Path) -> bool:
    """Return whether a file, plain or gzipped, has the published content."""
    return sha256(read_bytes(path, "task.path")).hexdigest() == DIGESTS[name]
