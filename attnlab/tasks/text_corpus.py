"""What corpora of several kinds share: names, files, and what decides their items."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from attnlab.errors import RequestError
from attnlab.tasks.declaration import Progress
from attnlab.text.reading import printable

PARTS = ("train", "validation", "test")
_LISTED = 5  # names in a sentence
_Item = TypeVar("_Item")


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
        path = getattr(self, "path", None)
        return Path(path).expanduser() if path else None


class TextCorpus(NamedCorpus):
    """Texts, or other items, in parts; a subclass gives `_read` and `_content`."""

    noun: ClassVar[str] = "text"  # what an item of it is called

    # the corpus's own division, of `PARTS`; those that are missing are held out from train
    own_parts: tuple[str, ...] = ("train",)
    # items of each part that were left out because a later part has the same text
    left_out: Mapping[str, int] = MappingProxyType({})

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
        decisive = {**{key: getattr(self, key) for key in keys}, "content": self._content()}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

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

    path: str | None = None
    validation_path: str | None = None
    test_path: str | None = None

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Read the files; see `NamedCorpus.open`."""
        keys = {"train": "path", "validation": "validation_path", "test": "test_path"}
        self.set_items(
            {
                part: self._items(getattr(self, key), f"data.{key}", progress)
                for part, key in keys.items()
                if getattr(self, key) or part == "train"
            }
        )

    def _items(self, path: str | None, key: str, progress: Progress | None) -> Sequence[Any]:
        """The items of what a setting names; raises `RequestError` where it is no such thing."""
        raise NotImplementedError


def rank(key: str, seed: int) -> bytes:
    """What the item of a key is sorted by: random, and the same on every machine."""
    salt = seed.to_bytes(8, "little")
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), salt=salt).digest()


def leave_out_repeated(
    corpus: TextCorpus,
    parts: dict[str, list[_Item]],
    key: Callable[[_Item], str],
    why: str,
) -> None:
    """Remove from each part the items that a later part has, too.

    Items of one `key` count as one. `Corpus.left_out` counts what was removed, and `notes` say so,
    with `why` as the reason.
    """
    later: set[str] = set()
    counts = {}
    for part in reversed([part for part in PARTS if part in parts]):
        keyed = [(key(each), each) for each in parts[part]]
        parts[part] = [each for own, each in keyed if own not in later]
        if count := len(keyed) - len(parts[part]):
            counts[part] = count
            which = f"{count:,} of the {len(keyed):,} {corpus.noun}s of {part}"
            are = "is" if count == 1 else "are"
            corpus.note(f"{which} {are} left out: {why}.")
        later |= {own for own, _ in keyed}
    corpus.left_out = counts


def same_text(ignore_case: bool, noun: str = "text") -> str:
    """Why an item is left out, for `leave_out_repeated`."""
    return f"a later part has the same {noun}" + ", ignoring case" * ignore_case


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
