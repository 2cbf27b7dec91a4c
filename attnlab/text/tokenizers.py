"""Convert between texts and token ids: words, characters, byte pairs."""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.records.files import write_text
from attnlab.text.vocabulary import (
    BYTES,
    SPECIAL_TOKENS,
    UNKNOWN_TEXT,
    Vocabulary,
    bytes_of,
    check_size,
    learn_vocabulary,
    make_tokenizer,
)
from attnlab.text.words import is_unspaced, split_words, without_surrogates, word_spans

PAD, UNKNOWN, START, END = 0, 1, 2, 3
LABELS = {PAD: "<pad>", UNKNOWN: UNKNOWN_TEXT, START: "<start>", END: "<end>"}
_FORMAT = 1
_TOGETHER = 1 << 10  # texts that are encoded in one call: its result takes much memory


class Tokenizer:
    """A vocabulary that encodes texts as token ids and decodes ids as texts.

    The tokens of `word` are the words and punctuation marks of `split_words`, including the space
    before them: a text of known words and single spaces is decoded exactly. A word known only with,
    or only without, that space is encoded as the known form. The tokens of `char` are characters.
    `bpe` merges bytes inside words (Sennrich et al. 2016, arXiv:1508.07909, on bytes instead of
    characters as in Radford et al. 2019), so every text is decoded exactly.

    Ids are PAD 0, UNKNOWN 1, START 2, END 3, then the tokens. No text is encoded as PAD, START or
    END.

    Attributes:
        kind: `word`, `char` or `bpe`.
        lowercase: whether texts are lower-cased first.
        vocabulary: tokens and merges.
    """

    def __init__(self, kind: str, vocabulary: Vocabulary, *, lowercase: bool = False) -> None:
        self.kind, self.vocabulary, self.lowercase = kind, vocabulary, lowercase
        self._library_tokenizer = make_tokenizer(kind, vocabulary)

    @classmethod
    def fit(
        cls,
        sentences: Iterable[str],
        *,
        kind: str,
        size: int | None = None,
        min_count: int = 1,
        lowercase: bool = False,
    ) -> Tokenizer:
        """Fit a tokenizer on sentences; equal sentences give equal tokenizers.

        Sentences are read once and not stored. `size` is the most entries, the four special tokens
        included; None: all words or characters, and 8,000 for `bpe`. Words and characters rarer
        than `min_count` are unknown; rarer merges are left out, and merges that occur only once.

        Raises:
            RequestError: the kind is unknown, `size` is too small, or there is no sentence.
        """
        texts = (_prepare(text, kind, lowercase) for text in sentences)
        vocabulary = learn_vocabulary(texts, kind=kind, size=size, min_count=min_count)
        return cls(kind, vocabulary, lowercase=lowercase)

    @property
    def size(self) -> int:
        """Number of entries of the vocabulary, the four special tokens included."""
        return len(self.vocabulary.tokens)

    @cached_property
    def words(self) -> list[str]:
        """The words of the vocabulary, the most frequent first; none unless the kind is `word`."""
        if self.kind != "word":
            return []
        return [*dict.fromkeys(self.pieces(range(len(SPECIAL_TOKENS), self.size)))]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without START, END and PAD; [] for an empty text."""
        rows: list[list[int]] = []
        for start in range(0, len(texts), _TOGETHER):
            batch = [self._prepare(text) for text in texts[start : start + _TOGETHER]]
            rows += [encoded.ids for encoded in self._library_tokenizer.encode_batch_fast(batch)]
        return rows

    def encode_on(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts that continue another: the first word has no space in front."""
        prepared = [without_surrogates(text) for text in texts]
        encoded = self._library_tokenizer.encode_batch_fast(prepared)
        return [text.ids for text in encoded]

    def content(self, ids: Iterable[int]) -> bytes:
        """Return the UTF-8 of tokens one after the other; PAD, START and END have none."""
        return b"".join(self._contents[token] for token in ids)

    def cut(self, text: str) -> list[str]:
        """Return the part of a text for each token of `encode([text])[0]`, without spaces."""
        prepared = self._prepare(text)
        spans = self._library_tokenizer.encode(prepared).offsets
        return [prepared[start:end].strip(" ") for start, end in spans]

    def unknown(self, text: str) -> list[str]:
        """Return the words or characters of a text that the vocabulary lacks, in their order."""
        pairs = zip(self.encode([text])[0], self.cut(text), strict=True)
        unknown = (word for token, word in pairs if token == UNKNOWN)
        return [_readable(word.encode("utf-8", "replace")) for word in unknown]

    def decode(
        self, rows: Iterable[Sequence[int] | np.ndarray], copied: Sequence[Sequence[str]] = ()
    ) -> list[str]:
        """Return the text of each row of ids up to its first END.

        `copied` has the words that replace the unknown tokens of each row; without words they
        become "⁇".
        """
        return [self._text(row, words) for row, words in zip_longest(rows, copied, fillvalue=())]

    def pieces(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """Return a readable label for each token, for figures.

        A piece that continues the previous word has "·" in front, white space is "␣", and bytes
        that aren't a whole character are hexadecimal.
        """
        labels: list[str] = []
        before = ""  # the last character, if a word can continue after it
        for token in _plain(ids):
            content = self._contents[token]
            first = content[:8].decode("utf-8", "replace")[:1]
            goes_on = len(split_words(before + first)) == 1 and not first.isspace()
            marked = bool(before) and goes_on and self.kind not in ("word", "char")
            labels.append(LABELS.get(token) or "·" * marked + _readable(content))
            before = content.decode("utf-8", "replace")[-1:].strip() * (token not in LABELS)
        return labels

    def encode_words(self, text: str) -> tuple[list[int], list[int]]:
        """Return the ids of a text, and the number in `split_words(text)` of each id's word.

        A token of white space belongs to the word before it.
        """
        prepared = self._prepare(text)
        starts = [start for start, _ in word_spans(prepared)]
        encoded = self._library_tokenizer.encode(prepared)
        numbers = []
        for start, end in encoded.offsets:
            while start < end - 1 and prepared[start].isspace():
                start += 1
            numbers.append(max(bisect(starts, start) - 1, 0))
        return encoded.ids, numbers

    def word_numbers(self, text: str) -> list[int]:
        """Return each token's word, as its number in `split_words(text)`."""
        return self.encode_words(text)[1]

    def most_frequent(self, most: int) -> range:
        """Return the ids of the most frequent words in the training texts, at most `most`.

        After the special tokens a vocabulary is ordered by frequency. But BPE has all bytes first,
        then pieces in the order of their merges.
        """
        first = len(SPECIAL_TOKENS) + (BYTES if self.kind == "bpe" else 0)
        if first + 2 >= self.size:  # nothing was merged
            first = len(SPECIAL_TOKENS)
        return range(first, min(first + most, self.size))

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON, atomically."""
        content = {
            **{"format": _FORMAT, "kind": self.kind, "lowercase": self.lowercase},
            **self.vocabulary._asdict(),
        }
        write_text(path, json.dumps(content, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a file that `save` wrote.

        Raises:
            RequestError: the file is missing or damaged.
        """
        try:
            content = json.loads(path.read_bytes())
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']!r}")
            tokens, kind = [*map(str, content["tokens"])], content["kind"]
            check_size(kind, len(tokens))
            special = tuple(tokens[: len(SPECIAL_TOKENS)])
            if special != SPECIAL_TOKENS or len({*tokens}) < len(tokens):
                raise ValueError("a vocabulary with missing or repeated tokens")
            vocabulary = Vocabulary(tokens, [(left, right) for left, right in content["merges"]])
            return cls(kind, vocabulary, lowercase=bool(content["lowercase"]))
        except Exception as error:  # the library raises bare ones
            reason = f"{type(error).__name__}: {error}"
            raise RequestError(f"{path}: can't be read as a tokenizer: {reason}.") from error

    def _prepare(self, text: str) -> str:
        return _prepare(text, self.kind, self.lowercase)

    @cached_property
    def _contents(self) -> list[bytes]:
        """The UTF-8 text of each token; empty for PAD, START and END."""
        tokens = self.vocabulary.tokens[len(SPECIAL_TOKENS) :]
        unknown = UNKNOWN_TEXT if self.kind == "char" else f" {UNKNOWN_TEXT}"
        others = map(bytes_of if self.kind == "bpe" else str.encode, tokens)
        return [b"", unknown.encode(), b"", b"", *others]

    def _text(self, row: Sequence[int] | np.ndarray, copied: Sequence[str]) -> str:
        contents = self._contents
        words = (f" {word}".encode("utf-8", "replace") for word in copied)
        tokens = takewhile(lambda token: token != END, _plain(row))
        pieces = [
            next(words, contents[token]) if token == UNKNOWN else contents[token]
            for token in tokens
        ]
        text = b"".join(pieces).decode("utf-8", "replace")
        return text if self.kind == "char" else text.removeprefix(" ")


def _prepare(text: str, kind: str, lowercase: bool) -> str:
    """Prepare a text for the library, which expects a space in front of the first word.

    Characters, and words of scripts without spaces, have none.
    """
    text = without_surrogates(text)
    if lowercase:
        text = text.lower()
    if kind == "word":
        text = " ".join(text.split())
    has_space = text and kind != "char" and not is_unspaced(text[0])
    return f" {text}" if has_space else text


def _plain(row: Sequence[int] | np.ndarray) -> list[int]:
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def _readable(content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<{byte:02X}>" for byte in content.strip())
    shown = text.strip(" ") or "␣"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)


def pad_rows(rows: Sequence[Any], count: int = 0, width: int = 0) -> np.ndarray:
    """Return rows of tokens as one int32 array of at least (count, width), padded with PAD."""
    padded = np.full((max(count, len(rows)), max([1, width, *map(len, rows)])), PAD, np.int32)
    for target, row in zip(padded, rows, strict=False):
        target[: len(row)] = row
    return padded
