"""What is done to a sentence before it is cut into tokens."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable

from attnlab.text.words import is_unspaced

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def cleaner(clean: str = "none", lowercase: bool = False) -> Callable[[str], str]:
    """The function from a sentence as it was read to the text that tokenizers see.

    `none` is Unicode's composed form (NFC) with single spaces and nothing else, `book` is
    `book_cleaning`. All of them leave a text alone that they have cleaned before.
    """
    if clean == "book":
        return book_cleaning
    return (lambda text: normalized(text.lower())) if lowercase else normalized


def normalized(text: str) -> str:
    """The text in Unicode's composed form, its white space single spaces, none at the ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def unwrapped(text: str) -> str:
    """The lines of a text in one, single spaces between them and inside.

    A line end between characters of Chinese, Japanese, Thai and the like, or their punctuation, is
    not a space.
    """
    found = ""
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        last = next((each for each in reversed(found) if unicodedata.category(each)[0] != "M"), "")
        is_close = not last or (_needs_no_space(last) and _needs_no_space(line[0]))
        found = f"{found}{line}" if is_close else f"{found} {line}"
    return found


def _needs_no_space(character: str) -> bool:
    wide = unicodedata.east_asian_width(character) in "WF"
    return is_unspaced(character) or (wide and not character.isalnum())


def one_line(text: str) -> str:
    """The text on one line, as CSV readers agree on it, cut after 1,000 characters."""
    return shortened(" ".join(text.replace("\0", " ").split()), 1_000)


def shortened(text: str, most: int) -> str:
    """The text, one of more than so many characters with `…` as the last of them."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def book_cleaning(text: str) -> str:
    """The text as the seed book's pickled corpus has it: small letters a to z in words.

    Accents are dropped, and what is no ASCII letter without them: "ß" is lost, "ü" becomes "u", and
    a no-break space joins two words, as it did there. Punctuation is dropped inside of words too
    ("dont"); a word with anything else in it but letters, such as a digit, is dropped as a whole.
    The text can become empty.
    """
    plain = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode("ascii")
    words = plain.lower().translate(_NO_PUNCTUATION).split()
    printable = ("".join(filter(str.isprintable, word)) for word in words)
    return " ".join(word for word in printable if word.isalpha())


def text_key(text: str, *, ignore_case: bool = False) -> str:
    """The whole text in composed form (NFC) with single spaces; lower-cased to ignore case.

    Texts of one key are one text to a model: tokenizers read texts in this form.
    """
    return normalized(text.lower() if ignore_case else text)
