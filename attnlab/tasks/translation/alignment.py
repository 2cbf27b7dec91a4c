"""Word alignments out of attention maps, and how right they are beside gold links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

Link = tuple[int, int]


class AlignedSentence(NamedTuple):
    """A map and what it is held against."""

    # (..., T, S). Step t chooses target token t, so the first row belongs to the first token; rows
    # and columns beyond the tokens, of END and padding, are left out
    weights: np.ndarray
    # for each source token the number of its word, from 0; below 0 for a token of no word
    source_words: Sequence[int]
    target_words: Sequence[int]  # for each target token the number of its word
    gold: frozenset[Link]  # the right links


def parse_links(text: str) -> frozenset[Link]:
    """Links of one pair in Pharaoh's format: `0-0 1-2`, source word and target word from 0."""
    pairs = (link.split("-") for link in text.split())
    return frozenset((int(source), int(target)) for source, target in pairs)


def word_weights(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], shift: int = 0
) -> np.ndarray:
    """A map (T, S) as one from words to words: source pieces are summed, target pieces averaged.

    Words are as in `AlignedSentence`; gives (target words, source words). `shift` says which step
    aligns token t: t + shift. 0 is the step that chooses it, 1 the next one, whose input it is:
    scores that know the decoder's state alone align that word.
    """
    # (tokens, words): 1 where a token belongs to a word.
    source, target = (
        (np.asarray(words, int)[:, None] == np.arange(max(words, default=-1) + 1)).astype(float)
        for words in (source_words, target_words)
    )
    rows = np.asarray(weights, np.float64)[shift : shift + len(target), : len(source)]
    return (target / np.maximum(target.sum(axis=0), 1)).T @ rows @ source


def predicted_links(sentence: AlignedSentence, *, shift: int = 0) -> frozenset[Link]:
    """For each target word the source word of the largest weight; none where no word has any."""
    table = word_weights(*sentence[:3], shift)
    if not table.size:
        return frozenset()
    best = table.argmax(axis=1)
    looked = np.flatnonzero(table.max(axis=1) > 0)
    return frozenset((int(best[target]), int(target)) for target in looked)


def alignment_error_rate(sentences: Iterable[AlignedSentence], *, shift: int = 0) -> float:
    """How wrong the maps of a part are, `shift` as in `word_weights`."""
    return error_rate((predicted_links(each, shift=shift), each.gold) for each in sentences)


def error_rate(pairs: Iterable[tuple[AbstractSet[Link], AbstractSet[Link]]]) -> float:
    """1 - 2 |A and S| / (|A| + |S|) of links A and gold links S.

    Source: Och and Ney 2003, section 4.2, for gold links that are all sure. Without any link on
    either side nothing is wrong: 0.
    """
    right = total = 0
    for found, gold in pairs:
        total += len(found) + len(gold)
        right += 2 * len(found & gold)
    return 1 - right / total if total else 0.0
