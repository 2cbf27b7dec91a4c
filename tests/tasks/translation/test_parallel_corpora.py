"""Corpora of translation: their files, parts and direction, and what is refused."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from download_server import serving
from pair_lists import Listed

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora import Book, Files, Multi30k, Tatoeba, Wmt14
from attnlab.tasks.translation.parallel import AlignedFiles
from attnlab.text.cleaning import book_cleaning, normalize

PAIRS = [("one", "eins", "0-0"), ("two", "zwei"), ("a red house", "ein Haus", "0-0 2-1")]


def opened(corpus, cache="nowhere"):
    corpus.open(Path(cache))
    return corpus


def pairs_of(corpus, part="train") -> list[tuple[str, str]]:
    return [pair[:2] for pair in corpus.parts[part]]


def sizes(corpus, seed=0, clean=normalize) -> dict[str, int]:
    return dict(Counter(part for part, _ in corpus.split_pairs(seed, clean)))


# --- all corpora -----------------------------------------------------------------------------


def test_the_limit_applies_to_train_and_reverse_to_links():
    corpus = opened(Listed({"reverse": True, "limit": 1}, train=PAIRS, test=PAIRS))
    assert pairs_of(corpus) == [("eins", "one")] and len(corpus.parts["test"]) == 3
    assert corpus.parts["test"][2] == ("ein Haus", "a red house", "0-0 1-2")
    assert (corpus.source_language, corpus.target_language) == ("de", "en")


MANY = [(f"{'Ä' if n % 2 else 'a'} {n // 2}", f"b {n}") for n in range(80)]


def test_sources_equal_after_cleaning_are_in_one_part():
    """`a` and `Ä` are equal after the cleaning of the book."""
    parts: dict[str, set[str]] = {}
    pairs = [(f"{source} {'x' * (n // 2)}", target) for n, (source, target) in enumerate(MANY)]
    corpus = opened(Listed(train=pairs))
    for part, pair in corpus.split_pairs(3, book_cleaning):
        parts.setdefault(part, set()).add(book_cleaning(pair.source))
    assert sorted(map(len, parts.values())) == [4, 4, 32]
    assert not parts["train"] & parts["test"] and not parts["train"] & parts["validation"]


def test_each_seed_holds_out_other_pairs_and_own_parts_stay():
    corpus = opened(Listed({"split": "pair"}, train=MANY, test=PAIRS))
    first, again, other = ([*corpus.split_pairs(seed, normalize)] for seed in (1, 1, 2))
    assert first == again != other
    assert sizes(corpus) == {"train": 72, "validation": 8, "test": 3}
    corpus.validation = 0
    assert sizes(corpus) == {"train": 80, "test": 3}


# --- builtin ---------------------------------------------------------------------------------


# --- the user's files ------------------------------------------------------------------------


LANGUAGES = ("en", "de")


@pytest.fixture
def folder(tmp_path):
    """Write the files of a folder, and return it."""

    def make(contents: dict) -> Path:
        for name, content in contents.items():
            content = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(content)
        return tmp_path

    return make


def test_a_folder_has_two_files_of_each_part_plain_or_packed(folder):
    for source in (b"a\r\nb\n", b"\xef\xbb\xbfa\nb", gzip.compress(b"a\nb\n")):
        place = folder(
            {"train.en": source, "train.de": "1\n2\n", "test.en": "c\n", "test.de": "3\n"}
        )
        corpus = opened(Files(path=str(place)))
        for _ in range(2):  # each pass reads the files again
            assert pairs_of(corpus) == [("a", "1"), ("b", "2")]
        assert [*corpus.parts["test"]] == [("c", "3", None)] and [*corpus.parts] == [
            "train",
            "test",
        ]
    reverse = opened(Files(path=str(place), reverse=True, limit=1))
    assert pairs_of(reverse) == [("1", "a")] and pairs_of(reverse, "test") == [("3", "c")]


def test_a_table_has_two_columns_or_they_are_chosen(folder):
    for columns, content in [
        (None, "a\t1\nb\t2\n"),
        ([2, 4], "7\ta\t8\t1\n9\tb\t8\t2\n"),
        (["en", "de"], "id\tde\ten\n7\t1\ta\n8\t2\tb\n"),
    ]:
        place = folder({"pairs.tsv": content})
        corpus = opened(Files(path=str(place / "pairs.tsv"), columns=columns))
        assert pairs_of(corpus) == [("a", "1"), ("b", "2")]


def test_every_file_changes_the_digest(folder):
    contents = {"train.en": "a\nb\n", "train.de": "1\n2\n", "test.en": "c\n", "test.de": "3\n"}
    changes = [{}, *({name: f"{text[:-1]}!\n"} for name, text in contents.items())]
    digests = {opened(Files(path=str(folder(contents | edit)))).digest() for edit in changes}
    assert len(digests) == len(changes)


def test_another_table_is_refused(folder):
    for content, message in [
        ("1\ta\t2\tb\n", r"data\.path: .*, got 4 columns; data\.columns=\[SOURCE,TARGET\]"),
        ("a b\n", r"data\.path: .*expected a source, a tab and a target, got 1 columns"),
        ("a\tb\nc\n", r"pairs\.tsv, line 2: expected 2 cells"),
        ("", r"pairs\.tsv: expected "),
    ]:
        with pytest.raises(RequestError, match=message):
            opened(Files(path=str(folder({"pairs.tsv": content}) / "pairs.tsv")))


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        (["train.en"], {}, r"data\.path: expected train\.en and train\.de, plain or with \.gz, in"),
        (["train.en", "train.de", "test.de"], {}, r"data\.path: expected test\.en and test\.de"),
        (["train.en", "train.de"], {"test_path": "a.tsv"}, r"expected null, .* got a\.tsv"),
    ],
)
def test_a_folder_without_both_files_is_refused(tmp_path, names, settings, message):
    for name in names:
        (tmp_path / name).write_text("a\n")
    with pytest.raises(RequestError, match=message):
        opened(Files(path=str(tmp_path), **settings))


def test_two_files_that_do_not_fit_are_refused(folder):
    for target, message in [
        (b"1\n", r"de: expected as many lines as in .*en, got 1\."),
        (b"1\n2\n3\n", r"en: expected as many lines as in .*de, got 2\."),
        (b"1\n2\xff\n", r"de: expected UTF-8 text, got the byte 0xff in line 2"),
        (gzip.compress(b"1\n2\n", mtime=0)[:-9], r"de: can't be read: "),
    ]:
        place = folder({"train.en": "a\nb\n", "train.de": target})
        with pytest.raises(RequestError, match=message):
            list(AlignedFiles(place / "train.en", place / "train.de"))


# --- tatoeba ---------------------------------------------------------------------------------

TATOEBA = "Go.\tGeh.\tCC-BY 2.0 (France)\r\nHi.\tHallo!\tCC-BY\r\nHi.\tGrüß Gott!\tCC-BY\r\n"


def archive(name="deu.txt") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(name, TATOEBA)
        file.writestr("_about.txt", "about")
    return content.getvalue()


def test_tatoeba_is_a_text_or_an_archive_with_or_without_attributions(tmp_path):
    plain = "".join("\t".join(line.split("\t")[:2]) + "\n" for line in TATOEBA.splitlines())
    contents = {"deu.txt": TATOEBA.encode(), "a.txt": plain.encode(), "deu-eng.zip": archive()}
    digests = set()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        corpus = opened(Tatoeba(path=str(tmp_path / name)))
        assert pairs_of(corpus) == [("Go.", "Geh."), ("Hi.", "Hallo!"), ("Hi.", "Grüß Gott!")]
        digests.add(corpus.digest())
    assert len(digests) == 1


def test_another_form_than_tatoebas_is_refused(tmp_path):
    for name, content, message in [
        ("deu.txt", b"1\tGo.\t2\tGeh.\n", "line 1: expected English, a tab, German"),
        ("deu.txt", b"Go.\tGeh.\n1\tHi.\tHallo.\n", "line 2: expected English, a tab, German"),
        ("deu-eng.zip", archive("other.csv"), "expected an archive with deu.txt"),
        ("deu-eng.zip", b"<!DOCTYPE html>", "deu-eng.zip: can't be read"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RequestError, match=message):
            opened(Tatoeba(path=str(tmp_path / name)))


# --- book ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "dtype"), [(0, "U9"), (3, object), (5, "U9"), (5, object)])
def test_the_book_reads_arrays_of_strings(tmp_path, protocol, dtype):
    array = np.array([["go", "geh", "by someone"], ["ü", "x", ""]], dtype=dtype)
    (tmp_path / "pairs.pkl").write_bytes(pickle.dumps(array, protocol))
    corpus = opened(Book(path=str(tmp_path / "pairs.pkl")))
    assert pairs_of(corpus) == [("go", "geh"), ("ü", "x")]


class Call:
    """An object whose pickle calls a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


