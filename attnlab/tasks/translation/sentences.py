"""Translate text: clean and tokenize sentences, search, and join the tokens found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import keras
import numpy as np

from attnlab.tasks.translation.attention_maps import Example, example
from attnlab.tasks.translation.batches import cut, longest_source
from attnlab.tasks.translation.decoding.copying import copied_words
from attnlab.tasks.translation.decoding.search import Search
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
        rows = self._rows(lines)
        places = [place for place, row in enumerate(rows) if len(row) > 1]
        found = self._search([rows[place] for place in places])
        owners = [place for place, each in zip(places, found, strict=True) for _ in each]
        targets = [best.tokens for each in found for best in each]
        own = [lines[place] for place in owners], [rows[place] for place in owners]
        texts = self._texts(*own, targets)
        translations = [[_EMPTY] for _ in lines]
        for place, each in zip(places, found, strict=True):
            translations[place] = [
                Translation(*next(texts), score, log, rows[place], tokens)
                for tokens, score, log in each
            ]
        return translations

    def _texts(
        self, lines: Sequence[str], sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield the text of each translation on one line, and the source words copied into it."""
        copied: list[list[str]] = [[] for _ in targets]
        if self.copy_unknown:
            read = [self._clean(line) for line in lines]
            copied = copied_words(self.model, self.source_tokenizer, read, sources, targets)
        texts = self.target_tokenizer.decode(targets, copied)
        return zip((_BREAKS.sub(" ", text) for text in texts), copied, strict=True)

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

    def _rows(self, lines: Sequence[str]) -> list[np.ndarray]:
        """Return source rows, END included, cut to the length that the model can read."""
        encoded = self.source_tokenizer.encode([self._clean(line) for line in lines])
        rows = [np.array([*tokens, END], np.int32) for tokens in encoded]
        most = min(longest_source(self.model) or MOST_TOKENS, MOST_TOKENS)
        self._warn_of_length(max(map(len, rows), default=0), most)
        if self.warn and any(UNKNOWN in tokens for tokens in encoded):
            words = chain.from_iterable(map(self.unknown, lines))
            if text := unknown_warning(words, self._warned, self.source_tokenizer.words):
                self.warn(text)
        return [cut(row, most) for row in rows]

    def _warn_of_length(self, length: int, most: int) -> None:
        """Warn, once each, of sentences longer than in training, and of sentences cut off."""
        kind = None
        if length > most:
            kind, text = "cut", f"; only the first {most - 1} are read"
        elif self.longest is not None and length > self.longest:
            trained = f"the longest in training had {self.longest - 1}"
            kind, text = "long", f", {trained}: its translation may be poor"
        if kind and self.warn and kind not in self._warned:
            self._warned.add(kind)
            self.warn(f"a sentence has {length - 1} tokens{text}")
