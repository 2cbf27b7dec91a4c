"""The base class of published corpora of images."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.file_corpus import existing_place
from attnlab.tasks.classification.images.corpora.image_corpus import ImageCorpus
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch


class PublishedImages(ImageCorpus):
    """A published corpus of images, which is downloaded unless `path` is set."""

    fetchable = True

    usual_url: ClassVar[str]
    known: ClassVar[dict[str, str]]  # SHA-256 of each file at the usual address, by its name
    path: str | None = None
    url: str = ""

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, or download them if no path is given, and read them.

        Raises:
            RequestError: a file can't be downloaded or read; see `Corpus.open`.
        """
        if self.path:
            return self._take(existing_place(self.path))
        folder = self._folder(cache)
        for name, digest in self.known.items():
            known = digest if self.url == self.usual_url else None
            fetch(self._address(name), folder, name, known=known, progress=progress)
        return self._take(folder)

    def location(self, cache: Path) -> Path | None:
        """Return the folder of the files; None if a file isn't downloaded yet."""
        folder = self._folder(cache)
        there = all((folder / name).is_file() for name in self.known)
        return super().location(cache) or (folder if there else None)

    def _folder(self, cache: Path) -> Path:
        return cache_folder(cache, self.name, self.url, self.usual_url)

    def _address(self, name: str) -> str:
        """Return the URL of a file."""
        return f"{self.url}/{name}"

    def _take(self, place: Path) -> None:
        """Read the files, and call `set_items`; raise `RequestError` if they are wrong."""
        raise NotImplementedError


def cut_short(path: Path, expected: str, size: int) -> RequestError:
    """Return the error for a file of the wrong size."""
    return RequestError(f"{path}: expected {expected}, got {size:,} bytes.")
