"""Files in their documented forms are read; all others are refused with the row or the file."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.data.readers import class_files, members, read_table, read_text

COLUMNS = {"data.text": "text", "data.label": "label"}


@pytest.fixture
def table(tmp_path):
    def read(content, columns=COLUMNS, name="file.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, "data.path", columns)

    return read


def test_columns_by_name_or_position(table):
    for content, columns in [
        ("label,n,text\nx,1,good\ny,2,bad\n", ("text", "label")),
        ("label,n,text\r\nx,1,good\r\n\r\ny,2,bad", ("text", "label")),
        ("x,good\ny,bad\n", (2, 1)),
        ("0,1\nx,good\ny,bad\n", (1, 0)),  # pandas without names of columns
        ("\ufefflabel,text\nx,good\ny,bad\n", ("text", "label")),
    ]:
        rows = table(content, dict(zip(COLUMNS, columns, strict=True)))
        assert rows == [("good", "x"), ("bad", "y")]


def test_a_quoted_cell_may_have_commas_quotes_and_lines(table):
    assert table('text,label\n"a, ""b""\nc",x\n') == [('a, "b"\nc', "x")]


def test_a_tsv_has_no_quotes(table):
    content = 'text\tlabel\n"a" b\tx\n'
    assert table(content, name="file.tsv") == [('"a" b', "x")]
    assert table(gzip.compress(content.encode()), name="file.tsv.gz") == [('"a" b', "x")]
    with pytest.raises(RequestError, match="line 2: a cell is quoted as in CSV"):
        table('text\tlabel\n"say ""b"""\tx\n', name="file.tsv")


def test_other_forms_are_refused(table):
    for content, columns, message in [
        ("", COLUMNS, "an empty file"),
        ("text,label\na,x,1\n", COLUMNS, "line 2: expected 2 cells as in the first row, got 3"),
        ('text,label\n"a,x\nb,y\n', COLUMNS, "not CSV: unexpected end of data"),
        ("text;label\na;x\n", COLUMNS, "data.text: text is no column of .* text;label"),
        ("text,text,label\na,b,x\n", COLUMNS, "text is the name of several columns"),
        ("0,1\na,x\n", {"data.text": 1, "data.label": 2}, "choose columns by these names"),
        ("text,label\na,x\n", {"data.text": "text", "data.label": 1}, "got one twice"),
        (b"text,label\n\xe9,x\n", COLUMNS, "byte 0xe9 in line 2"),
        (b"\x1f\x8b broken", COLUMNS, "can't be read"),
    ]:
        with pytest.raises(RequestError, match=message):
            table(content, columns)


def test_texts(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffa\r\nö".encode())
    assert read_text(path, "data.path") == "a\nö"
    path.write_bytes(gzip.compress(b"packed"))
    assert read_text(path, "data.path") == "packed"
    with pytest.raises(RequestError, match=r"data\.path: .*gone\.txt can't be read: No such file"):
        read_text(tmp_path / "gone.txt", "data.path")


def make(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def labels(files) -> dict[str, list[str]]:
    return {
        part: [f"{label} {path.name}" for label, path in pairs] for part, pairs in files.items()
    }


def test_folders_are_classes_that_take_turns_or_parts(tmp_path):
    make(tmp_path / "a", "pos/1.txt", "pos/2.TXT", "neg/a.txt", ".git/x", "pos/.DS_Store")
    files = class_files(tmp_path / "a", "data.path", [".txt"])
    assert labels(files) == {"train": ["neg a.txt", "pos 1.txt", "pos 2.TXT"]}
    make(tmp_path / "b", "train/pos/1.txt", "train/neg/2.txt", "test/pos/3.txt")
    files = class_files(tmp_path / "b", "data.path", [".txt"])
    assert labels(files) == {"train": ["neg 2.txt", "pos 1.txt"], "test": ["pos 3.txt"]}


@pytest.mark.parametrize(
    "names, message",
    [
        (["train/pos/1.txt", "val/pos/1.txt"], "expected only train, validation and test .* val"),
        (["pos/1.txt", "pos/deep/2.txt"], "got .*deep"),
        (["pos/1.txt", "pos/2.pdf"], r"got .*2\.pdf"),
        (["pos/1.txt", "README.txt"], r"got .*README\.txt"),
    ],
)
def test_other_folders_are_refused(tmp_path, names, message):
    make(tmp_path, *names)
    with pytest.raises(RequestError, match=message):
        class_files(tmp_path, "data.path", [".txt"])


@pytest.mark.parametrize("form", ["folder", "zip", "tar.gz"])
def test_members_of_archives_and_folders(tmp_path, form):
    contents = {"top/b.txt": b"B", "top/a.txt": b"A", "other": b""}
    place = tmp_path / form
    if form == "folder":
        make(place, *contents)
        for name, content in contents.items():
            (place / name).write_bytes(content)
    elif form == "zip":
        with zipfile.ZipFile(place, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(place, "w:gz") as archive:
            for name, content in contents.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    pairs = [
        (match["name"], content)
        for match, content in members(place, re.compile(r"(?P<name>\w)\.txt$"))
    ]
    assert pairs == [("a", b"A"), ("b", b"B")]
