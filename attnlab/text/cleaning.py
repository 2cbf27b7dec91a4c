"""Clean texts before they are tokenized."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def cleaner(clean: str = "none", lowercase: bool = False) -> Callable[[str], str]:
    """Return the function that cleans a sentence for the tokenizer.

    `none` only applies Unicode's composed form (NFC) and single spaces; `book` is `book_cleaning`.
    Cleaning a text twice gives the same as cleaning it once.
    """
    if clean == "book":
        return book_cleaning
    return (lambda text: normalize(text.lower())) if lowercase else normalize


def normalize(text: str) -> str:
    """Return the text in Unicode's composed form, with single spaces, stripped."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def one_line(text: str) -> str:
    """Return the text on one line without zero bytes, cut after 1,000 characters, for CSV files."""
    return shorten(" ".join(text.replace("\0", " ").split()), 1_000)


def shorten(text: str, most: int) -> str:
    """Cut a text to `most` characters, the last of which is then `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def book_cleaning(text: str) -> str:
    """Clean a text like the book's pickled corpus: words of lower-case letters a to z.

    Accents and other characters outside ASCII are removed: "ü" becomes "u", "ß" is lost, and a
    no-break space joins two words, as in the book's corpus. Punctuation is removed, also inside
    words ("dont"). A word with any other character, such as a digit, is removed. The text can
    become empty.
    """
    plain = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode("ascii")
    words = plain.lower().translate(_NO_PUNCTUATION).split()
    printable = ("".join(filter(str.isprintable, word)) for word in words)
    return " ".join(word for word in printable if word.isalpha())


def text_key(text: str, *, ignore_case: bool = False) -> str:
    """Return a key that is equal for texts that count as one: NFC, single spaces.

    Tokenizers read texts in this form, so a model can't distinguish texts with equal keys. No text
    may be in two parts of a corpus. `ignore_case` lower-cases the text.
    """
    return normalize(text.lower() if ignore_case else text)
