"""What metrics and the columns of tables mean: entries of docs/reference/glossary.md, by word."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError


class Entry(NamedTuple):
    """One term, or several with a common explanation."""

    terms: frozenset[str]
    mentions: frozenset[str]  # other words in code marks: baselines, columns, files
    text: str  # the explanation with the term, without markup


@cache
def entries() -> list[Entry]:
    """Read the glossary: inside an installed package, or in docs of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / "glossary.md", package.parent / "docs/reference/glossary.md"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            parts = (part for each in text.split("\n\n") for part in _split_terms(each))
            return [_entry(*part) for part in parts]
    raise RequestError(f"{package}: its glossary is missing: install attnlab again.")


def _split_terms(paragraph: str) -> list[tuple[str, str]]:
    """Return the terms of a paragraph, each with the text from it to the next one."""
    _, *pieces = re.split(r"\*\*(.+?)\*\*", paragraph)
    return [(term, term + text) for term, text in zip(pieces[::2], pieces[1::2], strict=True)]


def _entry(term: str, text: str) -> Entry:
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("*", "")
    mentions = frozenset(map(_plain, re.findall(r"`([^`]+)`", text)))
    return Entry(
        frozenset(map(_plain, re.split(r", |; | and ", term))), mentions, " ".join(plain.split())
    )


def _plain(word: str) -> str:
    """Normalise a term for searching: lower case, spaces for `_`."""
    return " ".join(word.lower().replace("_", " ").split())


def terms() -> list[str]:
    """List the terms, one by one."""
    return sorted({term for entry in entries() for term in entry.terms})


def explained(word: str) -> list[str]:
    """Explain a metric or a column in lines; empty if the glossary does not have the word.

    Terms have priority over mentions. Then the word is searched without the name of the split:
    `val_loss` is a loss.
    """
    plain = _plain(word)
    for name in (plain, re.sub(r"^(test|val|train) ", "", plain)):
        matches = [entry for entry in entries() if name in entry.terms]
        matches = matches or [entry for entry in entries() if name in entry.mentions]
        if matches:
            return [f"    {entry.text}" for entry in matches]
    return []
