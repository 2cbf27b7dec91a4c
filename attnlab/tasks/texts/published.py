"""The base class of published texts: one zip archive, downloaded unless there is a path."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.text_corpus import PARTS
from attnlab.tasks.texts.corpus import Corpus
from attnlab.text.raw_text import RawText

_MOST_BYTES = 1_000_000_000  # of an unpacked file


class PublishedText(Corpus):
    """A published archive of texts whose train, validation and test parts are fixed.

    Args:
        path: the archive, a folder into which it was unpacked, or its only file; None: downloaded.
        url: the URL to download from.
    """

    fetchable = True
    own_parts = PARTS
    usual_url: ClassVar[str]
    known: ClassVar[str]  # SHA-256 of the archive at the usual URL
    archive: ClassVar[str]  # its file name
    members: ClassVar[tuple[str, ...]]  # the names of its files, in the order of `_set_files`

    def __init__(self, path: str | None, url: str) -> None:
        self.path, self.url = path, url
        self._parts: dict[str, RawText] = {}

    def location(self, cache: Path) -> Path | None:
        """Return the archive or the folder; None if it isn't downloaded yet."""
        found = Path(self.path).expanduser() if self.path else self._folder(cache) / self.archive
        return found if found.exists() else None

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files of the archive, which is downloaded if no path is given.

        Raises:
            RequestError: the archive can't be downloaded or read, or lacks a file.
        """
        if self.path:
            place = Path(self.path).expanduser()
            if not place.exists():
                raise RequestError(
                    f"data.path: expected {self.archive} or the folder that it was unpacked into, "
                    f"got {self.path}, which doesn't exist."
                )
        else:
            known = self.known if self.url == self.usual_url else None
            place = fetch(
                self.url,
                self._folder(cache),
                self.archive,
                known=known,
                check=self._check,
                progress=progress,
            )
        self._parts = self._divided(*map(RawText, self._files(place)))

    def raw(self) -> dict[str, RawText]:
        """Return the text of each part, unchanged."""
        return self._parts

    def _divided(self, *files: RawText) -> dict[str, RawText]:
        """Return the text of each part of the files `members`."""
        raise NotImplementedError

    def _content(self) -> Any:
        return {part: hashlib.sha256(bytes(text)).hexdigest() for part, text in self._parts.items()}

    def _folder(self, cache: Path) -> Path:
        return cache_folder(cache, self.name, self.url, self.usual_url)

    def _check(self, archive: Path) -> None:
        self._files(archive)

    def _files(self, place: Path) -> list[bytes]:
        """Read the files `members` of an archive or folder; raise `RequestError` on failure."""
        try:
            if place.is_dir():
                return [self._in_folder(place, name).read_bytes() for name in self.members]
            if zipfile.is_zipfile(place):
                with zipfile.ZipFile(place) as archive:
                    return [self._in_archive(archive, name, place) for name in self.members]
            if self.path and len(self.members) == 1:
                return [place.read_bytes()]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error) as error:
            raise RequestError(f"{place}: can't be unpacked: {error}.") from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RequestError(f"{place}: can't be read: {reason}.") from error
        raise RequestError(f"{place}: expected a zip archive, got something else.")

    def _in_folder(self, folder: Path, name: str) -> Path:
        found = sorted(folder.rglob(name))
        if not found:
            raise self._missing(folder, name)
        return found[0]

    def _in_archive(self, archive: zipfile.ZipFile, name: str, place: Path) -> bytes:
        for info in archive.infolist():
            if Path(info.filename).name == name:
                if info.file_size > _MOST_BYTES:
                    raise RequestError(
                        f"{place}: expected at most {_MOST_BYTES:,} bytes unpacked, got "
                        f"{info.file_size:,} in {name}."
                    )
                return archive.read(info)
        raise self._missing(place, name)

    def _missing(self, place: Path, name: str) -> RequestError:
        return RequestError(f"{place}: expected the files of {self.name}, but {name} is missing.")
