"""Pairs from text files: supported dialects, and messages for refused files."""

from __future__ import annotations

import bz2
import gzip
import zipfile
from collections import Counter

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora import text_files
from attnlab.tasks.translation.corpora.text_files import (
    BLANK,
    EMPTY_SIDE,
    PartFiles,
    check_gzip,
    check_zip,
    linked_words,
    read_lines,
    scan,
)


@pytest.fixture
def file(tmp_path):
    def write(content, name="pairs.tsv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def zipped(tmp_path):
    def write(members, name="pairs.zip", **options):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content, **options)
        return path

    return write


TABS = "Go.\tGeh.\nHi.\tHallo!\n"
GO = [("Go.", "Geh."), ("Hi.", "Hallo!")]


def pairs_of(path, **options):
    return [pair[:2] for pair in PartFiles(path, **options).read(Counter())]


@pytest.mark.parametrize(
    "content",
    [
        TABS.encode(),
        TABS.encode().removesuffix(b"\n"),
        TABS.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + TABS.encode(),
        TABS.replace("\n", "\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 & #2\n").encode(),
        TABS.replace("\n", "\n\n \t \r\n").encode(),
        b" Go. \t Geh. \nHi.\tHallo!\t\n",
        gzip.compress(TABS.encode()),
    ],
    ids=["plain", "no_end", "crlf", "bom", "attribution", "blank", "spaces", "gzip"],
)
def test_dialects_that_just_work(file, content):
    assert pairs_of(file(content)) == GO


def test_only_a_line_feed_ends_a_line(file):
    odd = "a\u2028b\x0bc\x85d"
    assert pairs_of(file(f"{odd}\tx\n")) == [(odd, "x")]


def test_text_is_composed(file):
    assert pairs_of(file("u\u0308\te\u0301\n")) == [("ü", "é")]


def test_blank_lines_are_counted(file):
    dropped = Counter()
    list(PartFiles(file("\na\tb\n\n")).read(dropped))
    assert dropped == {BLANK: 2}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\tb\nno tab here\n", r"pairs\.tsv:2: .* got no tab: 'no tab here'\."),
        (b"a\tb\n\tb\n", r":2: expected a source, a tab and a target, got an empty source"),
        (b"a\tb\n\na\t \t(c)\n", r":3: .* got an empty target"),
        (b"a\tb\nM\xfcller\tx\n", r":2: expected UTF-8 text, got the byte 0xfc at position 2"),
        ("a\tb\n".encode("utf-16"), r":1: expected UTF-8 text, got the byte 0xff at position 1"),
        (b"a\tb\n\0\0\0\tb\n", r":2: expected one sentence, got a zero byte"),
        (b"a\tb\rc\td\r", r":1: expected one sentence, got a carriage return \(only line feeds"),
        (b"a\tb\nc\r d\te\n", r":2: expected one sentence, got a carriage return"),
        ("a\tb\n\ufeffc\td\n".encode(), r":2: expected one sentence, got a byte order mark"),
        ("a\tb\ufeffc\td\n".encode(), r":1: expected one sentence, got a byte order mark"),
        (b"x" * (1 << 20) + b"\ty\n", r":1: expected a sentence, got a line of 1,048,576 bytes"),
        (gzip.compress(TABS.encode() * 99)[:-9], r"pairs\.tsv: can't be unpacked: "),
        (gzip.compress(TABS.encode() * 99)[:30] + b"rubbish" * 9, r"can't be unpacked: "),
        (bz2.compress(TABS.encode()), r":1: expected"),
        (b"no tab " * 99, r"got no tab: '.{57}\.\.\.'\.$"),
    ],
    ids=[
        *("no_tab", "no_source", "no_target", "latin1", "utf16", "zeros"),
        *("old_mac", "stray_return", "joined_lines", "joined_files", "long", "cut", "broken"),
        *("bzip2", "shortened"),
    ],
)
def test_wrong_lines_are_refused_with_their_number(file, content, words):
    with pytest.raises(RequestError, match=words) as refusal:
        pairs_of(file(content))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("name", "reason"), [("missing", "No such file"), (".", "directory")])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, reason):
    with pytest.raises(RequestError, match=f"can't be read: .*{reason}"):
        pairs_of(tmp_path / name)


def parallel(one, other, links=None):
    dropped = Counter()
    return list(PartFiles(one, other, links).read(dropped)), dropped


def test_two_files_are_read_line_by_line_without_pairs_with_an_empty_side(file):
    source = file("a\n\nc\n d \n", "x.en")
    target = file(gzip.compress(b"1\r\n2\r\n \r\n4"), "x.de.gz")
    pairs, dropped = parallel(source, target)
    assert [pair[:2] for pair in pairs] == [("a", "1"), ("d", "4")]
    assert dropped == {EMPTY_SIDE: 2}


LINKED = "the red house\tdas Haus\na dog\tein Hund\n"


