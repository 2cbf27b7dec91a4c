"""What metrics and the columns of tables mean: entries of docs/reference/glossary.md, by word."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError

_TERM = re.compile(r"\*\*(.+?)\*\*")
_PARTS = ("test ", "val ", "train ")  # splits, with which names of metrics may start


class Entry(NamedTuple):
    """One term, or several with a common explanation."""

    term: str  # as the glossary has it: `MSE, MAE`
    names: frozenset[str]  # the terms one by one, as `_plain` writes them
    others: frozenset[str]  # other words in code marks: baselines, columns, files
    text: str  # the explanation with the term, without markup


@cache
def entries() -> list[Entry]:
    """Read the glossary: inside an installed package, or in docs of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / "glossary.md", package.parent / "docs/reference/glossary.md"):
        if path.is_file():
            paragraphs = path.read_text(encoding="utf-8").split("\n\n")
            return [entry for paragraph in paragraphs for entry in _entries(paragraph)]
    raise RequestError(f"{package}: its glossary is missing: install attnlab again.")


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
    """Normalise a term for searching: lower case, spaces for `_`."""
    return " ".join(word.lower().replace("_", " ").split())


def terms() -> list[str]:
    """List the terms, one by one."""
    return sorted({name for entry in entries() for name in entry.names})


def explained(word: str) -> list[str]:
    """Explain a metric or a column in lines; empty if the glossary does not have the word.

    Terms have priority over words that are only mentioned in code marks. If neither is found, the
    word is searched without the name of the split: `val_loss` is a loss.
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
