"""Sentences in, translations out: cleaning, cutting, searching, putting together again."""

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

# A source of more tokens would need more memory than most machines have: its square counts.
_MOST_TOKENS = 2048
# What would break a line or a column of the output apart.
_BREAKS = re.compile("[\t\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")


class Translation(NamedTuple):
    """One translation of a sentence."""

    text: str  # a single line
    copied: list[str]  # source words in it in place of unknown tokens
    score: float  # log-probability by length penalty, higher is better; 0 of an empty sentence
    log_probability: float  # of all tokens, natural logarithm
    source: np.ndarray  # (S,) ids as the model read them, END included
    target: np.ndarray  # (T,) ids without START and END


_OF_NOTHING = Translation("", [], 0.0, 0.0, np.array([END], np.int32), np.zeros(0, np.int32))


class SentenceTranslator:
    """Translate text by a trained model.

    `clean` is what the model's corpus did to each text, `longest` counts the source tokens, END
    included, of the longest sentence trained on (None: unknown). `warn`, which may be set, is told
    once of sentences that are longer, once of such as must be cut off, because of the model's own
    longest length or of memory, and of each word that the vocabulary doesn't have. With
    `copy_unknown` source words replace unknown tokens, see `copying`. Further settings are those of
    `decoding.search.Search`.
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
        """Translate sentences, any text, together, each as if it were alone.

        Gives each line's translations, the best one first; one empty translation of a line in which
        nothing is left to translate.
        """
        rows = self._rows(lines)
        places = [place for place, row in enumerate(rows) if len(row) > 1]
        found = self._search([rows[place] for place in places])
        owners = [place for place, each in zip(places, found, strict=True) for _ in each]
        targets = [best.tokens for each in found for best in each]
        own = [lines[place] for place in owners], [rows[place] for place in owners]
        texts = self._texts(*own, targets)
        translations = [[_OF_NOTHING] for _ in lines]
        for place, each in zip(places, found, strict=True):
            translations[place] = [
                Translation(*next(texts), score, log, rows[place], tokens)
                for tokens, score, log in each
            ]
        return translations

    def _texts(
        self, lines: Sequence[str], sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
    ) -> Iterator[tuple[str, list[str]]]:
        """The text of each translation on one line, and the source words copied into it."""
        copied: list[list[str]] = [[] for _ in targets]
        if self.copy_unknown:
            read = [self._clean(line) for line in lines]
            copied = copied_words(self.model, self.source_tokenizer, read, sources, targets)
        texts = self.target_tokenizer.decode(targets, copied)
        return zip((_BREAKS.sub(" ", text) for text in texts), copied, strict=True)

    def unknown(self, line: str) -> list[str]:
        """The words of a sentence that the model reads as unknown ones."""
        return self.source_tokenizer.unknown(self._clean(line))

    def maps(self, translation: Translation) -> Example:
        """Where the model looked while it wrote a translation, greedily found or by a beam."""
        tokenizers = (self.source_tokenizer, self.target_tokenizer)
        return example(self.model, tokenizers, translation.source, translation.target)

    def pieces(self, translation: Translation) -> tuple[list[str], list[str]]:
        """Readable labels of the source's tokens and of the translation's, without END."""
        source = self.source_tokenizer.pieces(translation.source[:-1])
        return source, self.target_tokenizer.pieces(translation.target)

    def _rows(self, lines: Sequence[str]) -> list[np.ndarray]:
        """Source rows as the model can take them, END included."""
        encoded = self.source_tokenizer.encode([self._clean(line) for line in lines])
        rows = [np.array([*tokens, END], np.int32) for tokens in encoded]
        most = min(longest_source(self.model) or _MOST_TOKENS, _MOST_TOKENS)
        self._tell(max(map(len, rows), default=0), most)
        if self.warn and any(UNKNOWN in tokens for tokens in encoded):
            words = chain.from_iterable(map(self.unknown, lines))
            if text := unknown_warning(words, self._warned, self.source_tokenizer.words):
                self.warn(text)
        return [cut(row, most) for row in rows]

    def _tell(self, length: int, most: int) -> None:
        """Warn, once, of a length that the model can't be trusted with, or can't take."""
        kind = None
        if length > most:
            kind, text = "cut", f"; only the first {most - 1} are read"
        elif self.longest is not None and length > self.longest:
            trained = f"the longest in training had {self.longest - 1}"
            kind, text = "long", f", {trained}: its translation may be poor"
        if kind and self.warn and kind not in self._warned:
            self._warned.add(kind)
            self.warn(f"a sentence has {length - 1} tokens{text}")
