"""Word alignments out of attention maps, and how right they are beside gold links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.translation.map_measures import map_rows

Link = tuple[int, int]
_LINK = re.compile(r"(\d{1,9})([-?p])(\d{1,9})", re.ASCII)


class Links(NamedTuple):
    """Gold links of a sentence pair, each (source word, target word), counted from 0."""

    sure: frozenset[Link]  # those that an alignment must have
    possible: frozenset[Link]  # those that it may have; all sure ones are among them


class AlignedSentence(NamedTuple):
    """A map and what it is held against."""

    # (T, S), or (H, T, S) whose heads are averaged. Step t chooses target token t, so the first row
    # belongs to the first token; rows and columns beyond the tokens, of END and padding, are left
    # out
    weights: np.ndarray
    # for each source token the number of its word, from 0; below 0 for a token of no word
    source_words: Sequence[int]
    target_words: Sequence[int]  # for each target token the number of its word
    gold: Links  # the right links


def parse_links(text: str, where: str = "links") -> Links:
    """Links of one pair in Pharaoh's format: `0-0 1-2`, a possible link `1?2` or `1p2`.

    Raises:
        RequestError: Something else stands there; it names the place as `where`.
    """
    sure, possible = set(), set()
    for word in text.split():
        found = _LINK.fullmatch(word)
        if not found:
            raise RequestError(
                f"{where}: expected links such as 0-0 1-2, or 1?2 for a possible one, got {word!r}."
            )
        link = int(found[1]), int(found[3])
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return Links(frozenset(sure), frozenset(possible))


def word_weights(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], *, shift: int = 0
) -> np.ndarray:
    """A map from words to words: source pieces are summed, target pieces and heads averaged.

    Maps and words are as in `AlignedSentence`; gives (target words, source words). `shift` says
    which step aligns token t: t + shift. 0 is the step that chooses it, 1 the next one, whose input
    it is: scores that know the decoder's state alone align that word.

    Raises:
        ValueError: The map has fewer columns than source tokens, or fewer rows than target tokens
            and the shift need.
    """
    rows = map_rows(weights)
    rows = rows.mean(axis=tuple(range(rows.ndim - 2)))
    source, target = np.asarray(source_words, int), np.asarray(target_words, int)
    if rows.shape[0] < len(target) + shift or rows.shape[1] < len(source) or shift < 0:
        raise ValueError(
            f"expected a map of at least {len(target)} target tokens, {shift} steps of shift and "
            f"{len(source)} source tokens, got {rows.shape[0]} steps by {rows.shape[1]} positions"
        )
    rows = rows[shift : shift + len(target), : len(source)]
    members = _membership(target)
    pieces = np.maximum(members.sum(axis=0), 1)
    return (members / pieces).T @ rows @ _membership(source)


def predicted_links(sentence: AlignedSentence, *, shift: int = 0) -> frozenset[Link]:
    """For each target word the source word of the largest weight; none where no word has any."""
    table = word_weights(
        sentence.weights, sentence.source_words, sentence.target_words, shift=shift
    )
    if not table.size:
        return frozenset()
    best = table.argmax(axis=1)
    looked = np.flatnonzero(table.max(axis=1) > 0)
    return frozenset((int(best[target]), int(target)) for target in looked)


def alignment_error_rate(sentences: Iterable[AlignedSentence], *, shift: int = 0) -> float:
    """How wrong the maps of a part are, `shift` as in `word_weights`."""
    return error_rate((predicted_links(each, shift=shift), each.gold) for each in sentences)


def error_rate(pairs: Iterable[tuple[AbstractSet[Link], Links]]) -> float:
    """1 - (|A and S| + |A and P|) / (|A| + |S|) of links A, sure ones S and possible ones P.

    Source: Och and Ney 2003, section 4.2. Without any link on either side nothing is wrong: 0.
    """
    right = total = 0
    for found, gold in pairs:
        total += len(found) + len(gold.sure)
        right += len(found & gold.sure) + len(found & (gold.possible | gold.sure))
    return 1 - right / total if total else 0.0


def _membership(words: np.ndarray) -> np.ndarray:
    """(tokens, words): 1 where a token belongs to a word."""
    return (words[:, None] == np.arange(max(words, default=-1) + 1)).astype(np.float64)
