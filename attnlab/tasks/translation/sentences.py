"""Translate text: clean and tokenize sentences, search, and copy words for unknown tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.search import Search, plan_batches
from attnlab.tasks.translation.tokenized import Tokenizers, cut, longest_source
from attnlab.text.cleaning import normalize
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer, pad_rows

# Attention needs memory proportional to the square of the source length. Longer sources would need
# more than most machines have.
MOST_TOKENS = 2048
_TOGETHER = 64  # sentences per batch whose attention is computed


class Translation(NamedTuple):
    """One translation of a sentence."""

    text: str  # a single line
    copied: list[str]  # the source words that replace its unknown tokens
    score: float  # log-probability / length penalty, higher is better; 0 for an empty sentence
    log_probability: float  # of all tokens, natural logarithm
    source: np.ndarray  # (S,) ids as the model read them, END included
    target: np.ndarray  # (T,) ids without START and END


_EMPTY = Translation("", [], 0.0, 0.0, np.array([END], np.int32), np.zeros(0, np.int32))


def translations(
    search: Search,
    tokenizers: Tokenizers,
    sources: Sequence[np.ndarray],
    texts: Sequence[str] | None = None,
) -> list[list[Translation]]:
    """Return the `n_best` translations of source rows (S,) with END, the best one first.

    With the cleaned `texts` of the sources, source words replace unknown tokens; see
    `copied_words`.
    """
    hypotheses = search(sources)
    places = [place for place, ranked in enumerate(hypotheses) for _ in ranked]
    best_first = [*chain.from_iterable(hypotheses)]
    targets = [hypothesis.tokens for hypothesis in best_first]
    copied: list[list[str]] = [[] for _ in targets]
    if texts is not None:
        rows = [texts[place] for place in places], [sources[place] for place in places]
        copied = copied_words(search.model, tokenizers[0], *rows, targets)
    decoded = tokenizers[1].decode(targets, copied)
    ranked: list[list[Translation]] = [[] for _ in sources]
    for place, text, words, (tokens, score, log) in zip(
        places, decoded, copied, best_first, strict=True
    ):
        ranked[place].append(Translation(text, words, score, log, sources[place], tokens))
    return ranked


def copied_words(
    model: keras.Model,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
) -> list[list[str]]:
    """Return the source words that replace the unknown tokens of each translation, in their order.

    At the step that wrote an unknown token, the word with the largest cross-attention weight is
    copied. Weights are the mean over layers and heads, as in the report's alignment error rate.
    No words are copied if the model has no attention, or if tokens are not words.

    Source: Luong, Sutskever et al. 2015 (arXiv 1410.8206), by attention as in Jean et al. 2015
    (arXiv 1412.2007). Differences: no dictionary, each word is copied as it is; punctuation marks
    are not copied.

    `texts` are the cleaned sources, `sources` their ids as the model read them, (S,) with END, and
    `targets` the ids that it wrote, (T,) without START and END.
    """
    copied: list[list[str]] = [[] for _ in targets]
    places = [place for place, target in enumerate(targets) if UNKNOWN in target]
    if tokenizer.kind != "word":
        return copied
    lengths = [max(len(sources[place]), len(targets[place]) + 1) for place in places]
    for batch in plan_batches(lengths, _TOGETHER, beam=1):
        chosen = [places[number] for number in batch]
        cross = model.attention_weights(
            pad_rows([sources[place] for place in chosen]),
            pad_rows([np.array([START, *targets[place]]) for place in chosen]),
        )
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


class SentenceTranslator:
    """Translate text with `task`, a `Translate`, and a search by its model.

    `longest` is the most source tokens that are read, END included: those that the model can read,
    at most 2,048.
    """

    def __init__(self, task: Any, search: Search) -> None:
        self._task, self._search, self.model = task, search, search.model
        self.longest = min(longest_source(search.model) or MOST_TOKENS, MOST_TOKENS)

    def translate(self, lines: Sequence[str]) -> list[list[Translation]]:
        """Translate sentences in batches; each result is as if the sentence were alone.

        Returns each line's translations, the best one first. A line without tokens has one empty
        translation.
        """
        tokenizers = self._task.tokenizers
        texts = [*map(self._task.text.clean_text(), lines)]
        encoded = [np.array([*row, END], np.int32) for row in tokenizers[0].encode(texts)]
        places = [place for place, row in enumerate(encoded) if len(row) > 1]
        rows = [cut(encoded[place], self.longest) for place in places]
        copied = [texts[place] for place in places] if self._task.copy_unknown else None
        results = [[_EMPTY] for _ in lines]
        ranked = translations(self._search, tokenizers, rows, copied)
        for place, best_first in zip(places, ranked, strict=True):
            results[place] = [best._replace(text=normalize(best.text)) for best in best_first]
        return results

    def weights(self, translation: Translation) -> np.ndarray | None:
        """Return the cross-attention weights (L, H, T, S) of a translation; None without attention.

        Step t predicts target token t; END is the last token of both sides.
        """
        target = np.array([[START, *translation.target]])
        weights = self.model.attention_weights(translation.source[None], target)
        return None if weights is None else weights[0]

    def pieces(self, translation: Translation) -> tuple[list[str], list[str]]:
        """Return readable labels of the source tokens and of the target tokens, with END."""
        source, target = self._task.tokenizers
        return source.pieces(translation.source), target.pieces([*translation.target, END])
