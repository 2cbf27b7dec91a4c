"""Translate text: clean and tokenize sentences, search, and join the tokens found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.attention_maps import Example, example
from attnlab.tasks.translation.decoding.copying import copied_words
from attnlab.tasks.translation.decoding.search import Search
from attnlab.tasks.translation.tokenized import cut, longest_source
from attnlab.text.cleaning import normalized
from attnlab.text.tokenizers import END, UNKNOWN, Tokenizer
from attnlab.text.unknown import unknown_warning

# Attention needs memory proportional to the square of the source length. Longer sources would need
# more than most machines have.
MOST_TOKENS = 2048
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


_EMPTY = Translation("", [], 0.0, 0.0, np.array([END], np.int32), np.zeros(0, np.int32))


class SentenceTranslator:
    """Translate text with a trained model.

    `clean` is the cleaning of the training corpus. `longest` is the number of source tokens, END
    included, of the longest training sentence (None: unknown). If `warn` is set, it is called once
    for sentences longer than `longest`, once for sentences that are cut off (at the model's
    longest length, or at 2,048 tokens to bound memory), and for each word that the vocabulary
    doesn't have. With `copy_unknown` source words replace unknown tokens, see `copying`. Further
    settings are those of `decoding.search.Search`.
    """

    warn: Callable[[str], None] | None = None

    def __init__(
        self,
        model: keras.Model,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        clean: Callable[[str], str] = normalized,
        longest: int | None = None,
        copy_unknown: bool = False,
        **search,
    ) -> None:
        self.model, self.longest, self._clean = model, longest, clean
        self.copy_unknown = copy_unknown
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
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
        hypotheses = self._search([sources[place] for place in places])
        # A place per hypothesis.
        places = [place for place, best in zip(places, hypotheses, strict=True) for _ in best]
        best_first = [*chain.from_iterable(hypotheses)]
        targets = [hypothesis.tokens for hypothesis in best_first]
        copied: list[list[str]] = [[] for _ in targets]
        if self.copy_unknown:
            read = [texts[place] for place in places], [sources[place] for place in places]
            copied = copied_words(self.model, self.source_tokenizer, *read, targets)
        decoded = self.target_tokenizer.decode(targets, copied)
        translations: list[list[Translation]] = [[] for _ in lines]
        for place, text, words, (tokens, score, log) in zip(
            places, decoded, copied, best_first, strict=True
        ):
            translations[place].append(
                Translation(_BREAKS.sub(" ", text), words, score, log, sources[place], tokens)
            )
        return [own or [_EMPTY] for own in translations]

    def unknown(self, line: str) -> list[str]:
        """Return the words of a sentence that the vocabulary doesn't have."""
        return self.source_tokenizer.unknown(self._clean(line))

    def maps(self, translation: Translation) -> Example:
        """Return the attention maps of the model for a translation."""
        tokenizers = (self.source_tokenizer, self.target_tokenizer)
        return example(self.model, tokenizers, translation.source, translation.target)

    def pieces(self, translation: Translation) -> tuple[list[str], list[str]]:
        """Return readable labels of the source tokens and of the target tokens, without END."""
        source = self.source_tokenizer.pieces(translation.source[:-1])
        return source, self.target_tokenizer.pieces(translation.target)

    def _encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return source rows, END included, cut to the length that the model can read."""
        rows = [np.array([*row, END], np.int32) for row in self.source_tokenizer.encode(texts)]
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
            words = chain.from_iterable(map(self.source_tokenizer.unknown, texts))
            if text := unknown_warning(words, self._warned, self.source_tokenizer.words):
                self.warn(text)
        return [cut(row, most) for row in rows]
