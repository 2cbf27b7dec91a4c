"""Attention maps of a model on a few sentences, and their measures on a whole part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from attnlab.attention.head_measures import attention_layers
from attnlab.tasks.translation.batches import cut_sources, padded
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.map_measures import (
    AlignedSentence,
    alignment_error_rate,
    measures,
    parse_links,
)
from attnlab.text.tokenizers import END, START, Tokenizer

if TYPE_CHECKING:
    from attnlab.tasks.translation.text.tokenized_corpus import TokenizedPart

Tokenizers = tuple[Tokenizer, Tokenizer]  # the source's and the target's
# Sentences that are aligned, and how many per batch.
_MOST, _BATCH = 1000, 64


class Example(NamedTuple):
    """A sentence, its translation, and the attention maps between them."""

    # `cross` (L, H, T, S), and of a Transformer `encoder` (L, H, S, S) and `decoder` (L, H, T, T);
    # step t predicts target token t. Empty without attention.
    maps: dict[str, np.ndarray]
    source: list[str]  # labels of the source tokens, END included
    target: list[str]  # labels of the target tokens, END included
    gold: np.ndarray | None = None  # (T, S), whether tokens are linked; None if unknown


def example(
    model: keras.Model,
    tokenizers: Tokenizers,
    source: np.ndarray,
    target: np.ndarray,
) -> Example:
    """Return the maps of one sentence, (S,) ids with END, and any translation (T,) of it."""
    read = np.concatenate([[START], target])
    maps = model.attend(np.asarray(source)[None], read[None])
    return Example(
        {name: weights[0] for name, weights in maps.items()},
        tokenizers[0].pieces(source),
        tokenizers[1].pieces([*target, END]),
    )


def examples(
    tokenizers: Tokenizers, model: keras.Model, search: Search, part: TokenizedPart, count: int
) -> list[Example]:
    """Return the maps of short and long sentences of a part; none without attention."""
    order = np.argsort(part.source.lengths, kind="stable")
    # The shortest and the longest sentences are rarely typical.
    places = np.linspace(0.25, 0.95, min(count, len(order))) * (len(order) - 1)
    numbers = [int(order[int(place)]) for place in places]
    rows = cut_sources(model, [part.source[number] for number in numbers])
    found = []
    for number, row, (best, *_) in zip(numbers, rows, search(rows), strict=True):
        each = example(model, tokenizers, row, best.tokens)
        gold = _gold(tokenizers, part, number, best.tokens)
        whole = gold is not None and gold.shape == (len(each.target), len(each.source))
        found.append(each._replace(gold=gold if whole else None))
    return [each for each in found if each.maps]


def _gold(
    tokenizers: Tokenizers, part: TokenizedPart, number: int, tokens: np.ndarray
) -> np.ndarray | None:
    """Return the gold links (T, S) of a pair, with END; None unless its translation is right."""
    sources, references, links = part.texts()
    reference = references[number]
    if links is None or tokenizers[1].decode([tokens])[0] != reference:
        return None
    known = parse_links(links[number])
    columns = [*tokenizers[0].word_numbers(sources[number]), -1]
    steps = [*tokenizers[1].word_numbers(reference), -1]
    return np.array([[(column, step) in known for column in columns] for step in steps])


def stacked(found: list[Example]) -> dict[str, np.ndarray] | None:
    """Stack examples into the arrays of attention.npz; None without examples.

    Returns:
        `cross`, and of a Transformer `encoder` and `decoder`, each (N, L, H, ...), padded; `gold`
        (N, T, S), if known; `source` and `target`, (N, ...) labels, padded with "".
    """
    if not found:
        return None
    arrays = {name: _padded([each.maps[name] for each in found]) for name in found[0].maps}
    if any(each.gold is not None for each in found):
        nothing = np.zeros((0, 0))
        arrays["gold"] = _padded([nothing if e.gold is None else e.gold for e in found])
    for side in ("source", "target"):
        labels = [getattr(each, side) for each in found]
        width = max(map(len, labels))
        arrays[side] = np.array([[*row, *[""] * (width - len(row))] for row in labels])
    return arrays


def _padded(arrays: list[np.ndarray]) -> np.ndarray:
    shape = np.max([each.shape for each in arrays], axis=0)
    whole = np.zeros((len(arrays), *shape), np.float32)
    for place, each in enumerate(arrays):
        whole[(place, *map(slice, each.shape))] = each
    return whole


def attention_details(
    tokenizers: Tokenizers, model: keras.Model, part: TokenizedPart
) -> dict[str, Any]:
    """Measure the cross-attention over the reference translations of a part.

    JSON-ready: `attention_maps`, the means of the measures; if the corpus has gold links also
    `alignment`, see `_alignment`. Empty without attention.
    """
    maps = list(_aligned(tokenizers, model, part))
    if not maps:
        return {}
    found = _mean_measures(maps, _weights_are(model))
    details: dict[str, Any] = {"attention_maps": {"sentences": len(maps), **found}}
    if part.texts()[2] is not None:
        details["alignment"] = _alignment(maps)
    return details


def _alignment(maps: list[AlignedSentence]) -> dict[str, Any]:
    """Return alignment error rates, with each target word linked to its largest weight.

    Returns:
        `error_rate`, and `shifted_error_rate`, in which step t aligns the word that it reads
        instead of the one that it predicts, of the mean over heads and layers. With several layers
        also `layers`: both rates of each layer.
    """

    def rates(chosen: Any) -> dict[str, Any]:
        merged = []
        for each in maps:
            weights = each.weights[chosen]
            weights = weights.mean(axis=tuple(range(weights.ndim - 2)))
            merged.append(each._replace(weights=weights))
        names = ("error_rate", "shifted_error_rate")
        return {name: alignment_error_rate(merged, shift) for shift, name in enumerate(names)}

    found, layers = rates(...), range(maps[0].weights.shape[0])
    return {**found, "layers": [*map(rates, layers)]} if len(layers) > 1 else found


def _weights_are(model: keras.Model) -> str:
    """Return what the weights of a model's mechanisms are; the least restricted one decides."""
    found = {each.weights_are for each in attention_layers(model)}
    return next((each for each in ("signed", "positive") if each in found), "shares")


def _mean_measures(maps: list[AlignedSentence], are: str) -> dict[str, float]:
    """Average the measures over sentences, layers and heads."""
    found = [measures(each.weights, are) for each in maps]
    return {name: _known_mean([_known_mean(values[name]) for values in found]) for name in found[0]}


def _known_mean(values: Any) -> float:
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else float("nan")


def _aligned(
    tokenizers: Tokenizers, model: keras.Model, part: TokenizedPart
) -> Iterator[AlignedSentence]:
    """Yield the cross-attention (L, H, T, S) of each sentence with its gold links."""
    sources, references, links = part.texts()
    for first in range(0, min(len(sources), _MOST), _BATCH):
        rows = np.arange(first, min(first + _BATCH, len(sources), _MOST))
        cross = model.attend(*padded(model, part, rows)).get("cross")
        if cross is None:
            return
        for weights, row in zip(cross, rows, strict=True):
            source_words = tokenizers[0].word_numbers(sources[row])
            target_words = tokenizers[1].word_numbers(references[row])
            steps, width = len(target_words) + 1, len(source_words) + 1
            if steps > weights.shape[-2] or width > weights.shape[-1]:
                continue  # the model read only a part of the sentence
            gold = parse_links(links[row] if links is not None else "")
            yield AlignedSentence(weights[..., :steps, :width], source_words, target_words, gold)
