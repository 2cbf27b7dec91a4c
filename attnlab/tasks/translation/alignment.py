"""Word alignments that cross-attention predicts, and their error rate against gold links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.batches import padded
from attnlab.text.tokenizers import Tokenizer

if TYPE_CHECKING:
    from attnlab.tasks.translation.text.tokenized_corpus import TokenizedPart

Link = tuple[int, int]  # a source word and a target word, from 0
# Sentences that are aligned, and how many per batch.
_MOST, _BATCH = 1000, 64


class AlignedSentence(NamedTuple):
    """An attention map, the words of its tokens, and the gold alignment."""

    # (T, S). Step t predicts target token t, so row 0 belongs to token 0. Padding is left out.
    weights: np.ndarray
    # the number of each source token's word, from 0; below 0 for a token of no word
    source_words: Sequence[int]
    target_words: Sequence[int]  # the number of each target token's word
    gold: frozenset[Link]  # the gold links


def parse_links(text: str) -> frozenset[Link]:
    """Parse links in Pharaoh format, `0-0 1-2`: source word and target word, from 0."""
    pairs = (link.split("-") for link in text.split())
    return frozenset((int(source), int(target)) for source, target in pairs)


def predicted_links(sentence: AlignedSentence, shift: int = 0) -> frozenset[Link]:
    """Link each target word to the source word of the largest weight, unless all weights are 0.

    The weights of a word are summed over its source tokens and averaged over its target tokens.
    Step t + `shift` aligns token t: 0 is the step that predicts the token, 1 the next step, which
    reads it. Mechanisms that score with the decoder's state align the word that the step reads.
    """
    # (tokens, words): 1 if the token belongs to the word.
    source, target = (
        (np.asarray(words, int)[:, None] == np.arange(max(words, default=-1) + 1)).astype(float)
        for words in (sentence.source_words, sentence.target_words)
    )
    rows = np.asarray(sentence.weights, np.float64)[shift : shift + len(target), : len(source)]
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
    tokenizers: Sequence[Tokenizer], model: keras.Model, part: TokenizedPart
) -> dict[str, Any] | None:
    """Compare the cross-attention over reference translations with the gold links of a part.

    Returns:
        `error_rate`, and `shifted_error_rate`, in which step t aligns the word that it reads
        instead of the one that it predicts, of the mean over heads and layers. With several layers
        also `layers`: both rates of each layer. None without attention or gold links.
    """
    sources, references, links = part.texts()
    sentences = []
    for first in range(0, min(len(sources), _MOST) if links is not None else 0, _BATCH):
        rows = np.arange(first, min(first + _BATCH, len(sources), _MOST))
        cross = model.attend(*padded(model, part, rows)).get("cross")
        if cross is None:
            return None
        for weights, row in zip(cross, rows, strict=True):
            source_words = tokenizers[0].word_numbers(sources[row])
            target_words = tokenizers[1].word_numbers(references[row])
            steps, width = len(target_words) + 1, len(source_words) + 1
            if steps > weights.shape[-2] or width > weights.shape[-1]:
                continue  # the model read only a part of the sentence
            gold = parse_links(links[row])
            maps = weights[..., :steps, :width]
            sentences.append(AlignedSentence(maps, source_words, target_words, gold))
    if not sentences:
        return None

    def rates(chosen: Any) -> dict[str, Any]:
        merged = []
        for sentence in sentences:
            weights = sentence.weights[chosen]
            weights = weights.mean(axis=tuple(range(weights.ndim - 2)))
            merged.append(sentence._replace(weights=weights))
        return {
            name: error_rate((predicted_links(each, shift), each.gold) for each in merged)
            for shift, name in enumerate(("error_rate", "shifted_error_rate"))
        }

    layers = range(sentences[0].weights.shape[0])
    return rates(...) | ({"layers": [*map(rates, layers)]} if len(layers) > 1 else {})
