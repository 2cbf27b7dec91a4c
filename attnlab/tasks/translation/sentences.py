"""Translate text: clean and tokenize sentences, search, and copy words for unknown tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.search import Search, plan_batches
from attnlab.tasks.translation.tokenized import Tokenizers, cut, longest_source
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, START, UNKNOWN, Tokenizer, pad_rows
from attnlab.text.unknown import unknown_warning

# Attention needs memory proportional to the square of the source length. Longer sources would need
# more than most machines have.
MOST_TOKENS = 2048
_TOGETHER = 64  # sentences per batch whose attention is computed
# Characters that would split a line or a column of the output.
_BREAKS = re.compile("[\t\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")


class Translation(NamedTuple):
    """One translation of a sentence."""

    text: str  # a single line
    copied: list[str]  # the source words that replace its unknown tokens
    score: float  # log-probability / length penalty, higher is better; 0 for an empty sentence
    log_probability: float  # of all tokens, natural logarithm
    source: np.ndarray  # (S,) ids as the model read them, END included
    target: np.ndarray  # (T,) ids without START and END


class Example(NamedTuple):
    """A sentence, its translation, and the attention maps between them."""

    # `cross` (L, H, T, S), and of a Transformer `encoder` (L, H, S, S) and `decoder` (L, H, T, T);
    # step t predicts target token t. Empty without attention.
    maps: dict[str, np.ndarray]
    source: list[str]  # labels of the source tokens, END included
    target: list[str]  # labels of the target tokens, END included


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


class SentenceTranslator:
    """Translate text with a trained model.

    `clean` is the cleaning of the training corpus. `longest` is the number of source tokens, END
    included, of the longest training sentence (None: unknown). If `warn` is set, it is called once
    for sentences longer than `longest`, once for sentences that are cut off (at the model's
    longest length, or at 2,048 tokens to bound memory), and for each word that the vocabulary
    doesn't have. With `copy_unknown` source words replace unknown tokens, see `copied_words`. The
    other settings are those of `Search`.
    """

    warn: Callable[[str], None] | None = None

    def __init__(
        self,
        model: keras.Model,
        tokenizers: Tokenizers,
        *,
        clean: Callable[[str], str] = normalized,
        longest: int | None = None,
        copy_unknown: bool = False,
        **search,
    ) -> None:
        self.model, self.longest, self._clean = model, longest, clean
        self.copy_unknown = copy_unknown
        self.tokenizers = tokenizers
        self._search = Search(model, **search)
        self._warned: set[str] = set()

    def translate(self, lines: Sequence[str]) -> list[list[Translation]]:
        """Translate sentences in batches; each result is as if the sentence were alone.

        Returns each line's translations, the best one first. A line without tokens has one empty
        translation.
        """
        texts = [self._clean(line) for line in lines]
        sources = self._encode(texts)
        places = [place for place, row in enumerate(sources) if len(row) > 1]
        rows = [sources[place] for place in places]
        copied = [texts[place] for place in places] if self.copy_unknown else None
        ranked = translations(self._search, self.tokenizers, rows, copied)
        results = [[_EMPTY] for _ in lines]
        for place, best_first in zip(places, ranked, strict=True):
            results[place] = [
                best._replace(text=_BREAKS.sub(" ", best.text)) for best in best_first
            ]
        return results

    def unknown(self, line: str) -> list[str]:
        """Return the words of a sentence that the vocabulary doesn't have."""
        return self.tokenizers[0].unknown(self._clean(line))

    def maps(self, translation: Translation) -> Example:
        """Return the attention maps of the model for a translation."""
        source, target = translation.source, translation.target
        maps = self.model.attend(source[None], np.array([[START, *target]]))
        return Example(
            {name: weights[0] for name, weights in maps.items()},
            self.tokenizers[0].pieces(source),
            self.tokenizers[1].pieces([*target, END]),
        )

    def pieces(self, translation: Translation) -> tuple[list[str], list[str]]:
        """Return readable labels of the source tokens and of the target tokens, without END."""
        source, target = self.tokenizers
        return source.pieces(translation.source[:-1]), target.pieces(translation.target)

    def _encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return source rows, END included, cut to the length that the model can read."""
        rows = [np.array([*row, END], np.int32) for row in self.tokenizers[0].encode(texts)]
        most = min(longest_source(self.model) or MOST_TOKENS, MOST_TOKENS)
        length = max(map(len, rows), default=0)
        warning = ""
        if length > most:
            kind, warning = "cut", f"; only the first {most - 1} are read"
        elif self.longest is not None and length > self.longest:
            kind = "long"
            warning = f", the longest in training had {self.longest - 1}"
            warning += ": its translation may be poor"
        if warning and self.warn and kind not in self._warned:
            self._warned.add(kind)
            self.warn(f"a sentence has {length - 1} tokens{warning}")
        if self.warn and any(UNKNOWN in row for row in rows):
            words = chain.from_iterable(map(self.tokenizers[0].unknown, texts))
            if text := unknown_warning(words, self._warned, self.tokenizers[0].words):
                self.warn(text)
        return [cut(row, most) for row in rows]