def test_links_belong_to_their_line(file):
    source, target = file("a\n\nb c\nd\n", "x.en"), file("1\n2\n3 4\n5\n", "x.de")
    pairs, _ = parallel(source, target, file("0-0\n0-0\n1-0  0-1\n\n", "links"))
    assert [pair.links for pair in pairs] == ["0-0", "1-0 0-1", ""]


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ("0-0\n0:0\n", r"links:2: expected links such as 0-0 1-2, got '0:0'"),
        ("0-0\n0-0 -1-1\n", r"links:2: expected links such as"),
        ("0-0 3-1\n0-0\n", r"links:1: expected source words 0 to 2 .* got the link 3-1"),
        ("0-0\n0-2\n", r"links:2: expected target words 0 to 1 .* got the link 0-2"),
    ],
    ids=["colon", "negative", "source", "target"],
)
def test_wrong_links_are_refused(file, links, words):
    with pytest.raises(RequestError, match=words):
        pairs_of(file(LINKED), links=file(links, "links"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the red house", [[0], [1], [2]]),
        ("我们 爱 北京 。", [[0, 1], [2], [3, 4], [5]]),  # words with spaces, as aligners read them
        ("我们爱北京。", [[0], [1], [2], [3], [4], [5]]),  # characters
        ("爱 AI", [[0], [1]]),
        ("", []),
    ],
)
def test_links_number_the_words_that_spaces_divide(text, expected):
    assert linked_words(text) == expected


def test_links_of_words_of_several_characters_are_links_of_all(file):
    pairs = PartFiles(file("we love it\t我们 爱 它们\n"), links=file("0-0 1-1 2-2\n", "links"))
    (pair,) = pairs.read(Counter())
    assert pair.links == "0-0 0-1 1-2 2-3 2-4"


def test_a_scan_reads_packed_and_plain_text_alike(file, zipped):
    plain, packed = scan(file(TABS)), scan(file(gzip.compress(TABS.encode()), "x.gz"))
    assert plain == packed == scan(zipped({"deu.txt": TABS}))
    assert plain.lines == 2
    assert scan(file("a\nb", "y")).lines == 2
    assert scan(file("", "z")).lines == 0


def test_the_one_text_file_of_a_zip_is_read_and_nothing_is_written(zipped, tmp_path):
    path = zipped({"_about.txt": "terms", "deu.txt": TABS, "picture.png": b"\x89PNG"})
    before = set(tmp_path.rglob("*"))
    check_zip(path)
    assert pairs_of(path) == GO
    assert set(tmp_path.rglob("*")) == before


def link_to(target: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("deu.txt")
    info.external_attr = 0o120777 << 16
    return info


@pytest.mark.parametrize(
    "members",
    [
        {"../deu.txt": TABS},
        {"../../../../etc/deu.txt": TABS},
        {"/etc/deu.txt": TABS},
        {"C:\\deu.txt": TABS},
        {"..\\deu.txt": TABS},
        {"folder/deu.txt": TABS},
        {"deu.txt/": b""},
        {link_to("/etc/passwd"): "/etc/passwd"},
        {"deu.txt": TABS, "fra.txt": TABS},
        {"readme.md": "nothing"},
        {},
    ],
    ids=[
        *("up", "far_up", "absolute", "drive", "backslash", "folder", "is_folder", "symlink"),
        *("two", "none", "empty"),
    ],
)
def test_unusable_members_of_a_zip_are_refused(zipped, members, tmp_path):
    path = zipped(members)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(RequestError, match=r"pairs\.zip.*: expected a"):
        check_zip(path)
    with pytest.raises(RequestError):
        pairs_of(path)
    assert set(tmp_path.rglob("*")) == before


def test_a_bomb_is_refused_by_its_size(zipped, monkeypatch):
    monkeypatch.setattr(text_files, "LARGEST_MEMBER", 1 << 20)
    with pytest.raises(RequestError, match="at most 1,048,576 bytes unpacked, got 2,097,152"):
        pairs_of(zipped({"deu.txt": b"\n" * (2 << 20)}))


def test_a_bomb_that_lies_about_its_size_gives_no_more_than_it_says(zipped):
    path = zipped({"deu.txt": b"\n" * 5_000_000})
    content = path.read_bytes()
    path.write_bytes(content.replace((5_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(RequestError, match="can't be unpacked: Bad CRC"):
        list(read_lines(path))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_or_locked_zip_is_refused(zipped, method):
    path = zipped({"deu.txt": TABS * 50}, compress_type=method)
    content = path.read_bytes()
    for damaged in (
        content[:-30],
        content[:60] + b"rubbish" + content[67:],
        content.replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"
        ),
        b"PK\x03\x04" + b"rubbish" * 9,
    ):
        assert damaged != content
        path.write_bytes(damaged)
        with pytest.raises(RequestError, match=r"pairs\.zip: (expected a|can't be)"):
            pairs_of(path)


@pytest.mark.parametrize("check", [check_zip, check_gzip])
def test_a_login_page_is_refused(file, check):
    with pytest.raises(RequestError, match=r"expected a (zip archive|gzip file), got something"):
        check(file("<!DOCTYPE html><title>Log in</title>"))


def test_half_a_gzip_file_is_refused(file):
    whole = gzip.compress(TABS.encode())
    check_gzip(file(whole))
    with pytest.raises(RequestError, match="can't be unpacked: "):
        check_gzip(file(whole[:-4]))
