"""The base class of corpora in published archives."""

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
    """A published archive with one text per file, which is downloaded unless `path` is set.

    `path` is the archive, or the folder into which it was unpacked; both are the same corpus.
    """

    fetchable = True

    usual_url: ClassVar[str]
    known: ClassVar[str]  # SHA-256 of the archive at the usual address
    archive: ClassVar[str]  # the archive's file name
    wanted: ClassVar[re.Pattern[str]]  # matches the names of its texts, see `read_texts`
    path: str | None = None
    url: str = ""

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the archive, or download it if no path is given, and read it; see `Corpus.open`.

        Raises:
            RequestError: the archive can't be downloaded or read.
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
        """Return the path of the corpus; None if it isn't downloaded yet."""
        file = cache_folder(cache, self.name, self.url, self.usual_url) / self.archive
        return super().location(cache) or (file if file.is_file() else None)

    def _texts(self, place: Path, progress: Progress | None) -> dict[str, list[Labelled]]:
        """Read the texts of each part; raise `RequestError` if there are none of train."""
        found = read_texts(place, self.wanted, progress)
        if "train" not in found:
            raise RequestError(f"{place}: expected the files of {self.name}, got none of them.")
        return found

    def _check(self, path: Path) -> None:
        self._texts(path, None)


def existing_place(path: str) -> Path:
    """Return the file or folder of `data.path`; raise `RequestError` if it doesn't exist."""
    found = Path(path).expanduser()
    if found.is_file() or found.is_dir():
        return found
    what = "is a pipe or device" if found.exists() else "doesn't exist"
    raise RequestError(f"data.path: expected a file or folder, got {path}, which {what}.")
