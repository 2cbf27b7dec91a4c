"""One text per file: folders, zip and tar archives, and files that are not text."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.text_files import LONGEST_TEXT, read_texts

WANTED = re.compile(r"(?:^|/)(?P<label>neg|pos)/[^/]+\.txt$")
FILES = {
    "reviews/neg/b.txt": "\ufeffDull. ",
    "reviews/neg/a.txt": "Longer\nthan life.\n",
    "reviews/pos/c.txt": "Cafe\u0301!",
    "reviews/README.txt": "about",
    "reviews/pos/notes.md": "about",
    "reviews/pos/.hidden.txt": "about",
    "__MACOSX/reviews/pos/c.txt": "about",
}
TEXTS = [("Longer\nthan life.", "neg"), ("Café!", "pos"), ("Dull.", "neg")]


def as_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def as_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def as_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


STORED = pytest.mark.parametrize("store", [as_folder, as_zip, as_tar])


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


@STORED
def test_classes_alternate_and_files_are_in_the_order_of_names(tmp_path, store):
    seen = []
    place = store(tmp_path / "stored", encoded(FILES))
    parts = read_texts(place, WANTED, lambda *told: seen.append(told))
    assert {part: [each[:2] for each in texts] for part, texts in parts.items()} == {"train": TEXTS}
    assert seen == [(0, None, "stored")]


def test_parts_are_found_by_file_names(tmp_path):
    wanted = re.compile(r"^(?P<part>train|test)/(?P<label>neg|pos)/[^/]+\.txt$")
    files = {"train/neg/1.txt": "a", "test/pos/1.txt": "b", "else/pos/1.txt": "c"}
    parts = read_texts(as_zip(tmp_path / "stored", encoded(files)), wanted)
    assert parts == {"train": [("a", "neg", "")], "test": [("b", "pos", "")]}


@STORED
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n\t", "neg/bad.txt: expected a text, got an empty one."),
        (b"", "neg/bad.txt: expected a text, got an empty one."),
        (
            b"a\ncaf\xe9",
            "neg/bad.txt: expected UTF-8 text, got the byte 0xe9 in line 2; save it as UTF-8.",
        ),
        (b"a\0b", "neg/bad.txt: expected text, got a zero byte."),
        (
            b"x" * (10 * LONGEST_TEXT),
            "neg/bad.txt: expected a text of at most 1,000,000 bytes, got 10,000,000.",
        ),
    ],
)
def test_a_file_that_is_not_text_is_named(tmp_path, store, content, message):
    place = store(tmp_path / "stored", {"pos/a.txt": b"fine", "neg/bad.txt": content})
    with pytest.raises(RequestError) as refused:
        read_texts(place, WANTED)
    assert str(refused.value) == f"{place}{'/' if store is as_folder else ': '}{message}"


def test_utf16_with_its_mark_is_read(tmp_path):
    place = as_folder(tmp_path, {"pos/a.txt": "größer".encode("utf-16")})
    assert read_texts(place, WANTED)["train"][0].text == "größer"


def damaged(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[: middle - 20] + bytes(40) + content[middle + 20 :]


@pytest.mark.parametrize(
    "change", [lambda raw: raw[:300], damaged, lambda raw: b"<!DOCTYPE html>", lambda raw: b""]
)
@pytest.mark.parametrize("store", [as_zip, as_tar])
def test_a_broken_archive_is_refused(tmp_path, store, change):
    # Noise can't be packed, so that what is changed are texts, not tables.
    files = {f"pos/{n}.txt": gzip.compress(str(n).encode()).hex().encode() for n in range(40)}
    place = store(tmp_path / "stored", files)
    place.write_bytes(change(place.read_bytes()))
    with pytest.raises(RequestError, match="stored: "):
        read_texts(place, WANTED)


def test_a_locked_zip_and_links_are_not_followed(tmp_path):
    place = as_zip(tmp_path / "stored", {"pos/a.txt": b"text"})
    raw = bytearray(place.read_bytes())
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        raw[raw.index(start) + (6 if start[2] == 3 else 8)] |= 1
    place.write_bytes(raw)
    with pytest.raises(RequestError, match="can't be read: .*encrypted"):
        read_texts(place, WANTED)
    (tmp_path / "secret.txt").write_text("secret")
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        link = tarfile.TarInfo("pos/a.txt")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret.txt")
        archive.addfile(link)
    assert read_texts(tmp_path / "links.tar", WANTED) == {}
