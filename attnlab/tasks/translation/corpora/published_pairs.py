"""The base class of published corpora of pairs with their own parts, a file per language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.tasks.downloads import cache_folder, fetch
from attnlab.tasks.translation.corpora.file_corpus import FileCorpus
from attnlab.tasks.translation.corpora.text_files import PartFiles


@dataclass(kw_only=True, eq=False)
class PublishedPairs(FileCorpus):
    """English and German files of train, validation and one of several test sets.

    Args:
        path: the folder of the files, plain or with `.gz`; None: they are downloaded.
        url: the URL of the folder to download from.
        test_set: the start of the names of the test part's files.
        limit: the number of training pairs to read; None: all.
        reverse: translate from German to English.
    """

    fetchable = True
    own_parts = ("train", "validation", "test")
    usual_url: ClassVar[str]
    known: ClassVar[Mapping[str, str]] = {}  # SHA-256 of the files at the usual URL
    validation_stem: ClassVar[str]  # start of the names of validation's files
    ending: ClassVar[str] = ""  # of the files at the URL

    path: str | None = None
    url: str
    test_set: str
    limit: int | None = None
    reverse: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.url = self.url.rstrip("/")

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, or download them if no folder is given; see `Corpus.open`."""
        folder = self._folder(cache, progress)
        stems = dict(
            zip(self.own_parts, ("train", self.validation_stem, self.test_set), strict=True)
        )
        self.set_files({part: self._required(folder, stem) for part, stem in stems.items()})

    def test_files(self, name: str, cache: Path, progress: Progress | None = None) -> PartFiles:
        """Return the files of another test set; see `Corpus.test_files`."""
        folder = replace(self, test_set=name)._folder(cache, progress)
        return self._required(folder, name, ("de", "en") if self.reverse else ("en", "de"))

    def location(self, cache: Path) -> Path | None:
        """Return the folder of the corpus; None if it isn't downloaded yet."""
        folder = cache_folder(cache, self.name, self.url, self.usual_url)
        fetched = all((folder / name).is_file() for name in self._names())
        return super().location(cache) or (folder if fetched else None)

    def _folder(self, cache: Path, progress: Progress | None) -> Path:
        """Return the folder of the files; download them if no folder is given."""
        if not self.path:
            return self._download(cache, progress)
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise RequestError(
                f"data.path: expected a folder with the files of {self.name}, got {self.path}."
            )
        return folder

    def _download(self, cache: Path, progress: Progress | None) -> Path:
        folder = cache_folder(cache, self.name, self.url, self.usual_url)
        for name in self._names():
            known = self.known.get(name) if self.url == self.usual_url else None
            url, check = f"{self.url}/{name}", self._check
            fetch(url, folder, name, known=known, check=check, progress=progress)
        return folder

    def _check(self, path: Path) -> None:
        """Raise `RequestError` unless a finished download is complete."""

    def _names(self) -> list[str]:
        stems = dict.fromkeys(["train", self.validation_stem, self.test_set])
        return [f"{stem}.{language}{self.ending}" for stem in stems for language in ("en", "de")]

    def _required(
        self, folder: Path, stem: str, sides: tuple[str, str] = ("en", "de")
    ) -> PartFiles:
        """Return the two files of a part, the source first."""
        source, target = (
            next(
                filter(Path.is_file, [folder / f"{stem}.{side}{end}" for end in ("", ".gz")]), None
            )
            for side in sides
        )
        if source and target:
            return PartFiles(source, target)
        raise RequestError(
            f"{folder}: expected {stem}.en and {stem}.de, plain or with .gz; one or both are "
            f"missing.{self._instead(stem)}"
        )

    def _instead(self, stem: str) -> str:
        """Return what to do without a file, as the end of a message."""
        return ""