WRONG_PICKLES = {
    "a call": pickle.dumps(Call(exec, "open('RAN', 'w')")),
    "a call in a cell": pickle.dumps(np.array([["a", Call(exec, "open('RAN', 'w')")]], object)),
    "os.system": b"cposix\nsystem\n(S'touch RAN'\ntR.",
    "numbers": pickle.dumps(np.arange(6).reshape(3, 2)),
    "other objects": pickle.dumps(np.array([["a", 1]], dtype=object)),
    "cut off": pickle.dumps(np.full((2, 2), "x"))[:-9],
}


@pytest.mark.parametrize("name", WRONG_PICKLES)
def test_any_other_pickle_is_refused_and_runs_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("pairs.pkl").write_bytes(WRONG_PICKLES[name])
    with pytest.raises(RequestError, match=r"^data\.path: pairs\.pkl: ") as refusal:
        opened(Book(path="pairs.pkl"))
    assert "\n" not in str(refusal.value) and not Path("RAN").exists()


# --- files of published parts ----------------------------------------------------------------

SIZES = {"train": 200, "val": 5, "test_2016_flickr": 3}


@pytest.fixture
def multi30k(folder):
    files = [(stem, side) for stem in SIZES for side in LANGUAGES]
    texts = ["".join(f"{stem} {side} {n}\n" for n in range(SIZES[stem])) for stem, side in files]
    return folder(dict(zip(map(".".join, files), texts, strict=True)))


