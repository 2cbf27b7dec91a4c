"""Texts that come with the package, are published, or are the user's own."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.data import builtin
from attnlab.tasks.language import corpora
from attnlab.tasks.language.corpora import (
    Sentences,
    Shakespeare,
    TextFiles,
    WikiText2,
    WikiText103,
)
from attnlab.text.reading import RawText

TEXT = "".join(f"Zeile {number} über Bären.\n" for number in range(50))


def opened(corpus):
    corpus.open(Path("nowhere"))
    return {part: bytes(text) for part, text in corpus.parts.items()}


def test_sentences_are_lines_and_the_first_ones_are_chosen():
    parts = opened(Sentences(sentences=100))
    rows = builtin.rows("sentences")
    assert parts["train"].decode().splitlines() == [text for (text,) in rows["train"][:100]]
    assert [len(parts[part].splitlines()) for part in parts] == [100, 500, 500]
    tested = {
        text for part in ("validation", "test") for text, *_ in builtin.rows("agreement")[part]
    }
    assert not tested & {text for (text,) in rows["train"]}


def test_the_users_text_is_cut_by_position_but_not_within_a_character(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    for shares in ((0.05, 0.05), (0.2, 0.31)):
        corpus = TextFiles(path=str(tmp_path / "a.txt"), validation=shares[0], test=shares[1])
        parts = opened(corpus)
        assert "".join(part.decode() for part in parts.values()) == TEXT
        sizes = [len(part) / len(TEXT.encode()) for part in parts.values()]
        assert sizes[1:] == pytest.approx(shares, abs=0.01)


def test_long_texts_hold_out_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "MOST_HELD_OUT", 50)
    (tmp_path / "a.txt").write_text(TEXT)
    corpus = TextFiles(path=str(tmp_path / "a.txt"), validation=0.2, test=0.01)
    sizes = {part: len(text) for part, text in opened(corpus).items()}
    assert abs(sizes["validation"] - 50) < 3 and sizes["test"] < 20
    assert "At most 50 bytes" in corpus.notes[0]


def test_folders_gzip_and_byte_order_marks_are_read(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbffirst")
    (tmp_path / "b.md").write_text("second\n")
    (tmp_path / "more" / "c.txt.gz").write_bytes(gzip.compress(b"third"))
    for name in (".hidden.txt", "d.bin", "more/e.csv"):
        (tmp_path / name).write_text("no")
    (tmp_path / "f.txt").write_text("")
    assert b"".join(opened(TextFiles(path=str(tmp_path))).values()) == b"first\nsecond\nthird"


def test_files_without_text_are_refused(tmp_path):
    for content, settings, message in [
        (None, {}, "data.path: expected a file or folder, got"),
        (b"", {}, "data.path: .*a.txt: expected text, got none"),
        (b" \n\n", {}, "data.path: .*a.txt: expected text, got none"),
        (b"a b c\n", {"validation": 0.5, "test": 0.5}, "data.validation .*a sum below 1"),
        (b"a", {}, "expected text in validation, got none"),
        (b"\x1f\x8bdamaged", {}, "data.path: .*a.txt can't be read"),
    ]:
        if content is not None:
            (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(RequestError, match=message):
            opened(TextFiles(path=str(tmp_path / "a.txt"), **settings))


def test_empty_lines_divide_documents_if_there_are_some():
    for text, by_line in [("a\nb\n", True), ("\n\na\nb\n\n", True), ("a\n \nb\n", False)]:
        corpus = TextFiles()
        corpus.parts = {"train": RawText(text.encode())}
        assert corpus.has_documents_by_line == by_line


@pytest.mark.parametrize("corpus", [WikiText2, WikiText103])
def test_wikitext_has_its_own_parts(tmp_path, corpus):
    texts = {"train": " \n = A = \n \n b <unk> c \n", "valid": " \n d \n", "test": " \n e \n"}
    folder = tmp_path / "wikitext"
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"wiki.{name}.tokens").write_text(text)
    with zipfile.ZipFile(tmp_path / "w.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"inside/{file.name}")
    for place in (folder, tmp_path / "w.zip"):
        parts = opened(corpus(path=str(place)))
        assert [part.decode() for part in parts.values()] == [*texts.values()]
    (folder / "wiki.test.tokens").unlink()
    with pytest.raises(RequestError, match="expected wiki.test.tokens"):
        opened(corpus(path=str(folder)))


def test_shakespeare_is_divided_in_two_ways(tmp_path):
    (tmp_path / "input.txt").write_text("ab\n" * 400)
    parts = opened(Shakespeare(path=str(tmp_path / "input.txt"), split="nanogpt"))
    assert len(parts["train"]) == 1080 and parts["validation"] == parts["test"]
    parts = opened(Shakespeare(path=str(tmp_path / "input.txt")))
    assert [len(part) for part in parts.values()] == [1080, 60, 60]


@pytest.mark.realdata
def test_the_real_shakespeare_has_nanogpts_numbers(realdata):
    corpus = Shakespeare(path=str(realdata / "shakespeare" / "input.txt"), split="nanogpt")
    parts = opened(corpus)
    assert [len(parts["train"]), len(parts["validation"])] == [1_003_854, 111_540]
    assert len(set((parts["train"] + parts["test"]).decode())) == 65
