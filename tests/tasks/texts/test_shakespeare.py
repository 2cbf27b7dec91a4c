"""The corpus `shakespeare`: downloaded once, checked, and split in two ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.texts import shakespeare
from attnlab.tasks.texts.shakespeare import Shakespeare

TEXT = b"".join(b"First Citizen:\nLine %d of the play.\n\n" % number for number in range(50))


@pytest.fixture
def server():
    with serving({"/input.txt": TEXT}) as server:
        yield server


def test_it_is_downloaded_once_and_split_by_position(server, tmp_path):
    url = f"{server.url}/input.txt"
    assert Shakespeare(url=url).location(tmp_path) is None
    for _ in range(2):
        corpus = Shakespeare(url=url)
        corpus.open(tmp_path)
    assert len(server.requests) == 1 and corpus.location(tmp_path).is_file()
    parts = {part: bytes(text) for part, text in corpus.raw().items()}
    assert b"".join(parts.values()) == TEXT
    assert [*map(len, parts.values())] == [round(len(TEXT) * 0.9), 92, len(TEXT) - 1748]
    assert "Line 0 of the play." in next(corpus.items())[0]  # masked words read sentences


def test_nanogpts_split_has_no_part_for_the_test(server, tmp_path):
    url = f"{server.url}/input.txt"
    corpus, other = Shakespeare(url=url, split="nanogpt"), Shakespeare(url=url)
    for each in (corpus, other):
        each.open(tmp_path)
    parts = {part: bytes(text) for part, text in corpus.raw().items()}
    end = int(len(TEXT) * 0.9)
    assert parts == {"train": TEXT[:end], "validation": TEXT[end:], "test": TEXT[end:]}
    assert "same part" in corpus.notes[0] and corpus.digest() != other.digest()


def test_the_usual_address_accepts_only_the_published_file(server, tmp_path, monkeypatch):
    monkeypatch.setattr(shakespeare, "URL", f"{server.url}/input.txt")
    with pytest.raises(RequestError, match=f"expected a file with SHA-256 {shakespeare.SHA256}"):
        Shakespeare(url=shakespeare.URL).open(tmp_path)
    with pytest.raises(RequestError, match=r"data\.path: .*gone"):
        Shakespeare(path="gone").open(tmp_path)


@pytest.mark.realdata
def test_the_real_file_has_nanogpts_numbers(realdata):
    corpus = Shakespeare(path=str(realdata / "shakespeare" / "input.txt"), split="nanogpt")
    corpus.open(Path("."))
    parts = {part: bytes(text) for part, text in corpus.raw().items()}
    assert [len(parts[part]) for part in ("train", "validation")] == [1_003_854, 111_540]
    assert len({*parts["train"].decode()}) == 65
