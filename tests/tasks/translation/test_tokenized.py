"""A tokenized corpus: its rows and texts, notes on them, and its place in the cache."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from pair_lists import Listed

from attnlab.errors import RequestError
from attnlab.tasks.translation import tokenized as module
from attnlab.tasks.translation.corpora import Files
from attnlab.tasks.translation.parallel import AlignedFiles
from attnlab.tasks.translation.tokenized import TextSettings, tokenize_corpus, tokenize_files
from attnlab.text.tokenizers import END, START, UNKNOWN

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ZAHLEN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]


def counting(count=101, **settings) -> Listed:
    """Numbers, whose validation and test parts are held out."""

    def words(number, names):
        return " ".join(names[int(digit)] for digit in str(number)).capitalize() + "!"

    pairs = [(words(number, NUMBERS), words(number, ZAHLEN)) for number in range(count)]
    return Listed(settings, train=pairs)


def listed(*train, validation=(("a", "a"),), test=(("a", "a"),)) -> Listed:
    return Listed(train=train, validation=validation, test=test)


def tokenized(corpus, cache, seed=0, **settings):
    corpus.open(Path(cache))
    return tokenize_corpus(corpus, TextSettings(**settings), seed=seed, cache=cache)


@pytest.mark.parametrize("tokenizer", ["word", "char", "bpe"])
def test_rows_are_the_sentences(tokenizer, tmp_path):
    data = tokenized(counting(), tmp_path, tokenizer=tokenizer)
    assert list(data.parts) == ["train", "validation", "test"]
    assert sum(len(part.source) for part in data.parts.values()) == 101
    for name in ("validation", "test"):
        part = data.parts[name]
        sources, targets, links = part.texts()
        assert len(part.source) == len(part.target) == len(sources) == len(targets) == 10
        assert links is None
        rows = [part.source[row] for row in range(10)]
        assert all(row[-1] == END and START not in row for row in rows)
        assert UNKNOWN in np.concatenate(rows) or data.tokenizers[0].decode(rows) == sources
        rows = [part.target[row] for row in range(10)]
        assert all((row[0], row[-1]) == (START, END) for row in rows)
        assert UNKNOWN in np.concatenate(rows) or data.tokenizers[1].decode(rows) == targets


def test_vocabularies_are_fitted_only_on_the_training_part(tmp_path):
    corpus = listed(("a b", "x y"), validation=[("c", "x z")], test=[("d a", "y")])
    data = tokenized(corpus, tmp_path)
    assert data.tokenizers[0].vocabulary.tokens[4:] == [" a", " b"]
    assert data.parts["validation"].source[0].tolist() == [UNKNOWN, END]
    unknown = [data.statistics["parts"][name]["source"]["unknown"] for name in data.parts]
    assert unknown == [0, 1, 1]


def test_a_shared_vocabulary_is_one(tmp_path):
    data = tokenized(listed(("a b", "x")), tmp_path, shared_vocabulary=True)
    assert data.tokenizers[0] is data.tokenizers[1] and data.tokenizers[0].size == 7


def test_a_large_corpus_is_fitted_on_sentences_from_all_over_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FITTED", 3)
    pairs = [(f"s{n}", f"t{n}") for n in range(10)]
    data = tokenized(listed(*pairs), tmp_path)
    assert data.tokenizers[0].vocabulary.tokens[4:] == [" s0", " s4", " s8"]
    assert len(data.parts["train"].source) == 10


def test_long_sentences_lose_their_end_and_are_noted(tmp_path):
    pairs = [("a b c d", "x y"), ("a b", "x y z"), ("a b c", "x y z u")]
    data = tokenized(listed(*pairs, test=pairs), tmp_path, max_length=3)
    part = data.parts["test"]
    assert data.tokenizers[0].decode([part.source[0]]) == ["a b c"]
    assert part.source.lengths.tolist() == [4, 3, 4] and part.target.lengths.tolist() == [4, 5, 5]
    assert part.notes == [
        "3 of 3 sources are also in the training part.",
        "Only the first 3 tokens (task.max_length) are read of 1 of 3 sources and 1 of 3 targets.",
    ]
    assert part.texts()[0][0] == "a b c d"


def test_pairs_with_an_empty_side_are_left_out_and_noted(tmp_path):
    corpus = listed(("Go!", "Geh!"), ("1999", "1999"), ("No", "?!"))
    part = tokenized(corpus, tmp_path, clean="book").parts["train"]
    assert part.texts()[:2] == (["go"], ["geh"]) and len(part.target) == 1
    assert part.notes == ["2 of 3 pairs are left out, because a side is empty."]


def test_a_part_without_pairs_is_refused(tmp_path):
    with pytest.raises(RequestError, match="task.clean=book.*, got none in test"):
        tokenized(listed(("a", "x"), test=[("1", "?")]), tmp_path, clean="book")
    with pytest.raises(RequestError, match="got none in train"):
        tokenized(listed(), tmp_path)


def test_links_stay_unless_cleaning_removes_words(tmp_path):
    corpus = listed(("a  b", "x\ny", "0-0 1-1"), ("a", "x", ""), test=[("a", "x", None)])
    data = tokenized(corpus, tmp_path)
    assert data.parts["train"].texts() == (["a b", "a"], ["x y", "x"], ["0-0 1-1", ""])
    assert data.parts["test"].texts()[2] is None
    book = tokenized(corpus, tmp_path, clean="book").parts["train"]
    assert book.texts()[2] is None
    assert book.notes == ["Gold links of 2 pairs are left out: task.clean changes the words."]


@pytest.mark.parametrize("settings", [{"lowercase": True, "max_length": 2}, {"clean": "book"}])
def test_files_are_tokenized_like_a_part(settings, tmp_path):
    pairs = [("A  b c!", "X y"), ("B", "Y z x 1")]
    data = tokenized(listed(("a b c", "x y"), ("A B", "X"), test=pairs), tmp_path, **settings)
    for name, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    files = AlignedFiles(tmp_path / "en", tmp_path / "de")
    tokenizers = data.tokenizers
    with tokenize_files(files, TextSettings(**settings), tokenizers) as part:
        whole = data.parts["test"]
        assert part.texts() == whole.texts()
        assert part.notes == [note for note in whole.notes if "training part" not in note]
        for side, other in ((part.source, whole.source), (part.target, whole.target)):
            np.testing.assert_array_equal(side.tokens, other.tokens)
            np.testing.assert_array_equal(side.offsets, other.offsets)


def test_the_second_time_the_cache_is_used(tmp_path):
    first = tokenized(counting(), tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    second = tokenized(counting(), tmp_path)
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")} != {}
    assert (first.digest, first.statistics) == (second.digest, second.statistics)
    assert isinstance(second.parts["train"].source.tokens.base.obj, mmap.mmap)


@pytest.mark.parametrize(
    ("corpus", "changes"),
    [
        (counting(count=103), {}),
        (counting(limit=99), {}),
        (counting(reverse=True), {}),
        (counting(split="pair"), {}),
        (counting(), {"seed": 1}),
        (counting(), {"lowercase": True}),
        (counting(), {"shared_vocabulary": True}),
    ],
)
def test_other_settings_are_another_entry(corpus, changes, tmp_path):
    usual = tokenized(counting(), tmp_path)
    other = tokenized(corpus, tmp_path, **changes)
    assert usual.folder != other.folder and usual.digest != other.digest


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("".join(f"{name} {n}\n" for n in range(50)))
    corpus = Files(path=str(tmp_path))
    corpus.open(tmp_path)

    def change(done, total, what):
        if what.startswith("encoding"):
            (tmp_path / "train.en").write_text("other\n" * 50)

    with pytest.raises(RequestError, match="data=files: changed while it was read"):
        tokenize_corpus(corpus, TextSettings(), seed=0, cache=tmp_path, progress=change)
    assert not [*(tmp_path / "prepared").glob("files*")]
