"""The user's texts: data=table and data=folder, and each mistake in them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from test_labelled_text_files import as_folder, encoded

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.division import divided
from attnlab.tasks.classification.corpora.folder import Folder
from attnlab.tasks.classification.corpora.table import Table
from attnlab.tasks.classification.task import Classify

ROWS = [("Größe zählt, oder?", "ja", "a"), ('Sie sagte: "Nein"\nund ging.', "nein", "b")]


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def rows_of(**settings) -> list[tuple[str, str, str]]:
    table = Table(**settings)
    table.open(Path("nowhere"))
    return [tuple(each) for each in table.items()]


def as_csv(path: Path, header: list[str], delimiter: str = ",") -> str:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerows([header, *ROWS] if header else ROWS)
    return str(path)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_has_texts_classes_and_groups(tmp_path, delimiter, packed):
    path = Path(as_csv(tmp_path / "t", ["text", "label", "where"], delimiter))
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert rows_of(path=str(path), group="where") == ROWS
    assert rows_of(path=str(path)) == [(text, label, "") for text, label, _ in ROWS]


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ('"I like it, really";pos\nbad;neg\n', (1, 2)),
        ('"text, raw";label\n"a, b";x\nc;y\n', ("text, raw", "label")),
        ("so, so, so;pos\nbad;neg\n", (1, 2)),
    ],
)
def test_commas_in_texts_separate_no_cells(tmp_path, content, columns):
    text, label = columns
    rows = rows_of(path=written(tmp_path / "t.csv", content), text=text, label=label)
    expected = [line.split(";") for line in content.replace('"', "").splitlines()]
    assert [list(row[:2]) for row in rows] == expected[text != 1 :]


def test_columns_are_found_by_name_or_by_number_without_names(tmp_path):
    named = as_csv(tmp_path / "named.csv", ["Satz", "Antwort", "2"])
    assert rows_of(path=named, text="Satz", label="Antwort", group="2") == ROWS
    bare = as_csv(tmp_path / "bare.csv", [])
    assert rows_of(path=bare, text=1, label=2, group=3) == ROWS


@pytest.mark.parametrize(("name", "labels"), [("label", "ab"), ("is_spam", "01")])
def test_a_header_is_refused_if_columns_are_numbered(tmp_path, name, labels):
    rows = "".join(f"text {number},{labels[number % 2]}\n" for number in range(6))
    path = written(tmp_path / "t.csv", f"text,{name}\n{rows}")
    with pytest.raises(RequestError, match=f"row 1: .*'{name}' looks like a column's name"):
        rows_of(path=path, text=1, label=2)
    assert len(rows_of(path=written(tmp_path / "t.csv", rows), text=1, label=2)) == 6


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("cp1252", "cp1252")],
)
def test_encodings(tmp_path, codec, encoding):
    path = written(tmp_path / "t.csv", "text,label\r\nGröße,ja\r\n\r\nnein,0\r\n".encode(codec))
    assert rows_of(path=path, encoding=encoding) == [("Größe", "ja", ""), ("nein", "0", "")]


def test_quotes_in_a_tsv_may_be_literal(tmp_path):
    path = written(tmp_path / "t.tsv", 'label\ttext\n0\t"so so" , they say\n1\t" open\n')
    assert rows_of(path=path) == [('"so so" , they say', "0", ""), ('" open', "1", "")]


def test_quotes_of_a_tsv_join_no_rows(tmp_path):
    content = 'text\tlabel\n"so\tgood\nfine\tgood\nbad"\tbad\n'
    path = written(tmp_path / "t.tsv", content)
    assert [row[0] for row in rows_of(path=path)] == ['"so', "fine", 'bad"']


def test_a_name_that_two_columns_have_is_refused(tmp_path):
    path = written(tmp_path / "t.csv", "text,text,label\na,b,c\n")
    with pytest.raises(RequestError, match="data.text: 2 columns of .* are named 'text'"):
        rows_of(path=path)


def test_texts_may_be_in_deeper_folders_with_upper_case_extensions(tmp_path):
    for name in ("good/a.txt", "good/b.TXT", "bad/2020/c.txt", "bad/.hidden/d.txt", "bad/._e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    corpus = Folder(path=str(tmp_path))
    corpus.open(tmp_path)
    found = corpus.items()
    expected = [("bad", "bad/2020/c.txt"), ("good", "good/a.txt"), ("good", "good/b.TXT")]
    assert sorted((each.label, each.text[8:]) for each in found) == expected


def test_long_texts_with_line_ends_are_one_cell(tmp_path):
    text = "word word.\n\n# no comment\n" * 20_000
    path = written(tmp_path / "t.csv", f'text,label\n"{text}",a\nb,b\n')
    before = csv.field_size_limit()
    assert rows_of(path=path) == [(text.strip(), "a", ""), ("b", "b", "")]
    assert csv.field_size_limit() == before


def test_missing_parts_of_a_table_are_shares_of_train(tmp_path):
    lines = "".join(f"text {n},{'ab'[n % 2]}\n" for n in range(20))
    train = written(tmp_path / "train.csv", f"text,label\n{lines}")
    test = written(tmp_path / "test.csv", "label,text\na,one\nb,two\n")
    table = Table(path=train, test_path=test, validation=0.2)
    table.open(tmp_path)
    parts = divided(table, seed=0)
    assert {part: len(texts) for part, texts in parts.items()} == {
        **{"train": 16, "validation": 4, "test": 2}
    }
    assert [each.text for each in parts["test"]] == ["one", "two"]
    known = written(tmp_path / "known.csv", "label,text\na,text 0\nb,two\n")
    task = Classify(corpus=Table(path=train, test_path=known), cache=tmp_path)
    assert task.load(0).notes()[1:] == [
        "1 of the 20 texts of train is left out: a later part has the same text, ignoring case."
    ]
    table.validation_path = test
    with pytest.raises(RequestError, match="validation_path: .* got no text of 'a'"):
        table.open(tmp_path)
        divided(table, seed=0)  # every one of them is in the test, too


GOOD = "text,label\nfine,a\n"


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("", {}, "{path}: expected rows of texts and classes, got an empty file."),
        ("\n\n", {}, "{path}: expected rows of texts and classes, got an empty file."),
        ("text,label\n", {}, "{path}: expected rows of texts and classes, got only the header "),
        (GOOD + " ,b\n", {}, "{path}: row 3: expected a text, got an empty one."),
        (
            GOOD + "x, \n",
            {},
            "{path}: row 3: the column data.label is empty; it needs a class.",
        ),
        (GOOD + "x,b,c\n", {}, "{path}: row 3: expected 2 cells, got 3."),
        (GOOD + "x\n", {}, "{path}: row 3: expected 2 cells, got 1."),
        (
            GOOD + "x" * 10_000_000 + ",b\n",
            {},
            "{path}: row 3: expected a text of at most 1,000,000 bytes, got 10,000,000.",
        ),
        (
            GOOD + '"open,b\n',
            {},
            '{path}: row 3: a cell starts with " and no later line has the closing',
        ),
        (
            GOOD.encode() + b"caf\xe9,b\n",
            {},
            "{path}: expected UTF-8 text, got the byte 0xe9 in line 3; data.encoding names another",
        ),
        (GOOD, {"encoding": "klingon"}, "{path}: can't be decoded by data.encoding: unknown enc"),
        (b"PK\x03\x04\0\0", {}, "{path}: expected a CSV or TSV file, got a workbook, an archive"),
        (b"a\0\0", {}, "{path}: expected text, got a zero byte."),
        (
            gzip.compress(GOOD.encode(), mtime=0)[:20],
            {},
            "{path}: can't be read: Compressed file ended",
        ),
        (
            "texts,label\nfine,a\n",
            {},
            "data.text: {path} has no column 'text'. Columns are: 'texts', 'label'. "
            "Did you mean texts?",
        ),
        (
            GOOD,
            {"text": 1, "label": 7},
            "data.label: {path} has no column 7. Columns are: '1', '2'.",
        ),
        (
            GOOD,
            {"text": None},
            "data.text: {path} has no column None. Columns are: 'text', 'label'.",
        ),
        (
            GOOD,
            {"group": "label"},
            "data.text, data.label, data.group: expected different columns, got one of them twice.",
        ),
    ],
)
def test_a_bad_table_gets_one_sentence(tmp_path, content, settings, message):
    path = written(tmp_path / "t.csv", content)
    with pytest.raises(RequestError) as refused:
        rows_of(path=path, **settings)
    assert str(refused.value).startswith(message.format(path=path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "data.path: expected a CSV or TSV file, got null."),
        ({"path": "gone.csv"}, "data.path: expected a CSV or TSV file, got gone.csv."),
        ({"path": "."}, "data.path: expected a CSV or TSV file, got ."),
        ({"path": "t", "test_path": "u"}, "data.test_path: expected a CSV or TSV file, got u."),
    ],
)
def test_missing_tables_are_refused(tmp_path, monkeypatch, settings, message):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t", GOOD)
    with pytest.raises(RequestError) as refused:
        rows_of(**settings)
    assert str(refused.value).startswith(message)


FILES = {f"{label}/{n}.txt": f"{label} text {n}" for label in ("b", "a") for n in range(10)}


def test_a_folder_of_classes_with_parts_of_its_own(tmp_path):
    train = as_folder(tmp_path / "train", encoded({**FILES, "about.txt": "x", "a/deep/1.txt": "x"}))
    test = as_folder(tmp_path / "test", encoded({"a/1.txt": "one", "b/1.txt": "two"}))
    corpus = Folder(path=str(train), test_path=str(test), limit=10)
    corpus.open(tmp_path)
    assert corpus.own_parts == ("train", "test") and corpus.location(tmp_path) == train
    texts = list(corpus.items())
    assert texts[:2] == [("a text 0", "a", ""), ("b text 0", "b", "")] and len(texts) == 10
    assert {part: len(found) for part, found in divided(corpus, seed=0).items()} == {
        **{"train": 8, "validation": 2, "test": 2}
    }


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "data.path: expected a folder with a folder per class, got null."),
        ("gone", "data.path=gone: doesn't exist. Expected FOLDER/CLASS/FILE"),
        ("a/1.txt", "data.path=a/1.txt: is a file;"),
        ("e", "data.path: e has no folder with texts."),
    ],
)
def test_a_folder_without_classes_gets_one_sentence(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(as_folder(tmp_path, encoded(FILES)))
    (tmp_path / "e").mkdir()
    with pytest.raises(RequestError) as refused:
        Folder(path=path).open(tmp_path)
    assert str(refused.value).startswith(message)


def test_classes_whose_names_are_not_utf8_are_refused(tmp_path):
    folder = as_folder(tmp_path, encoded({**FILES, "\udce9/1.txt": "x", "a/\udce9.txt": "x"}))
    with pytest.raises(
        RequestError, match=r"names of classes in UTF-8, got .xe9: rename the folder"
    ):
        Folder(path=str(folder)).open(tmp_path)
    (folder / "\udce9/1.txt").unlink()
    (folder / "\udce9").rmdir()
    Folder(path=str(folder)).open(tmp_path)


def test_a_single_class_is_named(tmp_path):
    folder = as_folder(tmp_path, encoded({name: FILES[name] for name in FILES if name[0] == "a"}))
    corpus = Folder(path=str(folder))
    corpus.open(tmp_path)
    with pytest.raises(
        RequestError, match="data=folder: expected texts of two or more .*'a' alone"
    ):
        divided(corpus, seed=0)
