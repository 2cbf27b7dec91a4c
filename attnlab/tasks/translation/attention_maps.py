"""Attention maps of a model on a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.alignment import parse_links
from attnlab.tasks.translation.batches import cut_sources
from attnlab.tasks.translation.decoding.search import Search, pad_rows
from attnlab.text.tokenizers import END, START, Tokenizer

if TYPE_CHECKING:
    from attnlab.tasks.translation.text.tokenized_corpus import TokenizedPart

Tokenizers = tuple[Tokenizer, Tokenizer]  # the source's and the target's
# Sentences whose attention is recorded, and the most tokens by which a recorded translation
# exceeds its source and its reference: bad translations would not end.
_EXAMPLES, _LONGER = 8, 12


class Example(NamedTuple):
    """A sentence, its translation, and the attention maps between them."""

    # `cross` (L, H, T, S), and of a Transformer `encoder` (L, H, S, S) and `decoder` (L, H, T, T);
    # step t predicts target token t. Empty without attention.
    maps: dict[str, np.ndarray]
    source: list[str]  # labels of the source tokens, END included
    target: list[str]  # labels of the target tokens, END included


def example(
    model: keras.Model,
    tokenizers: Tokenizers,
    source: np.ndarray,
    target: np.ndarray,
) -> Example:
    """Return the maps of one sentence, (S,) ids with END, and any translation (T,) of it."""
    maps = model.attend(np.asarray(source)[None], np.array([[START, *target]]))
    return Example(
        {name: weights[0] for name, weights in maps.items()},
        tokenizers[0].pieces(source),
        tokenizers[1].pieces([*target, END]),
    )


def recorded_examples(
    tokenizers: Tokenizers, model: keras.Model, search: Search, part: TokenizedPart
) -> dict[str, np.ndarray] | None:
    """Translate eight sentences of a part, and return the attention between both sides.

    The same sentences are chosen each time, short and long ones. A translation that is much longer
    than its source and its reference is cut.

    Returns:
        The arrays of an epoch in attention.npz; None without attention. `cross` (N, L, H, T, S),
        padded with 0. Of a Transformer `encoder` (L, H, S, S) and `decoder` (L, H, T, T) of the
        first sentence. `source` (N, S), `target` (N, T) and `reference` (N, R): labels of tokens,
        END included except in the reference, padded with "". If the corpus has gold links, `links`
        (N, R, S): whether tokens of the reference and of the source are linked.
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
    maps = model.attend(
        pad_rows(sources), pad_rows([np.array([START, *target[:-1]]) for target in targets])
    )
    if not maps:
        return None
    cross = np.array(maps.pop("cross"), np.float16)
    for weights, target in zip(cross, targets, strict=True):
        weights[:, :, len(target) :] = 0
    arrays = {"cross": cross}
    for name, weights in maps.items():
        size = len(sources[0] if name == "encoder" else targets[0])
        arrays[name] = weights[0, :, :, :size, :size].astype(np.float16)
    sides = {"source": (0, sources), "target": (1, targets), "reference": (1, references)}
    for name, (side, rows) in sides.items():
        arrays[name] = _labels([tokenizers[side].pieces(row) for row in rows])
    source_texts, reference_texts, links = part.texts()
    if links is not None:
        shape = *arrays["reference"].shape, cross.shape[-1]
        arrays["links"] = np.zeros(shape, bool)
        for linked, number in zip(arrays["links"], numbers, strict=True):
            gold = parse_links(links[number])
            source_words = tokenizers[0].word_numbers(source_texts[number])[: shape[2]]
            for row, word in enumerate(tokenizers[1].word_numbers(reference_texts[number])):
                for column, source_word in enumerate(source_words):
                    linked[row, column] = (source_word, word) in gold
    return arrays


def _labels(rows: Sequence[Sequence[str]]) -> np.ndarray:
    """Return labels as an array, padded with ""."""
    width = max(map(len, rows))
    return np.array([[*row, *[""] * (width - len(row))] for row in rows])
