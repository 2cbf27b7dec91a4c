"""What metrics and the columns of tables mean: entries of docs/reference/glossary.md, by word."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError

_TERM = re.compile(r"\*\*(.+?)\*\*")
_PARTS = ("test ", "val ", "train ")  # of the data, with which names of metrics may begin


class Entry(NamedTuple):
    """A term, or several that have one explanation."""

    term: str  # as the glossary has it: `MSE, MAE`
    names: frozenset[str]  # the terms one by one, as `_plain` writes them
    others: frozenset[str]  # what else has code marks: names of baselines, columns and files
    text: str  # with the term, without marks


@cache
def entries() -> list[Entry]:
    """Read the glossary: inside an installed package, or in docs of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / "glossary.md", package.parent / "docs/reference/glossary.md"):
        if path.is_file():
            paragraphs = path.read_text(encoding="utf-8").split("\n\n")
            return [entry for paragraph in paragraphs for entry in _entries(paragraph)]
    raise RequestError(f"The glossary is missing beside {package}: install again.")


def _entries(paragraph: str) -> list[Entry]:
    """Read the entries of a paragraph, each from its term to the next one."""
    found = [*_TERM.finditer(paragraph)]
    ends = [match.start() for match in found[1:]] + [len(paragraph)]
    return [
        _entry(match[1], paragraph[match.start() : end])
        for match, end in zip(found, ends, strict=False)
    ]


def _entry(term: str, text: str) -> Entry:
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("*", "")
    coded = frozenset(map(_plain, re.findall(r"`([^`]+)`", text)))
    names = frozenset(map(_plain, re.split(r", |; | and ", term)))
    return Entry(term, names, coded, " ".join(plain.split()))


def _plain(word: str) -> str:
    """Write a term as it is looked for: in small letters, with spaces for `_`."""
    return " ".join(word.lower().replace("_", " ").split())


def terms() -> list[str]:
    """List the terms, one by one."""
    return sorted({name for entry in entries() for name in entry.names})


def explained(word: str) -> list[str]:
    """Explain a metric or a column in lines; none where the glossary does not know the word.

    A term counts before what is only mentioned in code marks, and both before the same without
    the part of the data: `val_loss` is a loss.
    """
    plain = _plain(word)
    for asked in (plain, *(plain.removeprefix(part) for part in _PARTS if plain.startswith(part))):
        known = entries()
        for found in (
            [entry for entry in known if asked in entry.names],
            [entry for entry in known if asked in entry.others],
        ):
            if found:
                return [f"    {entry.text}" for entry in found]
    return []
