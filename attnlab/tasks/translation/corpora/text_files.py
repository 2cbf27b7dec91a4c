"""Sentences from text files, plain or packed, line by line; what is wrong is named by its line."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.archives import opened
from attnlab.tasks.translation.corpora.corpus import Pair

LONGEST_LINE = 1 << 20  # bytes; beyond it a file is no text of sentences
BLANK, EMPTY_SIDE = "blank lines", "pairs with an empty side"
_CHUNK = 1 << 20
_LINKS = re.compile(r"(\d{1,9}-\d{1,9})?( \d{1,9}-\d{1,9})*")


class Scan(NamedTuple):
    """A file's content in short: SHA-256 of its text, and how many lines that has."""

    digest: str
    lines: int


def scan(path: Path) -> Scan:
    """Read a file once through, unpacked where it is packed.

    Raises:
        RequestError: the file can't be read.
    """
    state, lines, last = hashlib.sha256(), 0, b"\n"
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK):
            state.update(chunk)
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return Scan(state.hexdigest(), lines + (last != b"\n"))


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, with or without a byte order mark, in NFC, without line ends.

    Only a line feed (with or without a carriage return) ends a line: a sentence may hold any of the
    other characters that Unicode counts as line ends.

    Raises:
        RequestError: the file can't be read, or a line is not UTF-8 text; names the line.
    """
    with opened(path) as stream:
        number = 0
        while raw := stream.readline(LONGEST_LINE):
            number += 1
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            yield _decoded(raw, path, number)


def tab_pairs(path: Path, dropped: dict[str, int], links: Path | None = None) -> Iterator[Pair]:
    """Pairs from lines of a source, a tab and a target; further columns don't count.

    Args:
        path: the file; its blank lines are skipped and counted.
        dropped: counts what is left out, by reason.
        links: a file with the word alignment of each line.

    Raises:
        RequestError: a line has no tab or an empty side; names the line.
    """
    alignments = read_lines(links) if links else iter(())
    for number, (line, alignment) in enumerate(zip_longest(read_lines(path), alignments), 1):
        if line is None:
            raise RequestError(_unequal(path, links or path))
        if not line.strip():
            dropped[BLANK] = dropped.get(BLANK, 0) + 1
            continue
        source, tab, rest = line.partition("\t")
        source, target = source.strip(), rest.partition("\t")[0].strip()
        if not (tab and source and target):
            found = "no tab" if not tab else f"an empty {'target' if source else 'source'}"
            raise RequestError(
                f"{path}:{number}: expected a source, a tab and a target, got {found}: "
                f"{shortened(line)}."
            )
        yield _pair(source, target, alignment, links, number)


def parallel_pairs(
    sources: Path, targets: Path, dropped: dict[str, int], links: Path | None = None
) -> Iterator[Pair]:
    """Pairs from two files, a line of one with the same line of the other.

    Args:
        sources: a sentence a line.
        targets: their translations.
        dropped: counts what is left out, by reason: pairs with an empty side.
        links: a file with the word alignment of each line.

    Raises:
        RequestError: the files differ in their numbers of lines.
    """
    both = zip_longest(read_lines(sources), read_lines(targets))
    alignments = read_lines(links) if links else iter(())
    for number, (sides, alignment) in enumerate(zip_longest(both, alignments), 1):
        if sides is None:
            raise RequestError(_unequal(sources, links or sources))
        source, target = sides
        if source is None or target is None:
            raise RequestError(_unequal(sources, targets))
        source, target = source.strip(), target.strip()
        if not (source and target):
            dropped[EMPTY_SIDE] = dropped.get(EMPTY_SIDE, 0) + 1
            continue
        yield _pair(source, target, alignment, links, number)


def check_line_counts(first: Path, second: Path) -> None:
    """Refuse two files that should go line by line and don't.

    Raises:
        RequestError: the files differ in their numbers of lines, or one can't be read.
    """
    if scan(first).lines != scan(second).lines:
        raise RequestError(_unequal(first, second))


def shortened(text: str, most: int = 60) -> str:
    """A text quoted for a message, cut where it is long."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")


def _decoded(raw: bytes, path: Path, number: int) -> str:
    if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
        raise RequestError(
            f"{path}:{number}: expected a sentence, got a line of {LONGEST_LINE:,} bytes or more."
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{path}:{number}: expected UTF-8 text, got the byte 0x{raw[error.start]:02x} "
            f"at position {error.start + 1} of the line."
        ) from error
    if "\0" in text:
        raise RequestError(f"{path}:{number}: expected UTF-8 text, got a zero byte.")
    return unicodedata.normalize("NFC", text.rstrip("\r\n"))


def _pair(source: str, target: str, alignment: str | None, links: Path | None, number: int) -> Pair:
    if links is None:
        return Pair(source, target)
    if alignment is None:
        raise RequestError(f"{links}: expected an alignment a pair, but line {number} is missing.")
    alignment = " ".join(alignment.split())
    if not _LINKS.fullmatch(alignment):
        raise RequestError(
            f"{links}:{number}: expected links such as 0-0 1-2, got {shortened(alignment)}."
        )
    _check_range(alignment, source, target, f"{links}:{number}")
    return Pair(source, target, alignment)


def _check_range(alignment: str, source: str, target: str, where: str) -> None:
    from attnlab.tasks.translation.text.words import split_words

    words = len(split_words(source)), len(split_words(target))
    for link in alignment.split():
        numbers = [int(number) for number in link.split("-")]
        for side, number, count in zip(("source", "target"), numbers, words, strict=True):
            if number >= count:
                raise RequestError(
                    f"{where}: expected {side} words 0 to {count - 1} "
                    f"(words and punctuation marks count), got the link {link}."
                )


def _unequal(first: Path, second: Path) -> str:
    counts = f"{scan(first).lines:,} in {first} and {scan(second).lines:,} in {second}"
    return f"expected files with equally many lines, got {counts}."
