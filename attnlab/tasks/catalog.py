"""The data of a kind, for `attnlab data` to list, count and download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from attnlab.config.options import option_class, option_content, options
from attnlab.tasks.declaration import Progress

Row = Mapping[str, Any]  # what `attnlab data list NAME --json` prints


class Stored(Protocol):
    """Data that are stored in files.

    Attributes:
        name: the data's name.
        origin: who made the data, and where they are from.
        license: the license of the data.
        fetchable: whether they can be downloaded.
        needs: the required settings as on the command line; "" if there are none.
    """

    name: str
    origin: str
    license: str
    fetchable: bool
    needs: str

    def open(self, cache: Path, progress: Progress | None = None) -> Any:
        """Find the files; download missing ones into `cache`.

        Raises:
            RequestError: a file is missing or has other content.
        """

    def location(self, cache: Path) -> Path | None:
        """Return the data's file or folder; None if the user must download or name it first."""


class Sheet(NamedTuple):
    """A description of data for people: lines, and a table whose first column has names."""

    what: str  # what the data are, in words
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    above: Sequence[str] = ()  # lines before the table
    below: Sequence[str] = ()  # lines after the table


@dataclass(frozen=True)
class Catalog:
    """The data of a kind, and functions on them.

    Attributes:
        group: the config group whose options `names` have the settings of the data.
        names: returns the names of the data.
        make: makes the data, given a name and settings.
        about: returns the entries of a row that describe data, such as their languages.
        count: returns the entries of a row on the content, given the cache folder and a seed.
        sheet: formats a row with both for people.
        settings: the settings that belong to the data; None: all of the option.
    """

    group: str
    names: Callable[[], Sequence[str]]
    make: Callable[[str, Mapping[str, Any]], Any]
    about: Callable[[Any], Mapping[str, str]]
    count: Callable[[Any, Path, int, Progress], Row]
    sheet: Callable[[Row], Sheet]
    settings: tuple[str, ...] | None = None


def corpora(base: type, **having: Any) -> list[str]:
    """Return the options of the group `data` whose classes have this base and these attributes."""
    classes = {name: option_class("data", name) for name in options("data")}
    own = {name: each for name, each in classes.items() if issubclass(each, base)}
    wanted = having.items()
    return [name for name, each in own.items() if all(getattr(each, k) == v for k, v in wanted)]


def make_corpus(name: str, given: Mapping[str, Any] | None = None) -> Any:
    """Make the corpus of a YAML file; `given` overrides its settings."""
    content = option_content("data", name) or {}
    settings = {k: v for k, v in content.items() if k not in ("name", "rules", "_target_")}
    return option_class("data", name)(**{**settings, **(given or {})})


def corpus_catalog(
    base: type,
    what: str,
    describe: Callable[[Any, int], Mapping[str, Any]],
    lines: Callable[[Row], Iterable[Sequence[str]]],
    items: str | None = None,
) -> Catalog:
    """Make the catalog of all corpora whose classes have a base.

    Args:
        base: the base class, a `TextCorpus`.
        what: what the items are, in words.
        describe: returns the numbers of each part, given an opened corpus and a seed.
        lines: returns the lines of a table of these numbers: a name, and a cell per part.
        items: the word for items, in the plural; None: the corpus's `noun` with an s.
    """

    def count(corpus: Any, cache: Path, seed: int, progress: Progress) -> Row:
        if corpus.fetchable and corpus.location(cache) is None:
            return {}
        corpus.open(cache, progress)
        parts = describe(corpus, seed)  # which may add notes
        return {"notes": list(corpus.notes), "parts": parts}

    def sheet(row: Row) -> Sheet:
        described = f"{row['items']} {what}"
        if "parts" not in row:
            return Sheet(described)
        return Sheet(described, ["", *row["parts"]], [*lines(row)])

    return Catalog(
        group="data",
        names=lambda: corpora(base),
        make=make_corpus,
        about=lambda corpus: {"items": items or f"{corpus.noun}s"},
        count=count,
        sheet=sheet,
    )
