"""Reading files as text, and messages for unusable ones."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.text.reading import decode_text, read_text


def test_usual_encodings_are_found():
    for raw, encoding in [
        ("Größe\n".encode(), None),
        ("Größe\n".encode("utf-8-sig"), None),
        ("Größe\n".encode("utf-8-sig"), "utf-8"),
        ("Größe\n".encode("utf-16"), None),
    ]:
        assert decode_text(raw, "here", encoding) == "Größe\n"


def test_bytes_that_are_not_text_are_refused():
    for raw, message in [
        (b"a\nb\xe9", "here: expected UTF-8 text, got the byte 0xe9 in line 2."),
        (b"\xff\xfea\0b", "here: expected UTF-16 text, got the byte 0x62 in line 1."),
        (b"a\0b", "here: expected text, got a zero byte."),
    ]:
        with pytest.raises(RequestError) as refused:
            decode_text(raw, "here")
        assert str(refused.value) == message


def test_a_text_is_read_unchanged(tmp_path):
    content = "  A text.\r\nIts end. \n"
    (tmp_path / "a.txt").write_bytes(content.encode())
    assert read_text(tmp_path / "a.txt", "FILE") == content
