"""The attention that a run records, and its word alignments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product, zip_longest
from typing import TYPE_CHECKING

import keras
import numpy as np

from attnlab.tasks.translation.search import Search
from attnlab.tasks.translation.tokenized import Tokenizers, cut_sources, pad_pairs
from attnlab.text.tokenizers import END, START, pad_rows

if TYPE_CHECKING:
    from attnlab.tasks.translation.tokenized import TokenizedPart

Link = tuple[int, int]  # a source word and a target word, from 0
# Sentences whose attention is recorded, and the most tokens by which a recorded translation
# exceeds its source and its reference: bad translations would not end.
_EXAMPLES, _LONGER = 8, 12
# Sentences that are aligned, and how many per batch.
_MOST, _BATCH = 1000, 64


def recorded_examples(
    tokenizers: Tokenizers, model: keras.Model, search: Search, part: TokenizedPart
) -> dict[str, np.ndarray] | None:
    """Translate eight sentences of a part, and return the attention between both sides.

    The same sentences are chosen each time, short and long ones. A translation that is much longer
    than its source and its reference is cut.

    Returns:
        The arrays of an epoch in attention.npz, which docs/reference/run-folder.md describes; None
        without attention.
    """
    order = np.argsort(part.source.lengths, kind="stable")
    # The shortest and the longest sentences are rarely typical.
    places = np.linspace(0.25, 0.95, min(_EXAMPLES, len(order))) * (len(order) - 1)
    numbers = [int(order[int(place)]) for place in places]
    sources = cut_sources(model, [part.source[number] for number in numbers])
    references = [part.target[number][1:-1] for number in numbers]
    targets = [
        np.array([*best.tokens, END])[: max(len(source), len(reference)) + _LONGER]
        for source, reference, (best, *_) in zip(sources, references, search(sources), strict=True)
    ]
    weights = model.attention_weights(
        pad_rows(sources), pad_rows([np.array([START, *target[:-1]]) for target in targets])
    )
    if weights is None:
        return None
    cross = weights.astype(np.float16)
    for layers, target in zip(cross, targets, strict=True):
        layers[:, :, len(target) :] = 0
    arrays = {"cross": cross}
    sides = {"source": (0, sources), "target": (1, targets), "reference": (1, references)}
    for name, (side, rows) in sides.items():
        labels = zip_longest(*(tokenizers[side].pieces(row) for row in rows), fillvalue="")
        arrays[name] = np.array([*labels]).T
    source_texts, reference_texts, links = part.texts()
    if links is not None:
        _, height, width = shape = *arrays["reference"].shape, cross.shape[-1]
        arrays["links"] = np.zeros(shape, bool)
        for linked, number in zip(arrays["links"], numbers, strict=True):
            gold = parse_links(links[number])
            columns = tokenizers[0].word_numbers(source_texts[number])[:width]
            words = tokenizers[1].word_numbers(reference_texts[number])[:height]
            for (row, word), (column, other) in product(enumerate(words), enumerate(columns)):
                linked[row, column] = (other, word) in gold
    return arrays


def parse_links(text: str) -> frozenset[Link]:
    """Parse links in Pharaoh format, `0-0 1-2`: source word and target word, from 0."""
    pairs = (link.split("-") for link in text.split())
    return frozenset((int(source), int(target)) for source, target in pairs)


def predicted_links(
    weights: np.ndarray, source_words: Sequence[int], target_words: Sequence[int], shift: int = 0
) -> frozenset[Link]:
    """Link each target word to the source word of the largest weight, unless all weights are 0.

    Weights (T, S) are those of a map without padding. Those of a word are summed over its source
    tokens and averaged over its target tokens. `source_words` and `target_words` have the number of
    each token's word, from 0; below 0 for a token of no word.

    Step t + `shift` aligns token t: 0 is the step that predicts the token, 1 the next step, which
    reads it. Mechanisms that score with the decoder's state align the word that the step reads.
    """
    # (tokens, words): 1 if the token belongs to the word.
    source, target = (
        (np.asarray(words, int)[:, None] == np.arange(max(words, default=-1) + 1)).astype(float)
        for words in (source_words, target_words)
    )
    rows = np.asarray(weights, np.float64)[shift : shift + len(target), : len(source)]
    table = (target / np.maximum(target.sum(axis=0), 1)).T @ rows @ source
    if not table.size:
        return frozenset()
    best = table.argmax(axis=1)
    return frozenset((int(best[row]), int(row)) for row in np.flatnonzero(table.max(axis=1) > 0))


def error_rate(pairs: Iterable[tuple[frozenset[Link], frozenset[Link]]]) -> float:
    """Return 1 - 2 |A and S| / (|A| + |S|) of predicted links A and gold links S.

    Source: Och and Ney 2003, section 4.2, for gold links that are all sure. Without any links the
    rate is 0.
    """
    right = total = 0
    for predicted, gold in pairs:
        total += len(predicted) + len(gold)
        right += 2 * len(predicted & gold)
    return 1 - right / total if total else 0.0


def alignment(
    tokenizers: Tokenizers, model: keras.Model, part: TokenizedPart
) -> dict[str, float] | None:
    """Compare the cross-attention over reference translations with the gold links of a part.

    Weights are the mean over heads and layers. In `shifted_error_rate` step t aligns the word that
    it reads instead of the one that it predicts. Returns None without attention or gold links.
    """
    sources, references, links = part.texts()
    if links is None:
        return None
    pairs: list[list[tuple[frozenset[Link], frozenset[Link]]]] = [[], []]  # by shift
    for first in range(0, min(len(sources), _MOST), _BATCH):
        rows = np.arange(first, min(first + _BATCH, len(sources), _MOST))
        cross = model.attention_weights(*pad_pairs(model, part, rows))
        if cross is None:
            return None
        for weights, row in zip(cross, rows, strict=True):
            words = (
                tokenizers[0].word_numbers(sources[row]),
                tokenizers[1].word_numbers(references[row]),
            )
            width, steps = (len(numbers) + 1 for numbers in words)
            if steps > weights.shape[-2] or width > weights.shape[-1]:
                continue  # the model read only a part of the sentence
            mean = weights[..., :steps, :width].mean(axis=(0, 1))
            for shift in (0, 1):
                predicted = predicted_links(mean, *words, shift)
                pairs[shift].append((predicted, parse_links(links[row])))
    if not pairs[0]:
        return None
    return {"error_rate": error_rate(pairs[0]), "shifted_error_rate": error_rate(pairs[1])}
