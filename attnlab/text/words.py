"""Split texts into sentences, and into words, which gold alignments number.

Tokens never cross words: both are found by regular expressions of the library `tokenizers`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Any

# Letters of scripts without spaces between words: line break classes SA, ID, CJ, AK and AS of
# Unicode's UAX #14. Tibetan isn't one of them, since it marks the end of each syllable.
_BLOCKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao; Burmese; Khmer
    "\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"  # Tai Le, Tai Lue; Tham; Balinese
    "\u3000-\u30ff\u3105-\u312f\u31a0-\u31bf"  # kana and iteration marks; Bopomofo
    "\u31f0-\u31ff\ua980-\ua9ff\uaa60-\uaadf"  # kana; Javanese; Burmese, Tai Viet
    "\uff66-\uff9d\U00011700-\U0001174f"  # narrow kana; Ahom
)
# Ideographs, Yi and Tangut syllables, old kana: all letters, some only in later Unicode versions.
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\ua48c\uf900-\ufaff\U00017000-\U00018d7f\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003fffd"
)
# Letters that belong to the character before them, as the combining marks do: vowels AM of Thai and
# Lao, voicing of narrow kana; joiners, which spaced scripts have, too.
_ATTACHED_UNSPACED = "\u0e33\u0eb3\uff9e\uff9f"
_ATTACHED = f"{_ATTACHED_UNSPACED}\u200c\u200d"
# Marks that put the next consonant below: Burmese, Khmer, Tai Tham, Balinese, Javanese.
_STACKING = "\u1039\u17d2\u1a60\u1b44\ua9c0"
# Character classes of the library's expressions.
_UNSPACED = rf"[[\p{{L}}\p{{Nl}}&&[{_BLOCKS}]&&[^{_ATTACHED}]]{_IDEOGRAPHS}]"
ALL_UNSPACED = rf"[{_UNSPACED}{_ATTACHED_UNSPACED}]"  # those for which `is_unspaced` is true


def split_words(text: str) -> list[str]:
    """Split a text into words and single punctuation marks, without white space.

    Apostrophes and hyphens between letters, and points, commas and colons between digits, belong
    to the word: "don't", "geht's", "E-Mail", "3.50", "10:30". Combining marks belong to the
    character before them.

    In scripts without spaces between words, each character is a word, together with its combining
    marks and subscripts: Chinese, Japanese, Thai, Lao, Burmese, Khmer, Javanese and others.
    """
    return [text[start:end] for start, end in word_spans(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) in `text` of each of `split_words(text)`."""
    return [span for _, span in _splitter().pre_tokenize_str(without_surrogates(text))]


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which the library refuses."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def is_unspaced(text: str) -> bool:
    """Whether a text contains a letter of a script without spaces between words."""
    if text.isascii():
        return False
    kinds = map(unicodedata.category, _POSSIBLE.findall(text))
    return any(kind[0] == "L" or kind in ("Nl", "Cn") for kind in kinds)


def word_pattern(other: str) -> str:
    """Return the regular expression of a word or mark; `other` matches any character of a mark."""
    letter = rf"[\p{{L}}\p{{M}}\p{{N}}_&&[^{_UNSPACED}]]"
    attached = rf"(?:\p{{M}}|[{_ATTACHED}])"
    unspaced = rf"{_UNSPACED}(?:[{_STACKING}]{attached}*{_UNSPACED}|{attached})*"
    inside = rf"['’-]{letter}+|(?<=\p{{Nd}})[.,:](?=\p{{Nd}}){letter}+"
    return rf"{unspaced}|{letter}+(?:{inside})*|{other}\p{{M}}*"


def sentence_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return (start, end) in `text` of each sentence, without surrounding white space, in order.

    Wikimedia's `sentencex` finds them; it knows abbreviations, initials, numbers and quotes of some
    300 languages. An empty line also ends a sentence. A piece without letters and digits isn't a
    sentence.

    Args:
        text: any text.
        language: its code, such as `en` or `de`; an unknown one is replaced with a similar one.
    """
    from sentencex import get_sentence_boundaries

    spans = []
    # sentencex crashes on a capital before white space of several bytes, so it becomes " ", which
    # doesn't change positions.
    plain = _WIDE_SPACE.sub(" ", text)
    for sentence in get_sentence_boundaries(language, plain):
        start, end = sentence["start_index"], sentence["end_index"]
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if any(map(str.isalnum, text[start:end])):
            spans.append((start, end))
    return spans


_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")  # white space of several bytes
_SURROGATES = re.compile("[\ud800-\udfff]")
_POSSIBLE = re.compile(f"[{_BLOCKS}{_IDEOGRAPHS}{_ATTACHED_UNSPACED}]")


@functools.cache
def _splitter() -> Any:
    from tokenizers import Regex, pre_tokenizers

    # Python's white space, which the library's \s doesn't have in full
    pattern = word_pattern(r"[^\s\x1c-\x1f]")
    return pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
