"""Corpora from files: read once, when they are opened."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress
from attnlab.tasks.classification.corpora.corpus import Corpus, Labelled
from attnlab.tasks.classification.corpora.text_files import read_texts
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.text_corpus import PARTS


class FileCorpus(Corpus):
    """A corpus from files; `open` of the subclass calls `set_texts`."""

    def set_texts(self, parts: Mapping[str, Sequence[Labelled]]) -> None:
        """Take the texts of the parts that have files, `train` among them."""
        self.parts = parts
        self.own_parts = tuple(part for part in PARTS if part in parts)

    def _read(self, part: str) -> Iterator[Labelled]:
        return iter(self.parts[part])

    def _content(self) -> Any:
        state = hashlib.sha256()
        for part in self.own_parts:
            for text in self.parts[part]:
                state.update(json.dumps([part, *text]).encode())
        return state.hexdigest()


class OwnFiles(FileCorpus):
    """The user's own files: `path`, and others where parts have their own; others are shares."""

    path: str | None = None
    validation_path: str | None = None
    test_path: str | None = None

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `Corpus.open`."""
        keys = {"train": "path", "validation": "validation_path", "test": "test_path"}
        given = {part: (getattr(self, key), f"data.{key}") for part, key in keys.items()}
        self.set_texts(
            {
                part: self._texts(path, key, progress)
                for part, (path, key) in given.items()
                if path or part == "train"
            }
        )

    def _texts(self, path: str | None, key: str, progress: Progress | None) -> list[Labelled]:
        """The texts of what a setting names; raises `RequestError` where it is no such thing."""
        raise NotImplementedError


class ArchiveCorpus(FileCorpus):
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
        self.set_texts(self._texts(place, progress))

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
