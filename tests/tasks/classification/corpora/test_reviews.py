"""Published reviews: movie_reviews and imdb, by path, downloaded, and the real file."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from download_server import serving
from test_labelled_text_files import as_folder, as_tar, as_zip, encoded

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora import imdb, movie_reviews
from attnlab.tasks.classification.corpora.division import class_names, divided
from attnlab.tasks.classification.corpora.imdb import Imdb
from attnlab.tasks.classification.corpora.movie_reviews import MovieReviews

REVIEWS = {
    f"movie_reviews/{label}/cv{number:03}_{7 * number}.txt": f"film {number} is {word} .\n"
    for label, word in (("neg", "bad"), ("pos", "good"))
    for number in range(10)
}
IMDB = {
    f"aclImdb/{part}/{label}/{number}_{score}.txt": f"{part} {number}.<br /><br />A {word} film."
    for part, start in (("train", 0), ("test", 100))
    for label, score, word in (("neg", 2, "bad"), ("pos", 9, "good"))
    for number in range(start, start + 10)
}
IMDB |= {"aclImdb/train/unsup/1_0.txt": "Unknown.", "aclImdb/test/urls_pos.txt": "http://x\n"}
IMDB["aclImdb/test/pos/100_9.txt"] = IMDB["aclImdb/train/pos/0_9.txt"]


def opened(corpus, cache):
    corpus.open(cache)
    return corpus


@pytest.fixture
def server(tmp_path):
    files = {
        "/movie_reviews.zip": as_zip(tmp_path / "zip", encoded(REVIEWS)).read_bytes(),
        "/aclImdb_v1.tar.gz": as_tar(tmp_path / "tar", encoded(IMDB)).read_bytes(),
    }
    with serving(files) as server:
        yield server


def test_film_reviews_by_archive_and_unpacked_are_one_corpus(tmp_path):
    stored = as_zip(tmp_path / "reviews.zip", encoded(REVIEWS))
    folder = as_folder(tmp_path / "unpacked", encoded(REVIEWS))
    digests = set()
    for path in (stored, folder, folder / "movie_reviews"):
        corpus = opened(MovieReviews(path=str(path)), tmp_path / "cache")
        texts = list(corpus.items())
        assert texts[:2] == [("film 0 is bad .", "neg", ""), ("film 0 is good .", "pos", "")]
        assert len(texts) == 20 and corpus.location(tmp_path) == path
        digests.add(corpus.digest())
    assert len(digests) == 1 and not (tmp_path / "cache").exists()
    corpus = opened(MovieReviews(path=str(stored), limit=4), tmp_path)
    assert [each.label for each in corpus.items()] == ["neg", "pos"] * 2
    assert corpus.digest() not in digests


def test_reviews_of_imdb_have_a_test_part_and_line_breaks(tmp_path):
    digests = set()
    for path in (
        as_tar(tmp_path / "aclImdb_v1.tar.gz", encoded(IMDB)),
        as_folder(tmp_path / "unpacked", encoded(IMDB)) / "aclImdb",
    ):
        corpus = opened(Imdb(path=str(path), validation=0.2), tmp_path)
        assert corpus.own_parts == ("train", "test")
        assert next(corpus.items()) == ("train 0.\n\nA bad film.", "neg", "")
        parts = divided(corpus, seed=0)
        # A text that is also in the test part is left out of train.
        counts = {part: Counter(each.label for each in texts) for part, texts in parts.items()}
        assert counts["test"] == {"neg": 10, "pos": 10}
        assert counts["validation"] == {"neg": 2, "pos": 2}
        assert counts["train"] == {"neg": 8, "pos": 7}
        assert corpus.notes[0].startswith("1 of the 20 texts of train is left out: ")
        digests.add(corpus.digest())
    assert len(digests) == 1


@pytest.mark.parametrize(("corpus", "count"), [(MovieReviews, 20), (Imdb, 20)])
def test_downloaded_once_and_found_again_offline(server, tmp_path, corpus, count):
    url = f"{server.url}/{corpus.archive}"
    assert corpus(url=url).location(tmp_path) is None
    for _ in range(2):
        found = opened(corpus(url=url), tmp_path)
        assert len(list(found.items())) == count
    assert len(server.requests) == 1
    assert found.location(tmp_path).is_file()


@pytest.mark.parametrize("corpus", [MovieReviews, Imdb])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html>", "expected a zip or tar archive, got something else"),
        (None, "expected the files of .*, got none of them"),
    ],
)
def test_a_login_page_and_another_archive_are_not_cached(
    server, tmp_path, corpus, content, message
):
    other = as_zip(tmp_path / "other.zip", {"other/a.txt": b"text"}).read_bytes()
    server.files[f"/{corpus.archive}"] = other if content is None else content
    found = corpus(url=f"{server.url}/{corpus.archive}")
    with pytest.raises(RequestError, match=message):
        found.open(tmp_path)
    assert found.location(tmp_path) is None


@pytest.mark.parametrize(("corpus", "module"), [(MovieReviews, movie_reviews), (Imdb, imdb)])
def test_the_usual_address_accepts_only_the_published_file(
    server, tmp_path, monkeypatch, corpus, module
):
    url = f"{server.url}/{corpus.archive}"
    monkeypatch.setattr(corpus, "usual_url", url)
    with pytest.raises(RequestError, match=f"expected a file with SHA-256 {corpus.known}, got"):
        corpus(url=url).open(tmp_path)
    assert corpus().url == module.URL and module.URL.endswith(corpus.archive)


def test_a_missing_path_and_a_missing_part_are_refused(tmp_path):
    for corpus in (MovieReviews, Imdb):
        with pytest.raises(RequestError, match=r"data\.path: expected a file or folder, got gone"):
            corpus(path="gone").open(tmp_path)
    train = {name: text for name, text in IMDB.items() if "/train/" in name}
    folder = as_folder(tmp_path / "half", encoded(train))
    with pytest.raises(RequestError, match="expected train and test of imdb, got no test"):
        Imdb(path=str(folder)).open(tmp_path)


@pytest.mark.realdata
def test_the_real_film_reviews(tmp_path, realdata):
    file = realdata / "movie_reviews" / "movie_reviews.zip"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == MovieReviews.known
    corpus = opened(MovieReviews(path=str(file)), tmp_path)
    parts = divided(corpus, seed=0)
    assert {part: len(texts) for part, texts in parts.items()} == {
        **{"train": 1600, "validation": 200, "test": 200}
    }
    assert class_names(parts) == ["neg", "pos"]
    for texts in parts.values():
        labels = Counter(each.label for each in texts)
        assert labels["neg"] == labels["pos"]
    first = next(corpus.items())
    assert first.label == "neg" and first.text.startswith("plot : two teen couples go to a church")
    assert max(len(each.text) for each in corpus.items()) < 15_000
