"""How texts are cut for vocabularies that were made elsewhere: WordPiece, and byte pairs of GPT-2.

Like those of `token_cutters` they match no special tokens: no text leads to one.
"""

from __future__ import annotations

import functools
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.text.token_cutters import SPECIAL_TOKENS, Vocabulary

if TYPE_CHECKING:
    import tokenizers

TRAINED_KINDS = ("wordpiece", "gpt2_bpe")
_UNKNOWN = SPECIAL_TOKENS[1]
# As in keras-hub: only the white space of ASCII, other control and format characters, are cut away.
_SPACE = r"[ \t\n\r\f]|\p{Cc}|\p{Cf}"
_MARK = r"[!-/:-@\[-`{-~]|\p{P}"
_CJK = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}"
    r"\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]"
)
# Unicode's Default_Ignorable_Code_Point.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MOST_BYTES = 100  # of a word; a longer one is unknown


class Manner(NamedTuple):
    """What the maker of a vocabulary settled besides its tokens.

    Attributes:
        special: the numbers that PAD, UNKNOWN, START and END have there.
        strip_accents: whether accents are taken away first (`wordpiece`).
        split_on_cjk: whether each Chinese character is a word (`wordpiece`).
        suffix: what a piece has in front that goes on with a word (`wordpiece`).
        prefix_space: whether a text gets a space in front (`gpt2_bpe`).
    """

    special: tuple[int, int, int, int]
    strip_accents: bool = False
    split_on_cjk: bool = True
    suffix: str = "##"
    prefix_space: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Manner:
        """That of a saved one; raises `TypeError` or `ValueError` where it is none."""
        pad, unknown, start, end = map(int, content["special"])
        return cls(**{**content, "special": (pad, unknown, start, end)})


class Pieces(NamedTuple):
    """A text in tokens, and the (start, end) of each in the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def gpt2_cutter(vocabulary: Vocabulary, manner: Manner) -> tokenizers.Tokenizer:
    """Joins bytes inside of GPT-2's words (Radford et al. 2019); what has no byte is unknown."""
    import tokenizers
    from tokenizers import models, pre_tokenizers

    ids = _numbers(vocabulary.tokens)
    result = tokenizers.Tokenizer(models.BPE(ids, vocabulary.merges, unk_token=_UNKNOWN))
    result.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=manner.prefix_space)
    return result


class WordPieceCutter:
    """Words, then the longest known piece again and again (Schuster and Nakajima 2012).

    Gives what keras-hub's `WordPieceTokenizer` gives, in its order: accents are taken away, the
    text is cut into words and marks, each is folded to lower case, and cut into pieces.
    """

    def __init__(self, vocabulary: Vocabulary, manner: Manner, *, lowercase: bool) -> None:
        import tokenizers
        from tokenizers import models, normalizers

        ids = _numbers(vocabulary.tokens)
        model = models.WordPiece(
            ids,
            unk_token=_UNKNOWN,
            continuing_subword_prefix=manner.suffix,
            max_input_chars_per_word=_MOST_BYTES,
        )
        self._lowercase, self._strip_accents = lowercase, manner.strip_accents
        self._words = _word_splitter(manner.split_on_cjk)
        self._pieces = tokenizers.Tokenizer(model)
        # For ASCII, where folding is lower-casing, the library does all of it, in threads.
        self._plain = tokenizers.Tokenizer(model)
        self._plain.pre_tokenizer = self._words
        if lowercase:
            self._plain.normalizer = normalizers.Lowercase()

    def encode_batch_fast(self, texts: Sequence[str]) -> list[Pieces]:
        """The tokens of each text; the offsets may be missing."""
        plain = iter(self._plain.encode_batch_fast([text for text in texts if text.isascii()]))
        cut = (next(plain) if text.isascii() else self._cut(text) for text in texts)
        return [Pieces(each.ids, []) for each in cut]

    def encode(self, text: str) -> Pieces:
        """The tokens of a text, and where each stands in it."""
        if not text.isascii():
            return self._cut(text)
        cut = self._plain.encode(text)
        return Pieces(cut.ids, cut.offsets)

    def _cut(self, text: str) -> Pieces:
        bare, places = _without_accents(text) if self._strip_accents else (text, range(len(text)))
        found = self._words.pre_tokenize_str(bare)
        spans = [(places[start], places[end - 1] + 1) for _, (start, end) in found]
        words = [self._folded(word) for word, _ in found]
        cut = self._pieces.encode(words, is_pretokenized=True)
        offsets = []
        for (first, last), word in zip(cut.offsets, cut.word_ids, strict=True):
            assert word is not None
            start, end = spans[word]
            as_long = end - start == len(words[word])
            offsets.append((start + first, start + last) if as_long else (start, end))
        return Pieces(cut.ids, offsets)

    def _folded(self, word: str) -> str:
        if self._lowercase:
            word = _casefolded(word)
        return word if len(word.encode()) <= _MOST_BYTES else _UNKNOWN


def _word_splitter(split_on_cjk: bool) -> tokenizers.pre_tokenizers.PreTokenizer:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # see `token_cutters.cutter`
    import tokenizers
    from tokenizers import pre_tokenizers

    alone = f"{_MARK}|{_CJK}" if split_on_cjk else _MARK
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(_SPACE), "removed"),
            pre_tokenizers.Split(tokenizers.Regex(alone), "isolated"),
        ]
    )


def _numbers(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _without_accents(text: str) -> tuple[str, list[int]]:
    """The text without accents, and the place in `text` of each character that is left."""
    bare = [
        (part, place)
        for place, char in enumerate(text)
        for part in unicodedata.normalize("NFD", char)
        if unicodedata.category(part) != "Mn"
    ]
    return "".join(part for part, _ in bare), [place for _, place in bare]


@functools.lru_cache(maxsize=1 << 16)
def _casefolded(word: str) -> str:
    """Unicode's NFKC_Casefold, which keras-hub takes for lower-casing."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return _IGNORABLE.sub("", unicodedata.normalize("NFKC", folded))
