"""Measures of attention maps: entropy, distance from the diagonal, alignment error rate.

A map is a NumPy array (..., T, S) of weights after the softmax: T target steps attend to S source
positions; the axes in front, such as layers and heads, stay in the result. Rows need not sum to 1,
because those of Luong's local attention don't. A row whose weights are all 0 gives NaN, and means
skip it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

_ROUNDING = 1e-6  # of weights in float32 that should add up to a round number
Link = tuple[int, int]


class AlignedSentence(NamedTuple):
    """An attention map, the words of its tokens, and the gold alignment."""

    # (..., T, S). Step t predicts target token t, so row 0 belongs to token 0. Padding is left out.
    weights: np.ndarray
    # the number of each source token's word, from 0; below 0 for a token of no word
    source_words: Sequence[int]
    target_words: Sequence[int]  # the number of each target token's word
    gold: frozenset[Link]  # the gold links


def entropy(weights: np.ndarray, *, normalised: bool = False) -> np.ndarray:
    """H_t = - sum_s a_ts ln a_ts in nats, of rows divided by their sum.

    (..., T, S) to (..., T): 0 if all weight is on one position, ln S if it is uniform.
    `normalised` divides by ln S, so that sentences of all lengths range from 0 to 1 (S = 1 gives
    0).
    """
    rows = _distributions(weights)
    values = -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(axis=-1) + 0.0
    return values / max(np.log(rows.shape[-1]), 1e-300) if normalised else values


def largest_weight(weights: np.ndarray) -> np.ndarray:
    """max_s a_ts, of rows as the model used them: (..., T, S) to (..., T)."""
    rows = np.asarray(weights, np.float64)
    return np.where((rows != 0).any(axis=-1), rows.max(axis=-1), np.nan)


def diagonal_distance(weights: np.ndarray) -> np.ndarray:
    """D_t = sum_s a_ts |(s + 1/2) / S - (t + 1/2) / T|, of rows divided by their sum.

    (..., T, S) to (..., T), below 1. Positions are the centres of their cells: reversing both
    sentences changes nothing, and a square map with all weight on its diagonal has the distance 0.
    """
    rows = _distributions(weights)
    steps, width = rows.shape[-2:]
    where = (np.arange(width) + 0.5) / width
    when = (np.arange(steps) + 0.5) / steps
    return (rows * np.abs(where - when[:, None])).sum(axis=-1)


def covered_share(weights: np.ndarray) -> np.ndarray:
    """Share of source positions with sum_t a_ts >= 1/2, half a step's weight: to (...).

    Source: the sum is the coverage vector after the last step of See et al. 2017 (arXiv
    1704.04368), equation 10; Tu et al. 2016 (arXiv 1601.04811), equation 8, with fertility 1.
    """
    return (np.asarray(weights, np.float64).sum(axis=-2) >= 0.5 - _ROUNDING).mean(axis=-1)


def head_similarity(weights: np.ndarray) -> np.ndarray:
    """Mean cosine of two heads' rows, over all pairs of heads and steps: (..., H, T, S) to (...).

    1 if all heads have equal weights, 0 if no two heads attend to the same position; NaN if there
    is only one head.
    """
    rows = np.asarray(weights, np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    heads = rows.shape[-3]
    if heads < 2:
        return np.full(rows.shape[:-3], np.nan)
    # |sum of the units|^2 contains every pair twice, and each head once with itself.
    pairs = (units.sum(axis=-3) ** 2).sum(axis=-1) - (units**2).sum(axis=(-3, -1))
    return pairs.mean(axis=-1) / (heads * (heads - 1))


def measures(weights: np.ndarray, are: str = "shares") -> dict[str, np.ndarray]:
    """Return all measures of the maps (..., H, T, S) of one sentence, means over target steps.

    Each has the shape of the axes in front of T; `head_similarity` lacks the axis of heads.

    Args:
        weights: the maps.
        are: what they are, as `Attention.weights_are` says. Entropy is defined for shares only, the
            distance from the diagonal and coverage for weights that aren't below 0; else NaN.
    """
    rows = np.asarray(weights, np.float64)
    found = _all_measures(rows)
    undefined = {"shares": (), "positive": _OF_SHARES, "signed": (*_OF_SHARES, *_OF_POSITIVE)}[are]
    return found | {name: np.full_like(found[name], np.nan) for name in undefined}


_OF_SHARES = ("entropy", "normalised_entropy")
_OF_POSITIVE = ("diagonal_distance", "covered_share")


def _all_measures(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "entropy": _mean(entropy(rows)),
        "normalised_entropy": _mean(entropy(rows, normalised=True)),
        "largest_weight": _mean(largest_weight(rows)),
        "diagonal_distance": _mean(diagonal_distance(rows)),
        "covered_share": covered_share(rows),
        "head_similarity": head_similarity(rows),
    }


def _distributions(weights: np.ndarray) -> np.ndarray:
    """Divide rows by their sum; a row whose weights are all 0 becomes NaN."""
    rows = np.asarray(weights, np.float64)
    total = rows.sum(axis=-1, keepdims=True)
    return np.divide(rows, total, out=np.full_like(rows, np.nan), where=total > 0)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis, NaN left out; NaN if all values are NaN."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)


def parse_links(text: str) -> frozenset[Link]:
    """Parse links in Pharaoh format, `0-0 1-2`: source word and target word, from 0."""
    pairs = (link.split("-") for link in text.split())
    return frozenset((int(source), int(target)) for source, target in pairs)


def word_weights(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], shift: int = 0
) -> np.ndarray:
    """Turn a map (T, S) into one between words: sum source tokens, average target tokens.

    Words are as in `AlignedSentence`; returns (target words, source words). Step t + `shift` aligns
    token t: 0 is the step that predicts the token, 1 the next step, which reads it. Mechanisms that
    score with the decoder's state align the word that the step reads.
    """
    # (tokens, words): 1 if the token belongs to the word.
    source, target = (
        (np.asarray(words, int)[:, None] == np.arange(max(words, default=-1) + 1)).astype(float)
        for words in (source_words, target_words)
    )
    rows = np.asarray(weights, np.float64)[shift : shift + len(target), : len(source)]
    return (target / np.maximum(target.sum(axis=0), 1)).T @ rows @ source


def predicted_links(sentence: AlignedSentence, shift: int = 0) -> frozenset[Link]:
    """Link each target word to the source word of the largest weight, unless all weights are 0."""
    table = word_weights(*sentence[:3], shift)
    if not table.size:
        return frozenset()
    best = table.argmax(axis=1)
    looked = np.flatnonzero(table.max(axis=1) > 0)
    return frozenset((int(best[target]), int(target)) for target in looked)


def alignment_error_rate(sentences: Iterable[AlignedSentence], shift: int = 0) -> float:
    """Return the error rate of the links that maps predict; `shift` is as in `word_weights`."""
    return error_rate((predicted_links(each, shift), each.gold) for each in sentences)


def error_rate(pairs: Iterable[tuple[frozenset[Link], frozenset[Link]]]) -> float:
    """Return 1 - 2 |A and S| / (|A| + |S|) of predicted links A and gold links S.

    Source: Och and Ney 2003, section 4.2, for gold links that are all sure. Without any links the
    rate is 0.
    """
    right = total = 0
    for found, gold in pairs:
        total += len(found) + len(gold)
        right += 2 * len(found & gold)
    return 1 - right / total if total else 0.0
