"""WMT14: downloaded file by file, and its parts."""

from __future__ import annotations

import pytest
from download_server import serving

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.wmt14 import Wmt14

SIZES = {"train": 31, "newstest2013": 5, "newstest2014": 3, "newstest2015": 2}


@pytest.fixture
def server():
    files = {
        f"/wmt/{stem}.{language}": "".join(f"{stem} {n} {language}\n" for n in range(size)).encode()
        for stem, size in SIZES.items()
        for language in ("en", "de")
    }
    with serving(files) as server:
        yield server


def counts(corpus):
    return {part: len([*corpus.pairs(part)]) for part in corpus.own_parts}


def test_it_is_downloaded_once_and_has_its_parts(server, tmp_path):
    for _ in range(2):
        corpus = Wmt14(url=f"{server.url}/wmt/")
        corpus.open(tmp_path)
    assert counts(corpus) == {"train": 31, "validation": 5, "test": 3}
    assert next(corpus.pairs("test"))[:2] == ("newstest2014 0 en", "newstest2014 0 de")
    assert len(server.requests) == 6 and corpus.location(tmp_path).is_dir()
    other = Wmt14(url=f"{server.url}/wmt", test_set="newstest2015", reverse=True, limit=7)
    other.open(tmp_path)
    assert counts(other) == {"train": 7, "validation": 5, "test": 2}
    assert next(other.pairs("test"))[:2] == ("newstest2015 0 de", "newstest2015 0 en")


def test_a_changed_download_and_a_missing_file_are_refused(server, tmp_path):
    corpus = Wmt14(url=f"{server.url}/wmt")
    corpus.open(tmp_path)
    (corpus.location(tmp_path) / "train.en").unlink()
    server.files["/wmt/train.en"] += b"one more\n"
    with pytest.raises(RequestError, match="train.en: expected a file with SHA-256"):
        corpus.open(tmp_path)
    with pytest.raises(RequestError, match="expected newstest2013.en and newstest2013.de"):
        (tmp_path / "own").mkdir()
        for language in ("en", "de"):
            (tmp_path / "own" / f"train.{language}").write_text("a\n")
        Wmt14(path=str(tmp_path / "own")).open(tmp_path)
