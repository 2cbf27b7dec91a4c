"""Read sentences from text files, plain or packed, line by line; messages name the line.

Archives are read as streams and never extracted, so no name in an archive can choose where a file
is written.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import re
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from attnlab.errors import RequestError
from attnlab.tasks.translation.pair import Pair
from attnlab.text.columns import Layout, layout
from attnlab.text.raw_text import changed
from attnlab.text.words import is_unspaced, word_spans

LONGEST_LINE = 1 << 20  # bytes; a file with a longer line doesn't contain sentences
BLANK, EMPTY_SIDE = "blank lines", "pairs with an empty side"
HEADER = "lines with the names of columns"
_CHUNK = 1 << 20
# Characters inside a line that show that it was several lines or files.
_BREAKS = {
    "\0": "a zero byte",
    "\r": "a carriage return (only line feeds end a line)",
    "\ufeff": "a byte order mark",
}
_LINKS = re.compile(r"(\d{1,9}-\d{1,9})?( \d{1,9}-\d{1,9})*")
LARGEST_MEMBER = 2 << 30  # bytes unpacked
_ENCRYPTED = 0x1
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an archive without members


class Scan(NamedTuple):
    """SHA-256 of a file's text, and its number of lines."""

    digest: str
    lines: int


def scan(path: Path) -> Scan:
    """Read a file, unpacked if it is packed, for its digest and its number of lines.

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
    """Yield the lines of a UTF-8 file, with or without a byte order mark, in NFC.

    Only a line feed (with or without a carriage return) ends a line: a sentence may contain the
    other characters that Unicode counts as line ends.

    Raises:
        RequestError: the file can't be read, or a line isn't UTF-8 text; the message names it.
    """
    with opened(path) as stream:
        number = 0
        while raw := stream.readline(LONGEST_LINE):
            number += 1
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            yield _decoded(raw, path, number)


class PartFiles(NamedTuple):
    """The files of one part of a corpus."""

    # the sources, one per line; without `target` a tab-separated file of sources and targets
    source: Path
    target: Path | None = None  # the targets, one per line
    links: Path | None = None  # the word alignments, one per line
    layout: Layout = Layout()  # the columns of a tab-separated file

    def present(self) -> list[Path]:
        """Return the files that aren't None; all must have equally many lines."""
        return [path for path in self[:3] if path is not None]

    def laid_out(self, columns: Sequence[int] | None) -> PartFiles:
        """Find the columns of a tab-separated file, and return the files with this layout.

        Args:
            columns: the setting `data.columns`.

        Raises:
            RequestError: the columns are wrong or can't be found, or one of two files has tabs.
        """
        if self.target is None:
            return self._replace(layout=layout(self.source, read_lines(self.source), columns))
        for path in (self.source, self.target):
            if _is_table(path):
                raise RequestError(
                    f"{path}: expected one sentence per line, got a tab in each of its lines: "
                    "data.path reads a file with source and target, data.columns chooses them."
                )
        return self

    def scanned(self) -> list[Scan]:
        """Scan each file, in the order of `present`.

        Raises:
            RequestError: a file can't be read, or two have different numbers of lines.
        """
        scans = [scan(path) for path in self.present()]
        if len({found.lines for found in scans}) > 1:
            pairs = zip(scans, self.present(), strict=True)
            counts = " and ".join(f"{found.lines:,} in {path}" for found, path in pairs)
            raise RequestError(f"expected files with equally many lines, got {counts}.")
        return scans

    def read(self, dropped: Counter[str]) -> Iterator[Pair]:
        """Yield the pairs, made from equal lines of the files.

        Blank lines, pairs of two files with an empty side, and a line with the names of columns are
        left out and counted in `dropped`.

        Raises:
            RequestError: a line has too few columns, an empty source or target, or bad links; the
                message names the line.
        """
        lines = _together(self.present())
        is_header = self.layout.header
        for number, (first, *others) in enumerate(lines, 1):
            if is_header and first.strip():
                dropped[HEADER] += 1
                is_header = False
                continue
            if self.target:
                source, target = first.strip(), others[0].strip()
            else:
                source, target = _cut(first, self.layout, self.source, number)
            if not (source and target):
                dropped[EMPTY_SIDE if self.target else BLANK] += 1
                continue
            pair = Pair(source, target)
            yield _linked(pair, others[-1], f"{self.links}:{number}") if self.links else pair


