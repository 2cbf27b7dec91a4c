"""Read the lines of standard input as they arrive."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import cast

import click

from attnlab.errors import RequestError

_READ = 1 << 16  # most bytes of one read


def input_lines(name: str, together: int) -> Iterator[list[str]]:
    """Yield lists of lines without line ends: all that can be read without waiting for more.

    Args:
        name: What a line is, for messages, such as `SENTENCE`.
        together: The most lines of a list.

    Raises:
        RequestError: Standard input is closed, or a line is not UTF-8. The lines before it are
            yielded first.
    """
    noun = name.lower()
    if sys.stdin is None:
        raise RequestError(f"{name}: give a {noun}, or standard input, which is closed.")
    stream = cast(BufferedReader, sys.stdin.buffer)
    if stream.isatty():
        click.echo(f"attnlab: type a {noun} and press Enter; Ctrl-D ends.", err=True)
    number, unfinished = 0, b""
    while data := stream.read1(_READ):
        *lines, unfinished = (unfinished + data).split(b"\n")
        for start in range(0, len(lines), together):
            batch = lines[start : start + together]
            yield from _decoded(batch, number + 1)
            number += len(batch)
    if unfinished:
        yield from _decoded([unfinished], number + 1)


def _decoded(lines: list[bytes], first: int) -> Iterator[list[str]]:
    """Yield lines as texts; `first` is the number of the first line."""
    texts: list[str] = []
    for number, line in enumerate(lines, first):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            if texts:
                yield texts
            raise RequestError(
                f"standard input, line {number}: not UTF-8: byte {error.start + 1} is "
                f"0x{line[error.start]:02x}."
            ) from error
        texts.append(text.removesuffix("\r"))
    yield texts
