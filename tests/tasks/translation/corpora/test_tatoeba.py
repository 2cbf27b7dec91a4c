"""Tatoeba: by path as text or zip, downloaded, and the real file."""

from __future__ import annotations

import io
import os
import zipfile

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.splitting import PARTS, DuplicateCounter, assign_parts
from attnlab.tasks.translation.corpora.tatoeba import Tatoeba

TEXT = "Go.\tGeh.\tCC-BY 2.0 (France)\r\nHi.\tHallo!\tCC-BY\r\nHi.\tGrüß Gott!\tCC-BY\r\n"
PAIRS = [("Go.", "Geh."), ("Hi.", "Hallo!"), ("Hi.", "Grüß Gott!")]


def archive(text: str = TEXT) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("deu.txt", text)
        file.writestr("_about.txt", "about")
    return content.getvalue()


@pytest.fixture
def server():
    with serving({"/deu-eng.zip": archive()}) as server:
        yield server


def pairs_of(corpus) -> list[tuple[str, str]]:
    return [pair[:2] for pair in corpus.pairs()]


def test_text_and_zip_are_one_corpus(tmp_path):
    digests = set()
    for name, content in (("deu.txt", TEXT.encode()), ("deu-eng.zip", archive())):
        path = tmp_path / name
        path.write_bytes(content)
        corpus = Tatoeba(path=str(path))
        corpus.open(tmp_path / "cache")
        assert pairs_of(corpus) == PAIRS and corpus.location(tmp_path) == path
        digests.add(corpus.digest())
    assert len(digests) == 1 and not (tmp_path / "cache").exists()


def test_downloaded_once_and_found_again_offline(server, tmp_path):
    url = f"{server.url}/deu-eng.zip"
    assert Tatoeba(url=url).location(tmp_path) is None
    for _ in range(2):
        corpus = Tatoeba(url=url)
        corpus.open(tmp_path)
        assert pairs_of(corpus) == PAIRS
    assert len(server.requests) == 1
    assert corpus.location(tmp_path).is_file()


def test_a_login_page_is_not_cached(server, tmp_path):
    server.files["/deu-eng.zip"] = b"<!DOCTYPE html>"
    corpus = Tatoeba(url=f"{server.url}/deu-eng.zip")
    with pytest.raises(RequestError, match="expected a zip archive, got something else"):
        corpus.open(tmp_path)
    assert corpus.location(tmp_path) is None


@pytest.mark.parametrize(("name", "what"), [("missing.txt", "doesn't exist"), (".", "is a folder")])
def test_a_path_that_is_not_a_file_is_refused(tmp_path, name, what):
    corpus = Tatoeba(path=str(tmp_path / name))
    with pytest.raises(RequestError, match=rf"data\.path: expected a file, got .* which {what}\."):
        corpus.open(tmp_path)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestError, match="which is a pipe or device"):
        Tatoeba(path=str(tmp_path / "pipe")).open(tmp_path)


@pytest.mark.realdata
def test_the_real_file(tmp_path, realdata):
    corpus = Tatoeba(path=str(realdata / "tatoeba" / "deu.txt"))
    corpus.open(tmp_path)
    codes = assign_parts(corpus, seed=0)
    sources: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    duplicates = DuplicateCounter()
    for pair, code in zip(corpus.pairs(), codes.tolist(), strict=True):
        sources[code].add(pair.source)
        duplicates.add(pair)
    assert len(codes) == 48_122
    assert (codes == PARTS.index("test")).sum() == pytest.approx(4812, abs=10)
    assert (codes == PARTS.index("validation")).sum() == pytest.approx(4812, abs=10)
    assert not (sources[0] & sources[1] or sources[0] & sources[2] or sources[1] & sources[2])
    assert duplicates.result().pairs == 0
    assert duplicates.result().sources == 36_274
    assert next(corpus.pairs())[:2] == ("Go.", "Geh.")
