"""Decode bytes as text, with limits of size and messages that say what is wrong."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path, PurePath

from attnlab.errors import RequestError, explained

LONGEST_TEXT = 1_000_000  # bytes
STANDARD_INPUT = Path("-")
_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
# Files and folders that file managers, file systems and Python create.
_OF_SYSTEMS = frozenset(
    "thumbs.db ehthumbs.db desktop.ini icon\r @eadir $recycle.bin lost+found __pycache__".split(" ")
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def encoding_of(raw: bytes) -> str:
    """Return the encoding that the byte order mark of a text indicates; UTF-8 without one."""
    if raw[:2] in _UTF16:
        return "utf-16"
    return "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"


def decoded(
    raw: bytes, where: str, encoding: str | None = None, key: str = "", first_line: int = 1
) -> str:
    """Decode bytes: by `encoding`, or as UTF-8, or as UTF-16 with a byte order mark.

    `key` is the setting of the encoding, for messages, and `first_line` the number of the bytes'
    first line.

    Raises:
        RequestError: the bytes aren't such a text; the message starts with `where`.
    """
    codec = encoding or encoding_of(raw)
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        line = first_line + raw[: error.start].count(b"\n")
        hint = f"; {key} names another encoding" if key else "; save it as UTF-8"
        name, byte = encoding or _NAMES[codec], raw[error.start]
        raise RequestError(
            f"{where}: expected {name} text, got the byte 0x{byte:02x} in line {line}{hint}."
        ) from error
    except (LookupError, UnicodeError) as error:
        raise RequestError(f"{where}: can't be decoded by {key or codec}: {error}.") from error
    text = text.removeprefix("\ufeff")  # the mark, if `encoding` doesn't remove it
    if "\0" in text:
        raise RequestError(f"{where}: expected text, got a zero byte.")
    return text


def is_utf8(name: str) -> bool:
    """Whether a file name is UTF-8; Python shows other bytes as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    if not is_utf8(text):
        raise RequestError(f"{where}: expected UTF-8, got {text!a}.")


def too_long(where: str, size: int) -> RequestError:
    """Return the error for a text of too many bytes or characters."""
    return RequestError(
        f"{where}: expected a text of at most {LONGEST_TEXT:,} bytes, got {size:,}."
    )


def read_text(path: Path, argument: str) -> str:
    """Read the text of a file, or of standard input (`-`).

    Args:
        path: the path of the file.
        argument: the command-line argument with the path, for messages.

    Raises:
        RequestError: the file can't be read, isn't text, is empty, or has over 1,000,000 bytes.
    """
    where = f"{argument}: {path}" if path != STANDARD_INPUT else f"{argument}: standard input"
    with explained(f"{where} can't be read"):
        if path == STANDARD_INPUT and sys.stdin is None:
            raise RequestError(f"{where}: expected a text, but it is closed.")
        if path == STANDARD_INPUT:
            raw = sys.stdin.buffer.read(LONGEST_TEXT + 1)
        elif path.is_dir():
            raise RequestError(f"{where}: expected a file, got a folder.")
        else:
            size = path.stat().st_size
            raw = path.read_bytes() if size <= LONGEST_TEXT else b""
            if size > LONGEST_TEXT:
                raise too_long(where, size)
    if len(raw) > LONGEST_TEXT:
        raise too_long(where, len(raw))
    text = decoded(raw, where)
    if not text.strip():
        raise RequestError(f"{where}: expected a text, got an empty one.")
    return text
