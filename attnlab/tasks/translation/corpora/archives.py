"""Text files out of gzip and zip archives, read as streams: nothing is ever extracted.

Because a member is read in place, no name in an archive can decide where something is written.
"""

from __future__ import annotations

import contextlib
import gzip
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from attnlab.errors import RequestError

LARGEST_MEMBER = 2 << 30  # bytes unpacked
_ENCRYPTED = 0x1
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second one has no members


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
    """Refuse what is no whole zip archive with one text file, such as a login page in its place.

    Raises:
        RequestError: with what was expected.
    """
    if not zipfile.is_zipfile(path):
        raise RequestError(f"{path}: expected a zip archive, got something else.")
    _read_through(path)


def check_gzip(path: Path) -> None:
    """Refuse what is no whole gzip file.

    Raises:
        RequestError: with what was expected.
    """
    with open(path, "rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise RequestError(f"{path}: expected a gzip file, got something else.")
    _read_through(path)


def _read_through(path: Path) -> None:
    with opened(path) as stream:
        while stream.read(1 << 20):
            pass


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
