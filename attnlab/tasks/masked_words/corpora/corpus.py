"""A corpus of texts without labels: documents of sentences, as a stream."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attnlab.errors import RequestError
from attnlab.tasks.base import Progress

PARTS = ("train", "validation", "test")


class Corpus:
    """Documents, each a list of sentences; the base of every corpus.

    A subclass takes exactly the settings of `conf/data/NAME.yaml` as keyword arguments, and gives
    `_read` and `_content`.
    """

    name: ClassVar[str] = ""  # the corpus's name, as in `data=NAME`
    origin: ClassVar[str] = ""  # who made it, and where it is from
    license: ClassVar[str] = ""  # the terms it is given under
    fetchable: ClassVar[bool] = False  # whether it can be downloaded
    # the settings without which there is no corpus, as on the command line
    needs: ClassVar[str] = ""

    # the corpus's own division, of `PARTS`; those that are missing are held out from train
    own_parts: tuple[str, ...] = ("train",)
    limit: int | None = None  # only the first so many documents of train count; None takes all
    validation: float = 0.05  # share of the documents, of what has no parts of its own
    test: float = 0.05  # share for the test

    def open(self, cache: Path, progress: Progress | None = None) -> None:
        """Find the corpus's files.

        Raises:
            RequestError: a file is missing, or not what it should be.
        """

    def location(self, cache: Path) -> Path | None:
        """Where the corpus's files lie, without opening them; None where there are none."""
        path = getattr(self, "path", None)
        return Path(path).expanduser() if path else None

    def documents(self, part: str = "train") -> Iterator[Sequence[str]]:
        """The sentences of each document of one of `own_parts`, in an order that stays the same."""
        return itertools.islice(self._read(part), self.limit if part == "train" else None)

    def digest(self) -> str:
        """SHA-256 that changes with the content and with every setting that decides the texts."""
        keys = ("own_parts", "limit", "validation", "test")
        decisive = {**{key: getattr(self, key) for key in keys}, "content": self._content()}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def _read(self, part: str) -> Iterator[Sequence[str]]:
        raise NotImplementedError

    def _content(self) -> Any:
        """What identifies the raw content, such as the SHA-256 of each file; JSON-ready."""
        raise NotImplementedError


def divided(corpus: Corpus, seed: int) -> dict[str, list[Sequence[str]]]:
    """The documents of train, validation and test of an opened corpus, in its order.

    What has no part of its own is held out from train by the seed: the share that the corpus's
    settings `validation` and `test` ask for, at least one document. A document that stands there
    twice is in one part alone.

    Raises:
        RequestError: there are too few documents, or one can't be read.
    """
    parts = {part: list(corpus.documents(part)) for part in corpus.own_parts}
    missing = [part for part in PARTS if part not in parts]
    different = [*dict.fromkeys(map(tuple, parts["train"]))]
    if len(different) <= len(missing):
        raise RequestError(
            f"data={corpus.name}: expected at least {len(missing) + 1} different documents, for "
            f"{', '.join(PARTS)}, got {len(different)}; empty lines end a document."
        )
    if missing:
        taken = _held_out(corpus, different, missing, seed)
        for part in ("train", *missing):
            parts[part] = [own for own in different if taken.get(own, "train") == part]
    return {part: parts[part] for part in PARTS}


def _held_out(
    corpus: Corpus, documents: Sequence[tuple[str, ...]], missing: Sequence[str], seed: int
) -> dict[tuple[str, ...], str]:
    """The part of each document that isn't trained on."""
    rest = _shuffled(documents, seed)
    taken: dict[tuple[str, ...], str] = {}
    for part in missing:
        count = max(round(getattr(corpus, part) * len(documents)), 1)
        some, rest = rest[:count], rest[count:]
        taken |= dict.fromkeys(some, part)
    if not rest:
        raise RequestError(
            "data.validation + data.test: expected shares that leave documents to train on, got "
            f"{corpus.validation:g} + {corpus.test:g} of {len(documents)}."
        )
    return taken


def _shuffled(documents: Sequence[Any], seed: int) -> list[Any]:
    """Documents in a random order that is the same on every machine."""

    def rank(document: Sequence[str]) -> bytes:
        text = "\n".join(document).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, salt=seed.to_bytes(8, "little")).digest()

    return sorted(documents, key=rank)
