"""Replace the unknown tokens of a translation with source words, chosen by attention."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np

from attnlab.tasks.translation.decoding.search import pad_rows, plan_batches
from attnlab.text.tokenizers import START, UNKNOWN, Tokenizer

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
    copied: list[list[str]] = [[] for _ in targets]
    places = [place for place, target in enumerate(targets) if UNKNOWN in target]
    if tokenizer.kind != "word":
        return copied
    lengths = [max(len(sources[place]), len(targets[place]) + 1) for place in places]
    for batch in plan_batches(lengths, _TOGETHER, beam=1):
        chosen = [places[number] for number in batch]
        cross = model.attend(
            pad_rows([sources[place] for place in chosen]),
            pad_rows([np.array([START, *targets[place]]) for place in chosen]),
        ).get("cross")
        if cross is None:
            return copied
        for place, weights in zip(chosen, np.nan_to_num(cross).mean(axis=(1, 2)), strict=True):
            words = tokenizer.cut(texts[place])[: len(sources[place]) - 1]  # END isn't a word
            # Punctuation marks are too frequent to be unknown.
            real = [number for number, word in enumerate(words) if any(map(str.isalnum, word))]
            columns = np.array(real or range(len(words)))
            steps = np.flatnonzero(np.asarray(targets[place]) == UNKNOWN)
            best = weights[steps][:, columns].argmax(axis=1)
            copied[place] = [words[column] for column in columns[best]]
    return copied
