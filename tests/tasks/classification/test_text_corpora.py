"""Corpora of texts: published archives, own folders and tables, and how they are divided."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections import Counter
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora import Agreement, Folder, Imdb, MovieReviews, Table
from attnlab.tasks.classification.data import class_names
from attnlab.tasks.classification.task import Classify
from attnlab.tasks.data.division import divide

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


def loaded(corpus, cache: Path, **settings):
    return Classify(corpus=corpus, cache=cache, **settings).load(0)


def as_zip(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def as_tar(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return stream.getvalue()


def as_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


# Published corpora


def test_agreement_takes_the_first_sentences(tmp_path):
    few = opened(Agreement(texts=500), tmp_path)
    assert {part: len(texts) for part, texts in few.parts.items()} == {
        **{"train": 500, "validation": 1000, "test": 1000}
    }
    whole = opened(Agreement(), tmp_path)
    assert whole.parts["train"][:500] == few.parts["train"] and whole.digest() != few.digest()
    assert {item.group for item in few.parts["test"]} == {
        *("0 attractors", "1 attractor", "2 attractors", "3 attractors")
    }


def test_film_reviews_by_archive_and_unpacked_are_one_corpus(tmp_path):
    (tmp_path / "reviews.zip").write_bytes(as_zip(REVIEWS))
    as_folder(tmp_path / "unpacked", REVIEWS)
    digests = set()
    for name in ("reviews.zip", "unpacked", "unpacked/movie_reviews"):
        corpus = opened(MovieReviews(path=str(tmp_path / name)), tmp_path / "cache")
        texts = corpus.parts["train"]
        assert texts[:2] == [("film 0 is bad .", "neg", ""), ("film 0 is good .", "pos", "")]
        assert len(texts) == 20 and not (tmp_path / "cache").exists()
        digests.add(corpus.digest())
    assert len(digests) == 1
    corpus = opened(MovieReviews(path=str(tmp_path / "reviews.zip"), limit=4), tmp_path)
    assert [text.label for text in corpus.parts["train"]] == ["neg", "pos"] * 2


def test_reviews_of_imdb_have_a_test_part_and_line_breaks(tmp_path):
    (tmp_path / "imdb.tar.gz").write_bytes(as_tar(IMDB))
    corpus = opened(Imdb(path=str(tmp_path / "imdb.tar.gz"), validation=0.2), tmp_path)
    assert corpus.parts["train"][0] == ("train 0.\n\nA bad film.", "neg", "")
    parts = divide(corpus, 0, attrgetter("text"))
    counts = {part: Counter(text.label for text in texts) for part, texts in parts.items()}
    assert counts == {
        "train": {"neg": 8, "pos": 8},
        "validation": {"neg": 2, "pos": 2},
        "test": {"neg": 10, "pos": 10},
    }
    assert corpus.notes[0].startswith("1 of 20 texts of train are also in a later part")
    half = as_folder(tmp_path / "half", {name: IMDB[name] for name in IMDB if "/train/" in name})
    with pytest.raises(RequestError, match="expected train and test of imdb, got only train"):
        Imdb(path=str(half)).open(tmp_path)


@pytest.mark.realdata
def test_the_real_film_reviews(tmp_path, realdata):
    corpus = opened(MovieReviews(path=str(realdata / "movie_reviews/movie_reviews.zip")), tmp_path)
    parts = divide(corpus, 0, attrgetter("text"))
    counts = {part: Counter(text.label for text in texts) for part, texts in parts.items()}
    assert counts == {
        part: {"neg": count, "pos": count}
        for part, count in {"train": 800, "validation": 100, "test": 100}.items()
    }
    first = corpus.parts["train"][0]
    assert first.label == "neg" and first.text.startswith("plot : two teen couples go to a church")


# The user's files


def table(path: Path, rows: list[str], header: str = "text,label") -> str:
    path.write_text("\n".join([header, *rows] if header else rows))
    return str(path)


def test_a_table_has_columns_for_text_class_and_group(tmp_path):
    rows = [f"{'xy'[number % 2]},text {number},{number % 2}" for number in range(20)]
    path = table(tmp_path / "t.csv", rows, "kind,said,label")
    corpus = opened(Table(path=path, text="said", label=3, group="kind"), tmp_path)
    assert len(corpus.parts["train"]) == 20 and corpus.parts["train"][1] == ("text 1", "1", "y")


def test_texts_that_differ_only_in_case_and_spaces_are_in_one_part(tmp_path):
    rows = [f"{('Same', 'same')[n % 2]}  text {n // 4},{'ab'[n % 4 == 3]}" for n in range(160)]
    rows += [f"other {n},b" for n in range(40)]
    data = loaded(Table(path=table(tmp_path / "t.csv", rows)), tmp_path)
    parts = [{" ".join(name.lower().split()) for name in p.names} for p in data.parts.values()]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 80


def test_a_test_file_of_ones_own_keeps_its_texts(tmp_path):
    train = table(tmp_path / "train.csv", [f"text {n},{'ab'[n % 2]}" for n in range(20)])
    test = table(tmp_path / "test.csv", ["Text 0,a", "new,b"])
    data = loaded(Table(path=train, test_path=test), tmp_path)
    assert data.counts() == {"train": 18, "validation": 2, "test": 2}
    assert data.parts["test"].names == ["Text 0", "new"]
    assert "1 of 20 texts of train are also in a later part; they stay." in data.notes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a b,", "c,x"], r"t\.csv, text 1: expected a class in the column data\.label"),
        ([" ,x", "c,y"], r"t\.csv, text 1: expected a text, got an empty one"),
        (["a,x", "b,x", "c,x", "d,x"], "expected texts of two or more classes in train, got"),
        (["a,x", "b,y", "c,x"], "expected at least 3 different texts of class"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path, rows, message):
    path = table(tmp_path / "t.csv", rows)
    with pytest.raises(RequestError, match=message):
        loaded(Table(path=path), tmp_path)


def test_a_class_that_train_lacks_is_refused(tmp_path):
    train = table(tmp_path / "train.csv", [f"text {n},{'ab'[n % 2]}" for n in range(20)])
    test = table(tmp_path / "test.csv", ["new,c"])
    with pytest.raises(RequestError, match="part test: expected the classes of train, got 'c'"):
        loaded(Table(path=train, test_path=test), tmp_path)


def test_a_folder_is_read_with_and_without_parts(tmp_path):
    files = {f"{'ab'[n % 2]}/{n:02}.txt": f"text {n} e\u0301 " for n in range(20)}
    whole = opened(Folder(path=str(as_folder(tmp_path / "whole", files))), tmp_path)
    assert whole.parts["train"][1] == ("text 1 é", "b", "")
    parts = {f"{'test' if n > 15 else 'train'}/{name}": files[name] for n, name in enumerate(files)}
    divided = opened(Folder(path=str(as_folder(tmp_path / "parts", parts))), tmp_path)
    assert {part: len(texts) for part, texts in divided.parts.items()} == {"train": 16, "test": 4}
    (tmp_path / "parts/train/a/00.txt").write_bytes(b"\xff")
    with pytest.raises(RequestError, match=r"data\.path: .*00\.txt: expected UTF-8"):
        Folder(path=str(tmp_path / "parts")).open(tmp_path)


def test_classes_are_in_order_and_counted_in_a_note(tmp_path):
    rows = [f"text {n},{n % 3 + 9}" for n in range(60)]
    data = loaded(Table(path=table(tmp_path / "t.csv", rows)), tmp_path)
    assert data.classes == ["9", "10", "11"]
    assert data.notes[0] == (
        "3 classes, with the numbers of texts in train, validation and test: 9 16/2/2, 10 16/2/2, "
        "11 16/2/2."
    )
    assert data.describe()["test"] == {"9": 2, "10": 2, "11": 2}
    for part in data.parts.values():
        names = [data.classes[number] for number in part.labels]
        assert names == [str(int(text.split()[1]) % 3 + 9) for text in part.names]
    corpus = opened(Table(path=table(tmp_path / "u.csv", ["a,9", "b,10", "c,x"])), tmp_path)
    assert class_names(corpus, corpus.parts) == ["10", "9", "x"]


def test_long_texts_are_cut_with_a_note_and_an_empty_one_is_unknown(tmp_path):
    rows = [f"{'word ' * (n + 1)}{n},{'ab'[n % 2]}" for n in range(20)]
    data = loaded(Table(path=table(tmp_path / "t.csv", rows)), tmp_path, max_length=5)
    assert data.parts["train"].inputs.shape[1] == data.longest == 5
    assert data.notes[-1] == (
        "The end of 16 of the 20 texts was cut off for the model; the baselines saw whole texts."
    )
    assert np.all(data.parts["test"].inputs[:, 0] > 0)
