"""The book's pickled pairs: columns, bad rows, hostile files, and the real file."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.book import Book
from attnlab.tasks.translation.corpora.splitting import assign_parts


@pytest.fixture
def book(tmp_path):
    def make(array, **settings) -> Book:
        path = tmp_path / "pairs.pkl"
        path.write_bytes(array if isinstance(array, bytes) else pickle.dumps(array))
        corpus = Book(path=str(path), **settings)
        corpus.open(tmp_path)
        return corpus

    return make


def pairs_of(corpus) -> list[tuple[str, str]]:
    return [pair[:2] for pair in corpus.pairs()]


def test_english_german_and_a_column_that_is_not_read(book):
    one = book(np.array([["go", "geh", "by someone"]]))
    assert pairs_of(one) == [("go", "geh")]
    digest = one.digest()
    other = book(np.array([["u\u0308", "geh"]], dtype=object))
    assert pairs_of(other) == [("ü", "geh")]  # composed
    assert other.digest() != digest


def test_a_row_with_an_empty_side_is_left_out_and_counted(book):
    corpus = book(np.array([["go", "geh"], ["", "x"], ["y", " "]]))
    assert pairs_of(corpus) == [("go", "geh")]
    assert corpus.dropped == {"pairs with an empty side": 2}


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("two\nlines", r"row 2: expected a sentence on one line, got 'two\\nlines'"),
        ("zero\0byte", r"row 2: expected a sentence on one line, got 'zero\\x00byte'"),
        ("half \ud800", "row 2: the sentence is not valid Unicode: .*surrogates not allowed"),
    ],
)
def test_rows_that_are_not_sentences_are_refused(book, cell, words):
    with pytest.raises(RequestError, match=words):
        pairs_of(book(np.array([["a", "b"], ["c", cell]])))


@pytest.mark.parametrize("columns", [1, 4])
def test_another_number_of_columns(book, columns):
    with pytest.raises(RequestError, match=rf"2 or 3 columns \(English, German\), got {columns}"):
        book(np.full((2, columns), "x"))


def test_a_hostile_pickle_runs_no_code(book, tmp_path):
    ran = tmp_path / "ran"
    with pytest.raises(RequestError, match=r"strings: it names posix\.system"):
        book(b"cposix\nsystem\n(S'touch %s'\ntR." % str(ran).encode())
    assert not ran.exists()


def test_no_path():
    with pytest.raises(
        RequestError, match=r"data\.path: expected the book's pickle file, got null"
    ):
        Book().open(Path("."))


def test_an_array_without_rows(book):
    with pytest.raises(RequestError, match="book: expected pairs of sentences, got an empty"):
        pairs_of(book(pickle.dumps(np.empty((0, 2), dtype="U3"), 4)))


@pytest.mark.realdata
def test_the_real_file(tmp_path, realdata):
    corpus = Book(path=str(realdata / "book" / "english-german-test.pkl"))
    corpus.open(tmp_path)
    pairs = pairs_of(corpus)
    assert len(pairs) == 1000
    assert pairs[0] == ("im a purist", "ich bin ein purist")
    codes = assign_parts(corpus, seed=0)
    parts = [{pair[0] for pair, at in zip(pairs, codes, strict=True) if at == p} for p in range(3)]
    assert not parts[0] & parts[2] and not parts[0] & parts[1]
