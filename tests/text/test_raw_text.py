"""Texts in memory and in files, read in blocks."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.text.reading import RawText

CONTENT = "Erste Zeile\n\nzwei über\ndrei\nvier 😀 fünf\nEnde".encode()


@pytest.fixture(params=["bytes", "file", "pieces"])
def text(request, tmp_path):
    """One text in memory, in a file, and in pieces of both."""
    if request.param == "bytes":
        return RawText(CONTENT)
    path = tmp_path / "a.txt"
    path.write_bytes(CONTENT)
    whole = RawText(path)
    if request.param == "file":
        return whole
    return RawText.join([whole.cut(0, 9), RawText(CONTENT[9:20]), whole.cut(20, len(CONTENT))])


def test_every_cut_is_that_of_the_bytes(text):
    assert bytes(text) == CONTENT and len(text) == len(CONTENT)
    for start in range(0, len(CONTENT), 3):
        for end in range(start, len(CONTENT) + 3, 5):
            cut = text.cut(start, end)
            assert bytes(cut) == CONTENT[start:end] and len(cut) == len(CONTENT[start:end])
            assert bytes(cut.cut(2, 7)) == CONTENT[start:end][2:7]


def test_blocks_are_whole_lines(text):
    for size in [1, 2, 5, 11, 13, 1000]:
        blocks = [*text.blocks(size)]
        assert b"".join(blocks) == CONTENT and all(blocks)
        assert all(block.endswith(b"\n") for block in blocks[:-1])
        assert len(blocks) == (1 if size == 1000 else len(blocks)) and (
            size > 5 or len(blocks) >= 4
        )


def test_a_long_line_is_cut_before_a_space_or_between_characters(text):
    blocks = [*text.blocks(4, 8)]
    assert b"".join(blocks) == CONTENT
    assert all(block.decode() for block in blocks)
    assert any(not block.endswith(b"\n") for block in blocks[:-1])
    letters = [*RawText("ü".encode() * 20).blocks(4, 8)]
    assert len(letters) > 2 and all(set(block.decode()) == {"ü"} for block in letters)


def test_a_file_that_gets_shorter_is_one_sentence(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(CONTENT)
    text = RawText(path)
    path.write_bytes(CONTENT[:20])
    with pytest.raises(RequestError, match="a.txt: changed while it was read: run the command"):
        bytes(text)
    with pytest.raises(RequestError, match="missing.txt can't be read"):
        RawText(tmp_path / "missing.txt")
