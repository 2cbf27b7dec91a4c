"""Decode bytes as text, with limits of size and messages that say what is wrong."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path, PurePath

from attnlab.errors import RequestError, explained

_LONGEST_TEXT = 1_000_000  # bytes
_STANDARD_INPUT = Path("-")
_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
# Files and folders that file managers, file systems and Python create.
_OF_SYSTEMS = frozenset(
    "thumbs.db ehthumbs.db desktop.ini icon\r @eadir $recycle.bin lost+found __pycache__".split(" ")
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_text(raw: bytes, where: str, encoding: str | None = None, first_line: int = 1) -> str:
    """Decode bytes: by `encoding`, or as UTF-8, or as UTF-16 with a byte order mark.

    `first_line` is the number of the bytes' first line, for messages.

    Raises:
        RequestError: the bytes aren't such a text; the message starts with `where`.
    """
    if encoding is None:
        marked = "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"
        encoding = "utf-16" if raw[:2] in _UTF16 else marked
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = first_line + raw[: error.start].count(b"\n")
        name = _NAMES.get(encoding, encoding)
        raise RequestError(
            f"{where}: expected {name} text, got the byte 0x{raw[error.start]:02x} in line {line}."
        ) from error
    text = text.removeprefix("\ufeff")  # the mark, if `encoding` doesn't remove it
    if "\0" in text:
        raise RequestError(f"{where}: expected text, got a zero byte.")
    return text


def printable(name: str) -> str:
    r"""Return a file name for messages; bytes that aren't UTF-8 become `\xe9`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_hidden(path: PurePath) -> bool:
    """Whether a file is hidden, or was created by a file manager or a file system."""
    folders = (part for part in path.parts if part not in (".", ".."))
    return any(
        part.startswith((".", "__MACOSX")) or part.casefold() in _OF_SYSTEMS for part in folders
    )


def check_utf8(text: str, where: str) -> None:
    """Raise `RequestError` unless a text, such as a command-line argument, is UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:  # Python shows other bytes as lone surrogates
        raise RequestError(f"{where}: expected UTF-8, got {text!a}.") from error


def read_text(path: Path, argument: str) -> str:
    """Read the text of a file, or of standard input (`-`).

    Args:
        path: the path of the file.
        argument: the command-line argument with the path, for messages.

    Raises:
        RequestError: the file can't be read, isn't text, is empty, or has over 1,000,000 bytes.
    """
    where = f"{argument}: {path}" if path != _STANDARD_INPUT else f"{argument}: standard input"
    with explained(f"{where} can't be read"):
        if path == _STANDARD_INPUT:
            raw = sys.stdin.buffer.read(_LONGEST_TEXT + 1) if sys.stdin else b""
        else:
            with open(path, "rb") as file:
                raw = file.read(_LONGEST_TEXT + 1)
    if len(raw) > _LONGEST_TEXT:
        raise RequestError(
            f"{where}: expected a text of at most {_LONGEST_TEXT:,} bytes, got more."
        )
    text = decode_text(raw, where)
    if not text.strip():
        raise RequestError(f"{where}: expected a text, got an empty one.")
    return text
