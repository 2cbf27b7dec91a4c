"""Multi30k: from a folder, with and without test files, downloaded, and the real files."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from download_server import serving
from pooch import file_hash

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.multi30k import KNOWN, Multi30k
from attnlab.text.cleaning import normalized

SIZES = {"train": 31, "val": 5, "test_2016_flickr": 3}


def content(stem: str, language: str) -> str:
    """Every source occurs twice."""
    divided = {"en": 2, "de": 1}[language]
    return "".join(f"{stem} {language} {line // divided}\n" for line in range(SIZES[stem]))


@pytest.fixture
def folder(tmp_path):
    def write(stems=SIZES, packed=False) -> Path:
        folder = tmp_path / ("packed" if packed else "plain")
        folder.mkdir(exist_ok=True)
        for stem in stems:
            for language in ("en", "de"):
                text = content(stem, language).encode()
                name = f"{stem}.{language}{'.gz' if packed else ''}"
                (folder / name).write_bytes(gzip.compress(text) if packed else text)
        return folder

    return write


def opened(path: Path, **settings) -> Multi30k:
    corpus = Multi30k(path=str(path), **settings)
    corpus.open(path / "cache")
    return corpus


def counts(corpus) -> dict[str, int]:
    return {part: len(list(corpus.pairs(part))) for part in corpus.own_parts}


def test_its_own_parts(folder):
    corpus = opened(folder())
    assert counts(corpus) == {"train": 31, "validation": 5, "test": 3}
    assert next(corpus.pairs("test"))[:2] == ("test_2016_flickr en 0", "test_2016_flickr de 0")
    assert corpus.notes == ()
    assert corpus.digest() == opened(folder(packed=True)).digest()


@pytest.mark.parametrize("reverse", [False, True])
def test_val_replaces_the_test_part_and_validation_is_held_out(folder, reverse):
    path = folder(["train", "val"])
    corpus = opened(path, test_set="val", reverse=reverse)
    found = counts(corpus)
    assert found["test"] == 5
    assert found["validation"] == 5  # one of the two-line sources has a single line
    assert found["train"] + found["validation"] == 31
    sources = [{pair.source for pair in corpus.pairs(part)} for part in ("train", "validation")]
    assert not sources[0] & sources[1]
    assert "The test part is val, and about 5 pairs of train are held out" in corpus.notes[0]
    again = opened(path, test_set="val", reverse=reverse)
    assert list(again.pairs("validation")) == list(corpus.pairs("validation"))


@pytest.mark.parametrize("reverse", [False, True])
def test_another_test_set_is_read_in_the_same_direction(folder, reverse):
    corpus = opened(folder(["train", "val"]), test_set="val", reverse=reverse)
    (pair, *others) = corpus.test_files("val", corpus.path).read(Counter())
    assert [pair, *others] == list(corpus.pairs("test")) and len(others) == 4
    with pytest.raises(RequestError, match=r"expected test_2016_flickr\.en and"):
        corpus.test_files("test_2016_flickr", corpus.path)


def test_the_limit_applies_to_train(folder):
    assert counts(opened(folder(), limit=7)) == {"train": 7, "validation": 5, "test": 3}


@pytest.mark.parametrize("missing", ["train.en", "val.de"])
def test_a_missing_file_is_named(folder, missing):
    (folder() / missing).unlink()
    with pytest.raises(RequestError, match=rf"expected {missing.split('.')[0]}\.en and"):
        opened(folder(()))


def test_missing_test_files_are_named_with_a_workaround(folder):
    message = r"expected test_2016_flickr\.en and .*\. data\.test_set=val needs no test set\.$"
    with pytest.raises(RequestError, match=message):
        opened(folder(["train", "val"]))


def test_unequal_files_are_refused_at_once(folder):
    path = folder()
    with open(path / "val.de", "a") as stream:
        stream.write("one more\n")
    with pytest.raises(RequestError, match=r"5 in .*val\.en and 6 in .*val\.de"):
        opened(path)


@pytest.mark.parametrize("name", ["train.en", "missing"])
def test_a_path_that_is_not_a_folder_is_refused(folder, name):
    with pytest.raises(
        RequestError, match=r"data\.path: expected a folder with the files of multi30k"
    ):
        opened(folder() / name)


@pytest.fixture
def server():
    files = {
        f"/raw/{stem}.{language}.gz": gzip.compress(content(stem, language).encode())
        for stem in SIZES
        for language in ("en", "de")
    }
    with serving(files) as server:
        yield server


def test_downloaded_file_by_file(server, tmp_path):
    corpus = Multi30k(url=f"{server.url}/raw/")
    assert corpus.location(tmp_path) is None
    corpus.open(tmp_path)
    assert counts(corpus) == {"train": 31, "validation": 5, "test": 3}
    assert len(server.requests) == 6
    assert corpus.location(tmp_path).is_dir()


def test_a_broken_download_resumes(server, tmp_path):
    del server.files["/raw/val.de.gz"]
    corpus = Multi30k(url=f"{server.url}/raw")
    with pytest.raises(RequestError, match=r"/raw/val\.de\.gz: .* 404"):
        corpus.open(tmp_path)
    assert corpus.location(tmp_path) is None
    server.files["/raw/val.de.gz"] = gzip.compress(content("val", "de").encode())
    server.requests.clear()
    corpus.open(tmp_path)
    assert [path for path, _ in server.requests][0] == "/raw/val.de.gz"
    assert len(server.requests) == 3


def test_another_test_set_is_downloaded_into_the_same_folder(server, tmp_path):
    corpus = Multi30k(url=f"{server.url}/raw", test_set="val")
    corpus.open(tmp_path)
    server.requests.clear()
    files = corpus.test_files("test_2016_flickr", tmp_path)
    assert len(list(files.read(Counter()))) == 3
    names = [path.rpartition("/")[2] for path, _ in server.requests]
    assert names == ["test_2016_flickr.en.gz", "test_2016_flickr.de.gz"]


def test_other_files_than_the_known_ones_are_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(Multi30k, "usual_url", f"{server.url}/raw")
    with pytest.raises(RequestError, match=f"SHA-256 {KNOWN['train.en.gz']}, got"):
        Multi30k(url=f"{server.url}/raw").open(tmp_path)


@pytest.mark.realdata
def test_the_real_files(tmp_path, realdata):
    path = realdata / "multi30k"
    corpus = Multi30k(path=str(path), test_set="val")
    corpus.open(tmp_path)
    assert corpus.lines == {"train": 29_000, "test": 1_014}
    found = counts(corpus)
    assert found["train"] + found["validation"] == 29_000
    assert found["validation"] == pytest.approx(1_014, abs=3)
    sources = [
        {normalized(pair.source) for pair in corpus.pairs(part)} for part in ("train", "validation")
    ]
    assert not sources[0] & sources[1]
    digests = {name: digest for name, digest in KNOWN.items() if (path / name).exists()}
    assert {name: file_hash(str(path / name)) for name in digests} == digests
