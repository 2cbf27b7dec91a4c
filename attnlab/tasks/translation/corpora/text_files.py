"""Sentences from text files, plain or packed, line by line; what is wrong is named by its line.

Archives are read as streams: nothing is ever extracted, so no name in an archive can decide where
something is written.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import re
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.corpus import Pair
from attnlab.text.words import split_words

LONGEST_LINE = 1 << 20  # bytes; beyond it a file is no text of sentences
BLANK, EMPTY_SIDE = "blank lines", "pairs with an empty side"
_CHUNK = 1 << 20
_LINKS = re.compile(r"(\d{1,9}-\d{1,9})?( \d{1,9}-\d{1,9})*")
LARGEST_MEMBER = 2 << 30  # bytes unpacked
_ENCRYPTED = 0x1
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second one has no members


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


class PartFiles(NamedTuple):
    """Where the pairs of one part of a corpus lie."""

    # the sources, a line each; sources and targets with a tab between where `target` is None
    source: Path
    target: Path | None = None  # the targets, a line each
    links: Path | None = None  # the word alignments, a line each; None where there are none

    def present(self) -> list[Path]:
        """The files that there are; all have equally many lines."""
        return [path for path in self if path is not None]

    def scanned(self) -> list[Scan]:
        """Each file's content in short, in the order of `present`.

        Raises:
            RequestError: a file can't be read, or two differ in their lines.
        """
        scans = [scan(path) for path in self.present()]
        if len({found.lines for found in scans}) > 1:
            pairs = zip(scans, self.present(), strict=True)
            counts = " and ".join(f"{found.lines:,} in {path}" for found, path in pairs)
            raise RequestError(f"expected files with equally many lines, got {counts}.")
        return scans

    def read(self, dropped: Counter[str]) -> Iterator[Pair]:
        """The pairs, a line of one file with the same line of the others.

        After a source, a tab and a target, further columns don't count. Blank lines, and pairs of
        two files with an empty side, are left out and counted in `dropped`.

        Raises:
            RequestError: a line has no tab, an empty side beside it, or bad links; names the line.
        """
        lines = zip(*map(read_lines, self.present()), strict=True)
        for number, (first, *others) in enumerate(lines, 1):
            if self.target:
                source, target = first.strip(), others[0].strip()
            else:
                source, target = _cut(first, self.source, number)
            if not (source and target):
                dropped[EMPTY_SIDE if self.target else BLANK] += 1
                continue
            pair = Pair(source, target)
            yield _linked(pair, others[-1], f"{self.links}:{number}") if self.links else pair


def shortened(text: str) -> str:
    """A text quoted for a message, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


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


def _cut(line: str, path: Path, number: int) -> tuple[str, str]:
    """Source and target with a tab between; both empty for a blank line."""
    source, tab, rest = line.partition("\t")
    source, target = source.strip(), rest.partition("\t")[0].strip()
    if line.strip() and not (tab and source and target):
        found = "no tab" if not tab else f"an empty {'target' if source else 'source'}"
        raise RequestError(
            f"{path}:{number}: expected a source, a tab and a target, got {found}: "
            f"{shortened(line)}."
        )
    return source, target


def _linked(pair: Pair, links: str, where: str) -> Pair:
    links = " ".join(links.split())
    if not _LINKS.fullmatch(links):
        raise RequestError(f"{where}: expected links such as 0-0 1-2, got {shortened(links)}.")
    words = len(split_words(pair.source)), len(split_words(pair.target))
    for link in links.split():
        for side, number, count in zip(("source", "target"), link.split("-"), words, strict=True):
            if int(number) >= count:
                raise RequestError(
                    f"{where}: expected {side} words 0 to {count - 1} "
                    f"(words and punctuation marks count), got the link {link}."
                )
    return pair._replace(links=links)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is gzipped or zipped; known by content, not by name.

    Raises:
        RequestError: the file can't be read or is damaged, there or in the body that reads it.
    """
    try:
        with open(path, "rb") as raw:
            start = raw.read(4)
            raw.seek(0)
            if start.startswith(b"\x1f\x8b"):
                with gzip.open(raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            elif start in _ZIP_STARTS:
                with zipfile.ZipFile(raw) as archive, archive.open(text_member(archive)) as member:
                    yield cast(BinaryIO, member)
            else:
                yield raw
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise RequestError(f"{path}: expected a whole zip archive, but: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RequestError(f"{path}: expected a whole archive, but: {error}.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(f"{path}: expected a text file, but: {reason}.") from error


def check_zip(path: Path) -> None:
    """Refuse, by a `RequestError`, what is no whole zip archive with one text file."""
    if not zipfile.is_zipfile(path):
        raise RequestError(f"{path}: expected a zip archive, got something else.")
    scan(path)


def check_gzip(path: Path) -> None:
    """Refuse, by a `RequestError`, what is no whole gzip file."""
    with open(path, "rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise RequestError(f"{path}: expected a gzip file, got something else.")
    scan(path)


def text_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one text file of an archive; names that begin with `_` are the site's notes about it.

    Raises:
        RequestError: there is not exactly one plain text file on top, or it is no plain file.
    """
    found = [info for info in archive.infolist() if _is_wanted(info.filename)]
    where = archive.filename or getattr(archive.fp, "name", "archive")
    if len(found) != 1:
        names = ", ".join(info.filename[:60] for info in archive.infolist()[:5]) or "nothing"
        raise RequestError(f"{where}: expected a zip archive with one text file, got {names}.")
    (info,) = found
    mode = info.external_attr >> 16
    if info.flag_bits & _ENCRYPTED or (mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        raise RequestError(
            f"{where}: expected a plain text file in it, got a link or a locked one."
        )
    if info.file_size > LARGEST_MEMBER:
        raise RequestError(
            f"{where}: expected at most {LARGEST_MEMBER:,} bytes unpacked, got {info.file_size:,}."
        )
    return info


def _is_wanted(name: str) -> bool:
    plain = not any(mark in name for mark in "/\\:\0") and not name.startswith((".", "_"))
    return plain and name.lower().endswith((".txt", ".tsv"))