def _together(paths: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """Yield equal lines of files, which were scanned before."""
    for lines in zip_longest(*map(read_lines, paths)):
        if None in lines:
            raise changed(paths[lines.index(None)])
        yield lines


def shortened(text: str) -> str:
    """Quote a text for a message, cut to 60 characters."""
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
    text = text.rstrip("\r\n")
    for character, what in _BREAKS.items():
        if character in text:
            raise RequestError(f"{path}:{number}: expected one sentence, got {what} inside of it.")
    return unicodedata.normalize("NFC", text)


def _cut(line: str, layout: Layout, path: Path, number: int) -> tuple[str, str]:
    """Return source and target from their columns; both are empty for a blank line."""
    if not line.strip():
        return "", ""
    cells = [cell.strip() for cell in line.split("\t")]
    places = {"source": layout.source, "target": layout.target}
    found = {side: cells[place] if place < len(cells) else "" for side, place in places.items()}
    if not all(found.values()):
        empty = "no tab" if len(cells) == 1 else f"an empty {min(found, key=found.__getitem__)}"
        raise RequestError(
            f"{path}:{number}: expected a source, a tab and a target, got {empty}: "
            f"{shortened(line)}."
        )
    return found["source"], found["target"]


def _is_table(path: Path) -> bool:
    """Whether a file has several lines, each with a tab."""
    texts = 0
    for line in read_lines(path):
        if line.strip():
            texts += 1
            if "\t" not in line.strip():
                return False
    return texts > 1


def _linked(pair: Pair, links: str, where: str) -> Pair:
    links = " ".join(links.split())
    if not _LINKS.fullmatch(links):
        raise RequestError(f"{where}: expected links such as 0-0 1-2, got {shortened(links)}.")
    words = linked_words(pair.source), linked_words(pair.target)
    found = []
    for link in links.split():
        numbers = [int(number) for number in link.split("-")]
        for side, number, own in zip(("source", "target"), numbers, words, strict=True):
            if number >= len(own):
                raise RequestError(
                    f"{where}: expected {side} words 0 to {len(own) - 1} "
                    f"(words and punctuation marks count), got the link {link}."
                )
        ends = itertools.product(words[0][numbers[0]], words[1][numbers[1]])
        found += [f"{source}-{target}" for source, target in ends]
    return pair._replace(links=" ".join(found))


def linked_words(text: str) -> list[list[int]]:
    """Return the `split_words` numbers of each word as links count words.

    Usually both count the same words. But if Chinese, Japanese or similar text has spaces between
    words, as aligners need it, links count all characters between two spaces as one word.
    """
    spans = word_spans(text)
    alone = [is_unspaced(text[start:end]) for start, end in spans]
    groups: list[list[int]] = []
    has_spaces = False
    for number, (start, _) in enumerate(spans):
        both = number > 0 and alone[number - 1] and alone[number]
        if both and start == spans[number - 1][1]:
            groups[-1].append(number)
        else:
            groups.append([number])
            has_spaces = has_spaces or both
    return groups if has_spaces else [[number] for number in range(len(spans))]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open the bytes of a file; unpack gzip and zip, which the content shows, not the name.

    Raises:
        RequestError: the file can't be read or is damaged, also while the body reads it.
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
        raise RequestError(f"{path}: can't be unpacked: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RequestError(f"{path}: can't be unpacked: {error}.") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RequestError(f"{path}: can't be read: {reason}.") from error


def check_zip(path: Path) -> None:
    """Raise `RequestError` unless a file is a complete zip archive with one text file."""
    if not zipfile.is_zipfile(path):
        raise RequestError(f"{path}: expected a zip archive, got something else.")
    scan(path)


def check_gzip(path: Path) -> None:
    """Raise `RequestError` unless a file is a complete gzip file."""
    with open(path, "rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise RequestError(f"{path}: expected a gzip file, got something else.")
    scan(path)


def text_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only text file of an archive, leaving out notes, whose names start with `_`.

    Raises:
        RequestError: the top folder doesn't have exactly one text file, or that is a link, is
            encrypted or too large.
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
            f"{where}: expected a plain text file in it, got a link or an encrypted one."
        )
    if info.file_size > LARGEST_MEMBER:
        raise RequestError(
            f"{where}: expected at most {LARGEST_MEMBER:,} bytes unpacked, got {info.file_size:,}."
        )
    return info


def _is_wanted(name: str) -> bool:
    plain = not any(mark in name for mark in "/\\:\0") and not name.startswith((".", "_"))
    return plain and name.lower().endswith((".txt", ".tsv"))
