"""A sentence and its translation."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str  # the sentence
    target: str  # its translation
    # gold word alignment in Pharaoh format, `0-0 1-2`: the numbers, from 0, of a source word and a
    # target word as `text.words.split_words` splits them; None if unknown
    links: str | None = None