def test_multi30k_has_its_own_parts(multi30k):
    corpus = opened(Multi30k(path=str(multi30k), limit=7))
    assert sizes(corpus) == {"train": 7, "validation": 5, "test": 3} and not corpus.notes
    german = opened(Multi30k(path=str(multi30k), reverse=True))
    assert next(iter(german.parts["test"])).source == "test_2016_flickr de 0"


def test_val_is_the_test_part_and_validation_is_held_out(multi30k):
    (multi30k / "test_2016_flickr.en").unlink()
    corpus = opened(Multi30k(path=str(multi30k), test_set="val"))
    assert sizes(corpus) == {"train": 193, "validation": 7, "test": 5}
    assert "The test part is val" in corpus.notes[0]
    with pytest.raises(RequestError, match=r"expected test_2016_flickr\.en and"):
        opened(Multi30k(path=str(multi30k)))


def test_wmt14_is_downloaded_file_by_file(tmp_path, monkeypatch):
    stems = ("train", "newstest2013", "newstest2014")
    contents = {f"/wmt/{stem}.{side}": f"{stem}\n" for stem in stems for side in LANGUAGES}
    with serving({path: text.encode() for path, text in contents.items()}) as server:
        monkeypatch.setattr(Wmt14, "base", f"{server.url}/wmt")
        for _ in range(2):
            corpus = opened(Wmt14(), tmp_path)
        assert len(server.requests) == 6 and corpus.location(tmp_path).is_dir()
        counts = [len(list(pairs)) for pairs in corpus.parts.values()]
        assert counts == [1, 1, 1]


# --- the real files --------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("make", "path", "count", "first"),
    [
        (Book, "book/english-german-test.pkl", 1000, ("im a purist", "ich bin ein purist")),
        (Tatoeba, "tatoeba/deu.txt", 48_122, ("Go.", "Geh.")),
    ],
)
def test_real_files_are_divided_by_source(realdata, make, path, count, first):
    corpus = opened(make(path=str(realdata / path)))
    parts: dict[str, set[str]] = {}
    for part, pair in corpus.split_pairs(0, normalize):
        parts.setdefault(part, set()).add(pair.source)
    assert sum(sizes(corpus).values()) == count and pairs_of(corpus)[0] == first
    assert sizes(corpus)["test"] == pytest.approx(count / 10, abs=10)
    assert not parts["train"] & parts["test"] and not parts["train"] & parts["validation"]


@pytest.mark.realdata
def test_the_real_multi30k(realdata):
    corpus = opened(Multi30k(path=str(realdata / "multi30k"), test_set="val"))
    assert sizes(corpus) == {"train": 27_985, "validation": 1015, "test": 1014}
