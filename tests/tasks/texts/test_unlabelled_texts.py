"""Corpora of texts without labels: sentences of the grammar, and the user's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from unlabelled import Documents

from attnlab.cli import main
from attnlab.errors import RequestError
from attnlab.tasks.classification.corpora.agreement import Agreement
from attnlab.tasks.texts import text
from attnlab.tasks.texts.corpus import LeftOut, divided
from attnlab.tasks.texts.corpus_statistics import describe
from attnlab.tasks.texts.sentences import Sentences
from attnlab.tasks.texts.text import TextFiles
from attnlab.text.agreement import held_out
from attnlab.text.cleaning import text_key


def texts_of(path: Path, *names: str, **settings) -> list[list[str]]:
    corpus = TextFiles(path=str(path), **settings)
    corpus.open(Path("."))
    return [[*document] for document in corpus.items()]


# Sentences


def test_sentences_are_right_and_not_in_the_test_part_of_agreement():
    corpus = Sentences(sentences=3000)
    parts = {part: [*corpus.items(part)] for part in corpus.own_parts}
    assert [*map(len, parts.values())] == [3000, 500, 500]
    assert all(len(document) == 1 for part in parts.values() for document in part)
    train = {document[0] for document in parts["train"]}
    assert len(train) == 3000
    agreement = Agreement(texts=100)
    for part in ("validation", "test"):
        others = {each.text: each.label for each in agreement._read(part)}
        assert not train & {*others}
        own = {document[0] for document in parts[part]}
        # It has either a sentence or its broken twin of each of these.
        assert {others[text] for text in own & {*others}} == {"right"}
    wrong = {twins.wrong for _, twins in held_out(0)}
    assert not wrong & {document[0] for part in parts.values() for document in part}


def test_seeds_give_other_sentences_and_larger_corpora_start_alike():
    few, more, other = (
        [*Sentences(sentences=count, seed=seed).items()]
        for count, seed in ((100, 0), (150, 0), (100, 1))
    )
    assert more[:100] == few and other != few
    assert Sentences(sentences=100).digest() != Sentences(sentences=150).digest()


# Files


def test_empty_lines_end_a_document(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfOne sentence. Another\r\none.\r\n \r\n\r\nA third.\r\n")
    assert texts_of(file) == [["One sentence.", "Another one."], ["A third."]]


def test_without_empty_lines_each_line_is_a_document(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("One. Two.\nThree.\n***\n")
    assert texts_of(file) == [["One.", "Two."], ["Three."]]
    assert texts_of(file, limit=1) == [["One.", "Two."]]


def test_a_folder_is_read_with_its_subfolders(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".ipynb_checkpoints").mkdir()
    hidden = (".ipynb_checkpoints/c-checkpoint.txt", "._c.txt")
    for name in ("c.txt", "b/a.md", "b/not.html", *hidden):
        (tmp_path / name).write_text(f"In {name}.")
    assert texts_of(tmp_path) == [["In b/a.md."], ["In c.txt."]]
    corpus = TextFiles(path=str(tmp_path))
    corpus.open(tmp_path)
    assert corpus.notes == (
        "Files not named like texts are left out: .html (1), such as b/not.html.",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "a.txt can't be read"),
        (b"\xff\xfa\n", "expected UTF-8 text"),
        (b" \n\n", "expected text, got only empty files"),
    ],
)
def test_files_that_are_not_texts_are_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(RequestError, match=message):
        texts_of(tmp_path / "a.txt")


def test_missing_paths_are_refused(tmp_path):
    with pytest.raises(RequestError, match=r"expected a folder with files \*.txt"):
        texts_of(tmp_path)
    (tmp_path / "rows.csv").write_text("text,label\nA dog.,1\n")
    with pytest.raises(RequestError, match=r"expected plain text, got .*rows\.csv"):
        texts_of(tmp_path / "rows.csv")
    with pytest.raises(RequestError, match="data.path: expected a text file"):
        TextFiles(path=None).open(tmp_path)


# The division


def test_documents_are_held_out_by_the_seed():
    parts = divided(Documents(40), 0)
    assert {part: len(own) for part, own in parts.items()} == {
        **{"train": 36, "validation": 2, "test": 2}
    }
    whole = {document for own in parts.values() for document in map(tuple, own)}
    assert len(whole) == 40
    assert divided(Documents(40), 0) == parts != divided(Documents(40), 1)


def test_documents_that_differ_only_by_case_are_in_one_part(tmp_path):
    file = tmp_path / "a.txt"
    alike = ("The cat is on mat {}.", "the cat is on mat {}.", "The Cat is on mat {}.")
    file.write_text("\n".join(each.format(n) for n in range(20) for each in alike))
    corpus = TextFiles(path=str(file), validation=0.1, test=0.1)
    corpus.open(tmp_path)
    parts = divided(corpus, 0)
    assert {part: len(own) for part, own in parts.items()} == {
        **{"train": 48, "validation": 6, "test": 6}
    }
    keys = [
        {text_key(" ".join(document), ignore_case=True) for document in own}
        for own in parts.values()
    ]
    assert sum(map(len, keys)) == 20 == len(set.union(*keys))
    parts = divided(corpus, 0, ignore_case=False)
    assert [*map(len, parts.values())] == [48, 6, 6]
    keys = [{" ".join(document).lower() for document in own} for own in parts.values()]
    assert sum(map(len, keys)) > len(set.union(*keys))  # with case, some are in two parts


def test_left_out_documents_are_counted(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("One.\n***\nTwo!\nOne.\nTwo. ***\nthree\n— —\nOne.\n")
    corpus = TextFiles(path=str(file))
    corpus.open(tmp_path)
    parts = divided(corpus, 0)
    assert sum(map(len, parts.values())) == 4 and corpus.left_out == {"train": 2}
    assert corpus.notes == (
        "2 documents without a letter or digit are left out, such as '***'.",
        "In 1 documents, marks that belong to no sentence are left out.",
        "2 of 6 documents are left out: they repeat another one word for word.",
    )


def test_other_separators_dont_end_a_line(tmp_path):
    """Page breaks and separators inside a text end no line; old line ends do."""
    file = tmp_path / "a.txt"
    file.write_bytes("One\u2028two\x0cthree.\rFour\x85five\x1csix.".encode())
    assert texts_of(file) == [["One two three."], ["Four five six."]]


def test_lines_of_chinese_and_thai_are_joined_without_spaces(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("我们住\n在柏林。\n他们\nAI 好。\n\nฉันอยู่\nที่นี่\n\none\ntwo\n\n안녕\n여러분\n")
    assert texts_of(file) == [
        ["我们住在柏林。", "他们 AI 好。"], ["ฉันอยู่ที่นี่"], ["one two"], ["안녕 여러분"]
    ]  # fmt: skip


def test_too_few_documents_are_refused():
    with pytest.raises(RequestError, match="at least 3 different documents, .* got 2; empty lines"):
        divided(Documents(2), 0)
    corpus = Documents(4)
    corpus.validation = corpus.test = 0.5
    with pytest.raises(RequestError, match=r"leave documents to train on, got 0.5 \+ 0.5"):
        divided(corpus, 0)


# What is in them


def test_counts_of_a_corpus():
    found = describe(Documents(40), 0)
    assert found["train"] == {
        **{"documents": 36, "sentences": 180, "words": 36 * (4 * 5 + 5 * 4)},
        **{"longest": 8, "unknown": 0},
    }
    # The number of its day, in each of five sentences.
    assert found["test"]["unknown"] == 5 * 2 / found["test"]["words"]


def test_the_corpora_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("One dog. Two dogs.\n\nA cat.\n\nA bird sings.\n")
    assert main(["data", "list", "text", "path=a.txt"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["documents", "1", "1", "1"] in rows and rows[0][:4] == ["text,", "texts", "without",
                                                                    "labels:"]  # fmt: skip
    assert main(["data", "list", "sentences", "sentences=100"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["sentences", "100", "500", "500"] in rows


# One long text


def test_the_raw_text_keeps_line_breaks_and_is_cut_by_position(tmp_path):
    (tmp_path / "a.txt").write_bytes("á\r\nb".encode() + b"\n\n")
    (tmp_path / "b.txt").write_bytes(b" \n")
    (tmp_path / "c.txt").write_bytes("ü".encode("utf-16"))
    corpus = TextFiles(path=str(tmp_path), validation=0.3, test=0.2)
    corpus.open(tmp_path)
    assert corpus.notes == ("1 file is empty and left out: b.txt.",)
    # Ten bytes, of which a share of 0.8 would end within the last letter.
    parts = {part: bytes(text) for part, text in corpus.raw().items()}
    assert parts == {"train": "á\r\nb".encode(), "validation": b"\n\n", "test": "ü\n".encode()}


def test_bytes_that_are_no_text_are_for_models_of_bytes_alone(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(256)))
    corpus = TextFiles(path=str(tmp_path / "a.txt"), validation=0.25, test=0.25)
    corpus.open(tmp_path)
    assert b"".join(map(bytes, corpus.raw().values())) == bytes(range(256)) + b"\n"
    with pytest.raises(RequestError, match="expected UTF-8 text, got the byte 0x80"):
        [*corpus.items()]


def test_more_than_a_gigabyte_stays_on_the_disk(tmp_path):
    with open(tmp_path / "a.txt", "wb") as file:
        file.write(b"One sentence. Another one.\nA document.\n")
        file.truncate(2 * 10**9)
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    assert corpus.is_long and corpus.is_too_long and corpus.text_size == 2 * 10**9
    with pytest.raises(RequestError, match="fits into memory, got 2,000,000,000 bytes"):
        divided(corpus, seed=0)
    assert [*map(len, corpus.raw().values())] == [2 * 10**9 + 1 - 2 * 10**7, 10**7, 10**7]
    assert corpus.notes == (
        "Of 2,000,000,001 bytes of text, 10,000,000 are held out for validation and 10,000,000 for "
        "the test.",
    )


@pytest.mark.parametrize("around", ["", " \n\n"])
@pytest.mark.parametrize("between", ["\n", "\n\n", " \n \n\n"])
def test_pieces_have_the_documents_of_the_whole(between, around, tmp_path, monkeypatch):
    documents = [f"Document {n} begins. It continues\nhere. It ends." for n in range(40)]
    if between == "\n":
        documents = [each.replace("\n", " ") for each in documents]
    path = tmp_path / "a.txt"
    path.write_text(around + between.join(documents) + around)
    corpus = TextFiles(path=str(path))
    corpus.open(tmp_path)
    expected = [*corpus.items()]
    assert len(expected) == 40 and len(expected[0]) == 3
    monkeypatch.setattr(text, "_IN_MEMORY", 100)
    monkeypatch.setattr(text, "_PIECE", 150)
    corpus.open(tmp_path)
    pieces = [*corpus.pieces("train")]
    assert len(pieces) > 5
    assert [each for piece in pieces for each in piece.documents(LeftOut())] == expected
    assert [*corpus.items()] == expected
    few = TextFiles(path=str(path), limit=3)
    few.open(tmp_path)
    assert [*few.items()] == expected[:3] and not few.is_long


def test_small_files_are_read_in_few_pieces(tmp_path, monkeypatch):
    """Fixed: each file was a piece, which made a folder of many small files 20 times slower."""
    for number in range(200):
        end = "\n\nThe end." * (number < 150)  # without an empty line each line is a document
        (tmp_path / f"{number:03}.txt").write_text(f"Text {number}.\nIt continues.{end}")
    corpus = TextFiles(path=str(tmp_path))
    corpus.open(tmp_path)
    expected = [*corpus.items()]
    assert len(expected) == 2 * 200
    monkeypatch.setattr(text, "_IN_MEMORY", 100)
    monkeypatch.setattr(text, "_PIECE", 1000)
    corpus.open(tmp_path)
    pieces = [*corpus.pieces("train")]
    assert [each for piece in pieces for each in piece.documents(LeftOut())] == expected
    assert 5 < len(pieces) < 12 and max(len(piece.text) for piece in pieces) < 1300


def test_a_document_larger_than_memory_is_cut_between_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_IN_MEMORY", 100)
    monkeypatch.setattr(text, "_PIECE", 50)
    monkeypatch.setattr(text, "_LONGEST_DOCUMENT", 200)
    (tmp_path / "a.txt").write_text("A title.\n\n" + "One of many lines.\n" * 100)
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    pieces = [piece.text for piece in corpus.pieces("train")]
    assert b"".join(pieces) == (tmp_path / "a.txt").read_bytes()
    assert max(map(len, pieces)) < 300 and all(each.endswith(b"\n") for each in pieces)


@pytest.mark.parametrize("start", ["", "A title.\n\n"])
def test_a_long_line_is_cut_between_words(start, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_IN_MEMORY", 100)
    monkeypatch.setattr(text, "_PIECE", 50)
    monkeypatch.setattr(text, "_LONGEST_DOCUMENT", 200)
    (tmp_path / "a.txt").write_text(start + "many words " * 100)
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    pieces = [piece.text for piece in corpus.pieces("train")]
    assert b"".join(pieces) == (tmp_path / "a.txt").read_bytes()
    assert max(map(len, pieces)) < 500
    assert {*b" ".join(pieces).split()} == {*(start + "many words").encode().split()}


@pytest.mark.parametrize("change", ["write", "truncate", "delete"])
def test_a_file_that_changes_after_it_is_opened_is_noticed(change, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_IN_MEMORY", 100)
    (tmp_path / "a.txt").write_text("some words\n" * 20)
    corpus = TextFiles(path=str(tmp_path / "a.txt"))
    corpus.open(tmp_path)
    corpus.check_unchanged()
    train = corpus.raw()["train"]
    if change == "delete":
        (tmp_path / "a.txt").unlink()
    else:
        (tmp_path / "a.txt").write_text("other words\n" * (20 if change == "write" else 2))
    with pytest.raises(RequestError, match="a.txt.*(changed while it was read|can't be read)"):
        bytes(train)
        corpus.check_unchanged()


def test_a_limit_counts_documents_of_the_raw_text(tmp_path):
    (tmp_path / "a.txt").write_text("a\nb\n\nc\n\nd\n")
    corpus = TextFiles(path=str(tmp_path / "a.txt"), limit=2, validation=0.1, test=0.1)
    corpus.open(tmp_path)
    assert b"".join(map(bytes, corpus.raw().values())) == b"a\nb\n\nc\n"


def test_sentences_are_lines_of_the_raw_text():
    corpus = Sentences(sentences=100)
    lines = bytes(corpus.raw()["train"]).decode().splitlines()
    assert lines == [document[0] for document in corpus.items("train")]
