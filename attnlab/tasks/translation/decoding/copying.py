"""Replace the unknown tokens of a translation with source words, chosen by attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import keras
import numpy as np

from attnlab.tasks.translation.decoding.search import plan_batches
from attnlab.text.tokenizers import PAD, START, UNKNOWN, Tokenizer

# Sentences per batch.
_TOGETHER = 64


def copied_words(
    model: keras.Model,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
) -> list[list[str]]:
    """Return the source words that replace the unknown tokens of each translation.

    At the step that wrote an unknown token, the word with the largest cross-attention weight is
    copied. Weights are the mean over layers and heads, as in the report's alignment error rate.
    Source: Luong, Sutskever et al. 2015 (arXiv 1410.8206), by attention as in Jean et al. 2015
    (arXiv 1412.2007). Differences: no dictionary, each word is copied as it is; punctuation marks
    are not copied.

    Args:
        model: a `Translator`.
        tokenizer: the tokenizer of the source.
        texts: the cleaned sources.
        sources: ids as the model read them, (S,) with END; long ones are cut at the end.
        targets: ids as the model wrote them, (T,) without START and END.

    Returns:
        A word for each unknown token, in their order. No words if the model has no attention, or if
        tokens are not words.
    """
    found: list[list[str]] = [[] for _ in targets]
    places = [place for place, target in enumerate(targets) if UNKNOWN in target]
    if tokenizer.kind != "word" or not places:
        return found
    for some in _batches(places, sources, targets):
        read = _padded([sources[place] for place in some])
        written = _padded([np.array([START, *targets[place]]) for place in some])
        cross = model.attend(read, written).get("cross")
        if cross is None:
            return found
        for place, weights in zip(some, np.nan_to_num(cross).mean(axis=(1, 2)), strict=True):
            words = tokenizer.cut(texts[place])[: len(sources[place]) - 1]  # END isn't a word
            steps = np.flatnonzero(np.asarray(targets[place]) == UNKNOWN)
            found[place] = _chosen(words, weights[steps])
    return found


def _chosen(words: Sequence[str], weights: np.ndarray) -> list[str]:
    """Return the word with the largest weight in each row of weights (N, S)."""
    # Punctuation marks are too frequent to be unknown.
    real = [place for place, word in enumerate(words) if any(map(str.isalnum, word))]
    columns = np.array(real or range(len(words)))
    return [words[columns[place]] for place in weights[:, columns].argmax(axis=1)]


def _batches(
    places: Sequence[int], sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
) -> Iterator[list[int]]:
    lengths = [max(len(sources[place]), len(targets[place]) + 1) for place in places]
    for batch in plan_batches(lengths, _TOGETHER, beam=1):
        yield [places[number] for number in batch]


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    whole = np.full((len(rows), max(map(len, rows))), PAD, np.int32)
    for own, row in zip(whole, rows, strict=True):
        own[: len(row)] = row
    return whole
