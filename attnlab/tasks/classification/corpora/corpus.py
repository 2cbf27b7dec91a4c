"""Labelled texts, and the base class of their corpora."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from attnlab.tasks.text_corpus import TextCorpus
from attnlab.text.cleaning import text_key


class Labelled(NamedTuple):
    """A text and its class."""

    text: str
    label: str  # the name of its class
    group: str = ""  # accuracy is also reported by group, such as a number of nouns

    def key(self, ignore_case: bool) -> str:
        """Return a key that is equal for texts that count as one; see `text_key`."""
        return text_key(self.text, ignore_case=ignore_case)


class Item(Protocol):
    """An item of a corpus: a text or an image."""

    @property
    def label(self) -> str:
        """The name of its class."""

    def key(self, ignore_case: bool) -> str:
        """Return a key that is equal for items that count as one; parts share no keys."""


class Corpus(TextCorpus):
    """A corpus of labelled texts or images; see `TextCorpus`."""
