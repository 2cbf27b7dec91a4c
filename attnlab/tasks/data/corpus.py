"""The base class of every data set that a task takes as `data=NAME`."""

from __future__ import annotations

import hashlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.data.published import Published
from attnlab.tasks.kinds import Progress

PARTS = ("train", "validation", "test")


class Corpus(ABC):
    """Items, such as texts or images, in parts.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword-only arguments, and
    defines `read`. Parts that a corpus has are its own; missing ones are held out from train by
    `attnlab.tasks.data.division`.

    All methods raise `RequestError` if a file is missing, damaged or in another form.
    """

    name: ClassVar[str] = ""  # as in `data=NAME`
    origin: ClassVar[str] = ""  # who made the corpus, and where it is from
    license: ClassVar[str] = ""
    needs: ClassVar[str] = ""  # the required settings, as on the command line
    noun: ClassVar[str] = "text"  # an item in messages
    published: ClassVar[tuple[Published, ...]] = ()  # downloaded if the setting `path` is null

    path: str | None = None  # the user's own file or folder
    url: str | None = None  # another place of the only published file
    limit: int | None = None  # the number of training items to read
    validation: float = 0.1  # share of train that is held out if there is no validation part
    test: float = 0.1  # likewise for the test part
    parts: Mapping[str, Sequence[Any]]  # the items of each part, set by `open`
    notes: tuple[str, ...] = ()  # how the corpus was read, one sentence each

    def read(self, place: Path) -> Mapping[str, Sequence[Any]]:
        """Return the items of each of the corpus's own parts; `train` is one of them.

        `place` is the file or folder of the setting `path`; else the published file, or the folder
        of several published files; a corpus that needs no file ignores it.
        """
        raise NotImplementedError

    def label(self, item: Any) -> str:
        """Return the class of an item, whose shares in all parts are equal; "" without classes."""
        return getattr(item, "label", "")

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files, download missing ones into `cache`, and read them."""
        parts = {part: list(items) for part, items in self.read(self.find(cache, progress)).items()}
        parts["train"] = parts["train"][: self.limit]
        for part, items in parts.items():
            if not items:
                raise RequestError(f"data={self.name}: expected {self.noun}s in {part}, got none.")
        self.parts = {
            part: parts[part] for part in dict.fromkeys((*PARTS, *parts)) if part in parts
        }

    def find(self, cache: Path, progress: Progress | None = None) -> Path:
        """Return the `place` of `read`; download it if it is missing."""
        if self.path is not None:
            place = Path(self.path).expanduser()
            if not (place.is_file() or place.is_dir()):
                raise RequestError(f"data.path: expected a file or folder, got {self.path}.")
            return place
        if self.needs:
            raise RequestError(f"data={self.name}: expected {self.needs}, got nothing.")
        folder = cache.expanduser() / self.name
        places = [file.fetch(folder, self.url, progress) for file in self.published]
        return places[0] if len(places) == 1 else folder

    def location(self, cache: Path) -> Path | None:
        """Return the place of the files without opening them; None if there are none yet."""
        if self.path is not None:
            return Path(self.path).expanduser()
        folder = cache.expanduser() / self.name
        places = [file.path(folder, self.url) for file in self.published]
        if not places or not all(place.is_file() for place in places):
            return None
        return places[0] if len(places) == 1 else folder

    def digest(self) -> str:
        """Return a SHA-256 of an opened corpus and of the settings that divide it."""
        state = hashlib.sha256(f"{self.validation} {self.test}".encode())
        for part, item in ((part, item) for part, items in self.parts.items() for item in items):
            state.update(json.dumps([part, *item]).encode())
        return state.hexdigest()

    def note(self, *notes: str) -> None:
        """Add to `notes`, each sentence once."""
        self.notes = tuple(dict.fromkeys([*self.notes, *notes]))


@dataclass(kw_only=True, eq=False)
class FileCorpus(Corpus):
    """A corpus of files that has a test part."""

    path: str | None = None
    limit: int | None = None
    validation: float = 0.1


@dataclass(kw_only=True, eq=False)
class DividedCorpus(FileCorpus):
    """A corpus of files without parts of its own."""

    test: float = 0.1


@dataclass(kw_only=True, eq=False)
class OwnFiles(DividedCorpus):
    """The user's file, and optionally files of the other parts in the same form."""

    validation_path: str | None = None
    test_path: str | None = None

    def read(self, place: Path) -> Mapping[str, Sequence[Any]]:
        """Return the items of each file."""
        parts = {"train": self.read_file(place, "data.path")}
        for part, path in {"validation": self.validation_path, "test": self.test_path}.items():
            if path is not None:
                parts[part] = self.read_file(Path(path).expanduser(), f"data.{part}_path")
        return parts

    @abstractmethod
    def read_file(self, path: Path, key: str) -> Sequence[Any]:
        """Return the items of a file, which the setting `key` names."""


def digest_of(decisive: Any) -> str:
    """Return the SHA-256 of a JSON-ready value."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def join_names(names: Iterable[str], most: int = 5) -> str:
    """Join the first names, and the number of further ones."""
    names = [*names]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(itertools.islice(names, most)) + more
