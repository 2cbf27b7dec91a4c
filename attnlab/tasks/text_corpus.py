"""Base classes of the corpora of all kinds: names, files, parts, digests."""

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
    """Base class of every corpus: its description, and the location of its files.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword arguments.
    """

    name: ClassVar[str] = ""  # the corpus's name, as in `data=NAME`
    origin: ClassVar[str] = ""  # who made the corpus, and where it is from
    license: ClassVar[str] = ""  # its license
    fetchable: ClassVar[bool] = False  # whether it can be downloaded
    # the required settings, as on the command line
    needs: ClassVar[str] = ""

    path: str | None = None  # the user's own file or folder
    # the number of items to read, of `train` if the corpus has parts; None reads all
    limit: int | None = None
    validation: float = 0.1  # share of validation, if the corpus has no such part
    test: float = 0.1  # share of the test part, likewise
    # notes for the user on how the corpus was read, one sentence each
    notes: tuple[str, ...] = ()

    def note(self, *notes: str) -> None:
        """Add to `notes`, each sentence once."""
        self.notes = tuple(dict.fromkeys([*self.notes, *notes]))

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the files of the corpus; download missing ones into `cache`.

        Raises:
            RequestError: a file is missing, can't be downloaded or is not what it should be.
        """

    def location(self, cache: Path) -> Path | None:
        """Return the location of the files without opening them; None if there are none (yet)."""
        return Path(self.path).expanduser() if self.path else None

    def share(self, part: str) -> float:
        """Return the share of items that is held out for `validation` or `test`."""
        return {"validation": self.validation, "test": self.test}[part]


class TextCorpus(NamedCorpus):
    """A corpus of items, such as texts, in parts; a subclass defines `_read` and `_content`."""

    noun: ClassVar[str] = "text"  # the noun for one item

    # the user's files of single parts
    validation_path: str | None = None
    test_path: str | None = None
    # the parts that the corpus has; missing ones are held out from train
    own_parts: tuple[str, ...] = ("train",)
    # number of items per part that were left out because a later part has the same text
    left_out: Mapping[str, int] = MappingProxyType({})

    @property
    def part_paths(self) -> dict[str, str | None]:
        """Return the settings that name files of single parts."""
        return {"validation_path": self.validation_path, "test_path": self.test_path}

    def items(self, part: str = "train") -> Iterator[Any]:
        """Yield the items of one of `own_parts`, always in the same order.

        Raises:
            RequestError: an item can't be read, or there are none.
        """
        found = itertools.islice(self._read(part), self.limit if part == "train" else None)
        empty = True
        for each in found:
            empty = False
            yield each
        if empty:
            raise RequestError(f"{self.name}, part {part}: expected {self.noun}s, got none.")

    def digest(self) -> str:
        """Return a SHA-256 of the content and of every setting that determines the items."""
        keys = ("own_parts", "limit", "validation", "test")
        return digest_of({**{key: getattr(self, key) for key in keys}, "content": self._content()})

    def _read(self, part: str) -> Iterator[Any]:
        raise NotImplementedError

    def _content(self) -> Any:
        """Return what identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError


class ReadCorpus(TextCorpus):
    """A corpus that is read completely by `open`, which calls `set_items`."""

    def set_items(self, parts: Mapping[str, Sequence[Any]]) -> None:
        """Set the items of the corpus's parts, which include `train`."""
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
    """The user's own files: `path`, optionally files of single parts; other parts are held out."""

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
        """Read the items of the path in a setting; raises `RequestError` if that fails."""
        raise NotImplementedError


def digest_of(decisive: Any) -> str:
    """Return the SHA-256 of a JSON-ready value."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def shown(path: PurePath, folder: PurePath) -> str:
    """Return a path relative to a folder as printable text."""
    return printable(path.relative_to(folder).as_posix())


def left_out(files: Sequence[Path], folder: Path, noun: str) -> list[str]:
    """Return a note on files in a folder that are not items, judged by their names."""
    if not files:
        return []
    kinds = Counter(path.suffix.lower() or "no extension" for path in files)
    counted = [f"{kind} ({count:,})" for kind, count in kinds.most_common()]
    example = shown(files[0], folder)
    return [f"Files not named like {noun}s are left out: {listed(counted)}, such as {example}."]


def listed(names: Iterable[str]) -> str:
    """Join the first names, and the number of further ones."""
    names = [*names]
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
