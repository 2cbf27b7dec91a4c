"""Corpora from published files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.text_files import read_texts
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.text_corpus import ReadCorpus


class ArchiveCorpus(ReadCorpus, Corpus):
    """A published archive with a text a file, downloaded unless `path` names it.

    `path` is the archive or the folder that it was unpacked into: both are one corpus.
    """

    fetchable = True

    usual_url: ClassVar[str]
    known: ClassVar[str]  # SHA-256 of the archive at the usual address
    archive: ClassVar[str]  # its name
    wanted: ClassVar[re.Pattern[str]]  # its files, see `read_texts`
    path: str | None = None
    url: str = ""

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the archive, downloading it where no path is given, and read it; see `Corpus.open`.

        Raises:
            RequestError: it can't be had or read.
        """
        if self.path:
            place = existing_place(self.path)
        else:
            folder = cache_folder(cache, self.name, self.url, self.usual_url)
            known = self.known if self.url == self.usual_url else None
            place = fetch(
                self.url,
                folder,
                self.archive,
                known=known,
                check=self._check,
                progress=progress,
            )
        self.set_items(self._texts(place, progress))

    def location(self, cache: Path) -> Path | None:
        """Where the corpus lies; None where it is still to be fetched."""
        file = cache_folder(cache, self.name, self.url, self.usual_url) / self.archive
        return super().location(cache) or (file if file.is_file() else None)

    def _texts(self, place: Path, progress: Progress | None) -> dict[str, list[Labelled]]:
        """The texts of each part; raises `RequestError` where there is none to train on."""
        found = read_texts(place, self.wanted, progress)
        if "train" not in found:
            raise RequestError(f"{place}: expected the files of {self.name}, got none of them.")
        return found

    def _check(self, path: Path) -> None:
        self._texts(path, None)


def existing_place(path: str) -> Path:
    """The file or folder that `data.path` names; raises `RequestError` where there is none."""
    found = Path(path).expanduser()
    if found.is_file() or found.is_dir():
        return found
    what = "a pipe or device" if found.exists() else "nothing that is there"
    raise RequestError(f"data.path: expected a file or folder, got {path}, which is {what}.")
