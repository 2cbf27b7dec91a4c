"""Tokenizers for the vocabularies of presets: WordPiece, and GPT-2's byte-level BPE.

Like those of `token_cutters` they never match special tokens in a text.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.text.token_cutters import SPECIAL_TOKENS, Vocabulary

if TYPE_CHECKING:
    import tokenizers

TRAINED_KINDS = ("wordpiece", "gpt2_bpe")
_UNKNOWN = SPECIAL_TOKENS[1]
# As in keras-hub: ASCII characters other than letters and digits are marks; only ASCII white space
# is removed, and all control and format characters.
_ASCII_MARKS = r"!-/:-@\[-`{-~"
_CJK = (
    r"\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F"
    r"\U0002B740-\U0002B81F\U0002B820-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F"
)
_ASSIGNED = ((0, 0x20000), (0xE0000, 0xE1000))  # contain all marks and format characters
# Unicode's Default_Ignorable_Code_Point.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MOST_BYTES = 100  # of a word; a longer one is unknown
_MOST_SEEN = 1 << 17  # words whose pieces are cached


class Manner(NamedTuple):
    """The settings of a preset's vocabulary, in addition to its tokens.

    Attributes:
        special: the preset's ids of PAD, UNKNOWN, START and END.
        strip_accents: whether accents are removed (`wordpiece`).
        split_on_cjk: whether each Chinese character is a word (`wordpiece`).
        suffix: the mark in front of a piece that continues a word (`wordpiece`).
        prefix_space: whether a space is put in front of a text (`gpt2_bpe`).
    """

    special: tuple[int, int, int, int]
    strip_accents: bool = False
    split_on_cjk: bool = True
    suffix: str = "##"
    prefix_space: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Manner:
        """Read saved settings; raise `TypeError` or `ValueError` if they are damaged."""
        pad, unknown, start, end = map(int, content["special"])
        return cls(**{**content, "special": (pad, unknown, start, end)})


class Pieces(NamedTuple):
    """The tokens of a text, and the (start, end) of each in the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def gpt2_cutter(vocabulary: Vocabulary, manner: Manner) -> tokenizers.Tokenizer:
    """Return GPT-2's BPE (Radford et al. 2019); bytes that the vocabulary lacks are unknown."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # see `token_cutters.cutter`
    import tokenizers
    from tokenizers import models, pre_tokenizers

    ids = _numbers(vocabulary.tokens)
    result = tokenizers.Tokenizer(models.BPE(ids, vocabulary.merges, unk_token=_UNKNOWN))
    result.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=manner.prefix_space)
    return result


class WordPieceCutter:
    """Splits words into their longest known pieces (Schuster and Nakajima 2012).

    The result is that of keras-hub's `WordPieceTokenizer`, which treats a few characters
    differently from BERT. Like keras-hub it removes accents, splits the text into words and marks,
    folds the case of each, and splits it into pieces, in this order.
    """

    def __init__(self, vocabulary: Vocabulary, manner: Manner, *, lowercase: bool) -> None:
        from tokenizers import models

        self._model = models.WordPiece(
            _numbers(vocabulary.tokens),
            unk_token=_UNKNOWN,
            continuing_subword_prefix=manner.suffix,
            max_input_chars_per_word=_MOST_BYTES,
        )
        self._manner, self._lowercase = manner, lowercase
        self._seen: dict[str, Pieces] = {}

    def encode_batch_fast(self, texts: Iterable[str]) -> list[Pieces]:
        """Return the tokens of each text, without their positions."""
        return [Pieces(self._ids(text), []) for text in texts]

    def encode(self, text: str) -> Pieces:
        """Return the tokens of a text, and the position of each."""
        bare, places = self._bare(text)
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for match in self._words(bare).finditer(bare):
            pieces, at = self._word(match[0]), match.start()
            ids += pieces.ids
            offsets += [(at + start, at + end) for start, end in pieces.offsets]
        if places is not None:
            offsets = [(places[start], places[end - 1] + 1) for start, end in offsets]
        return Pieces(ids, offsets)

    def _ids(self, text: str) -> list[int]:
        bare, _ = self._bare(text)
        words = self._words(bare).findall(bare)
        return [token for word in words for token in self._word(word).ids]

    def _bare(self, text: str) -> tuple[str, list[int] | None]:
        strip = self._manner.strip_accents and not text.isascii()
        return _without_accents(text) if strip else (text, None)

    def _words(self, text: str) -> re.Pattern[str]:
        return _word_pattern(self._manner.split_on_cjk, text.isascii())

    def _word(self, word: str) -> Pieces:
        """Return the pieces of a word, from a cache because words repeat."""
        found = self._seen.get(word)
        if found is None:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            found = self._seen[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> Pieces:
        folded = _casefolded(word) if self._lowercase else word
        if not folded:
            return Pieces([], [])
        whole = (0, len(word))
        if len(folded.encode()) > _MOST_BYTES:
            return Pieces([SPECIAL_TOKENS.index(_UNKNOWN)], [whole])
        tokens = self._model.tokenize(folded)
        if len(folded) != len(word) or len(tokens) == 1:
            return Pieces([token.id for token in tokens], [whole] * len(tokens))
        ends = [0]
        for token in tokens:
            suffix = self._manner.suffix if ends[-1] else ""
            ends.append(ends[-1] + len(token.value) - len(suffix))
        return Pieces([token.id for token in tokens], list(itertools.pairwise(ends)))


@functools.cache
def _word_pattern(split_on_cjk: bool, ascii_only: bool) -> re.Pattern[str]:
    """Return the pattern of a word or mark; `split_on_cjk`: Chinese characters are words."""
    if ascii_only:
        return re.compile(f"[0-9A-Za-z]+|[{_ASCII_MARKS}]")
    alone = _ASCII_MARKS + _CJK * split_on_cjk + _of_categories(lambda kind: kind[0] == "P")
    space = " " + _of_categories(lambda kind: kind in ("Cc", "Cf"))
    return re.compile(f"[^{alone}{space}]+|[{alone}]")


def _of_categories(wanted: Callable[[str], bool]) -> str:
    """Return the characters of some categories, for the inside of a regular expression's [ ]."""
    numbers = itertools.chain.from_iterable(itertools.starmap(range, _ASSIGNED))
    found = (number for number in numbers if wanted(unicodedata.category(chr(number))))
    return "".join(f"\\U{number:08x}" for number in found)


def _numbers(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _without_accents(text: str) -> tuple[str, list[int]]:
    """Return the text without accents, and the position in `text` of each remaining character."""
    bare = [
        (part, place)
        for place, char in enumerate(text)
        for part in unicodedata.normalize("NFD", char)
        if unicodedata.category(part) != "Mn"
    ]
    return "".join(part for part, _ in bare), [place for _, place in bare]


def _casefolded(word: str) -> str:
    """Return Unicode's NFKC_Casefold, which keras-hub uses to lower-case."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return _IGNORABLE.sub("", unicodedata.normalize("NFKC", folded))
