"""Lines of standard input, as they arrive."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from attnlab.commands.standard_input import input_lines
from attnlab.errors import RequestError


@pytest.fixture
def given(monkeypatch):
    """Put bytes on standard input."""

    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return given


def test_a_closed_standard_input_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(RequestError, match="TEXT: give a text, or standard input, which is closed"):
        next(input_lines("TEXT", 9))


def test_a_byte_order_mark_is_removed_from_the_first_line(given):
    given("One\r\nGröße\n".encode("utf-8-sig"))
    assert [*input_lines("TEXT", 9)] == [["One", "Größe"]]


def test_lines_are_read_in_batches_of_limited_size(given):
    given(b"1\n2\n\n4\n5")
    assert [*input_lines("TEXT", 3)] == [["1", "2", ""], ["4"], ["5"]]


def test_lines_before_an_invalid_one_are_processed(given):
    given(b"one\ntwo\nt\xffree\nfour\n")
    lines = input_lines("TEXT", 9)
    assert next(lines) == ["one", "two"]
    with pytest.raises(RequestError, match="line 3: not UTF-8: byte 2 is 0xff."):
        next(lines)
