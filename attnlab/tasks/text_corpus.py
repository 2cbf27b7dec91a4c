"""What corpora of several kinds share: names, files, and what decides their items."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.text.reading import printable

PARTS = ("train", "validation", "test")
_LISTED = 5  # names in a sentence


class NamedCorpus:
    """What every corpus states, and where its files lie; the base of every kind's `Corpus`.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword arguments.
    """

    name: ClassVar[str] = ""  # the corpus's name, as in `data=NAME`
    origin: ClassVar[str] = ""  # who made it, and where it is from
    license: ClassVar[str] = ""  # the terms it is given under
    fetchable: ClassVar[bool] = False  # whether it can be downloaded
    # the settings without which there is no corpus, as on the command line
    needs: ClassVar[str] = ""

    path: str | None = None  # the user's own file or folder
    # only the first so many items count, of `train` where parts are its own; None takes all
    limit: int | None = None
    validation: float = 0.1  # share for validation, of what has no parts of its own
    test: float = 0.1  # share for the test
    # what the user should know of how the corpus was read, one sentence each
    notes: tuple[str, ...] = ()

    def note(self, *notes: str) -> None:
        """Add to `notes`, each sentence once."""
        self.notes = tuple(dict.fromkeys([*self.notes, *notes]))

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the corpus's files, downloading them into `cache` where they are missing.

        Raises:
            RequestError: a file is missing, can't be downloaded or is not what it should be.
        """

    def location(self, cache: Path) -> Path | None:
        """Where the corpus's files lie, without opening them; None where there are none (yet)."""
        return Path(self.path).expanduser() if self.path else None

    def share(self, part: str) -> float:
        """The share of the items that is held out for a part, `validation` or `test`."""
        return {"validation": self.validation, "test": self.test}[part]


class TextCorpus(NamedCorpus):
    """Texts, or other items, in parts; a subclass gives `_read` and `_content`."""

    noun: ClassVar[str] = "text"  # what an item of it is called

    # files of the user's that `path` doesn't have
    validation_path: str | None = None
    test_path: str | None = None
    # the corpus's own division, of `PARTS`; those that are missing are held out from train
    own_parts: tuple[str, ...] = ("train",)
    # items of each part that were left out because a later part has the same text
    left_out: Mapping[str, int] = MappingProxyType({})

    @property
    def part_paths(self) -> dict[str, str | None]:
        """The settings that name files of single parts."""
        return {"validation_path": self.validation_path, "test_path": self.test_path}

    def items(self, part: str = "train") -> Iterator[Any]:
        """The items of one of `own_parts`, in an order that is always the same.

        Raises:
            RequestError: an item that can't be read, named, or none at all.
        """
        found = itertools.islice(self._read(part), self.limit if part == "train" else None)
        empty = True
        for each in found:
            empty = False
            yield each
        if empty:
            raise RequestError(f"{self.name}, part {part}: expected {self.noun}s, got none.")

    def digest(self) -> str:
        """SHA-256 that changes with the content and with every setting that decides the items."""
        keys = ("own_parts", "limit", "validation", "test")
        return digest_of({**{key: getattr(self, key) for key in keys}, "content": self._content()})

    def _read(self, part: str) -> Iterator[Any]:
        raise NotImplementedError

    def _content(self) -> Any:
        """What identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError


class ReadCorpus(TextCorpus):
    """A corpus that is read when it is opened: `open` of a subclass calls `set_items`."""

    def set_items(self, parts: Mapping[str, Sequence[Any]]) -> None:
        """Take the items of the corpus's own parts, `train` among them."""
        self.parts = parts
        self.own_parts = tuple(part for part in PARTS if part in parts)

    def _read(self, part: str) -> Iterator[Any]:
        return iter(self.parts[part])

    def _content(self) -> Any:
        state = hashlib.sha256()
        for part in self.own_parts:
            for each in self.parts[part]:
                state.update(json.dumps([part, *each]).encode())
        return state.hexdigest()


class OwnFiles(ReadCorpus):
    """The user's own files: `path`, and others where parts have their own; others are shares."""

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `NamedCorpus.open`."""
        given = {"path": self.path, **self.part_paths}
        parts = dict(zip(given, PARTS, strict=True))
        self.set_items(
            {
                parts[key]: self._items(path, f"data.{key}", progress)
                for key, path in given.items()
                if path or key == "path"
            }
        )

    def _items(self, path: str | None, key: str, progress: Progress | None) -> Sequence[Any]:
        """The items of what a setting names; raises `RequestError` where it is no such thing."""
        raise NotImplementedError


def digest_of(decisive: Any) -> str:
    """SHA-256 of what decides items, JSON-ready."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def shown(path: PurePath, folder: PurePath) -> str:
    """A path below a folder as text; see `printable`."""
    return printable(path.relative_to(folder).as_posix())


def left_out(files: Sequence[Path], folder: Path, noun: str) -> list[str]:
    """What a note says of files below a folder that are no items by their names."""
    if not files:
        return []
    kinds = Counter(path.suffix.lower() or "no extension" for path in files)
    counted = [f"{kind} ({count:,})" for kind, count in kinds.most_common()]
    are = f"files are no {noun}s" if len(files) > 1 else f"file is no {noun}"
    return [
        f"{len(files):,} {are} by the name and left out: {listed(counted)}, such as "
        f"{shown(files[0], folder)}."
    ]


def listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    names = [*names]
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
