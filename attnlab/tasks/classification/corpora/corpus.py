"""A corpus of labelled texts, or of other items with classes, as a stream."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from attnlab.tasks.text_corpus import TextCorpus
from attnlab.text.cleaning import text_key


class Labelled(NamedTuple):
    """A text and its class."""

    text: str
    label: str  # the name of its class
    group: str = ""  # what results are told apart by beside the class, such as a number of nouns

    def key(self, ignore_case: bool) -> str:
        """Return what texts that count as one share; see `text_key`."""
        return text_key(self.text, ignore_case=ignore_case)


class Item(Protocol):
    """What corpora are made of: a text, an image."""

    @property
    def label(self) -> str:
        """The name of its class."""

    def key(self, ignore_case: bool) -> str:
        """Return what items that count as one share, so that no two parts have them."""


class Corpus(TextCorpus):
    """Labelled texts, or other items; see `TextCorpus`."""
