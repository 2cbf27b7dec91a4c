"""The lines of standard input, as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import cast

import click

from attnlab.errors import RequestError

_READ = 1 << 16  # bytes that are waited for at once, at most


def input_lines(name: str, together: int) -> Iterator[list[str]]:
    """Lists of lines without their ends: those that are there without waiting, at least one.

    Args:
        name: what a line is, as messages name it: `SENTENCE`.
        together: how many lines a list has at most.

    Raises:
        RequestError: it is closed, or a line is no UTF-8; the lines before that one come first.
    """
    noun = name.lower()
    if sys.stdin is None:
        raise RequestError(f"{name}: expected a {noun}, or standard input, got neither.")
    stream = cast(BufferedReader, sys.stdin.buffer)
    if stream.isatty():
        click.echo(f"attnlab: type a {noun} and Enter; Ctrl-D ends.", err=True)
    number = 0
    for lines in _raw_lines(stream, together):
        texts: list[str] = []
        for number, line in enumerate(lines, number + 1):  # noqa: B020
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                if texts:
                    yield texts
                raise RequestError(
                    f"standard input, line {number}: expected UTF-8, got the byte "
                    f"0x{line[error.start]:02x} at place {error.start + 1}."
                ) from error
            texts.append(text.removesuffix("\r"))
        yield texts


def _raw_lines(stream: BufferedReader, together: int) -> Iterator[list[bytes]]:
    """All complete lines that can be read without waiting, again and again."""
    begun: list[bytes] = []  # of the line that has no end yet
    while data := stream.read1(_READ):
        first, *others = data.split(b"\n")
        begun.append(first)
        if others:
            complete = [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
            for place in range(0, len(complete), together):
                yield complete[place : place + together]
    if any(begun):
        yield [b"".join(begun)]
