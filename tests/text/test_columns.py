"""Columns of sentences in a file with tabs, and messages for refused files."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.corpora.parallel_files import ParallelFiles
from attnlab.tasks.translation.corpora.tatoeba import Tatoeba

ENGLISH = ["A cat is here.", "The dog ran.", "We sing.", "They see 3 birds.", "Go on!", "It rains."]
GERMAN = ["Eine Katze ist da.", "Der Hund lief.", "Wir singen.", "Sie sehen 3 Vögel.", "Los!",
          "Es regnet."]  # fmt: skip
ROWS = [(ENGLISH[n % 6] + "!" * (n // 6), GERMAN[n % 6] + "!" * (n // 6)) for n in range(12)]
CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #1 (A) & #2 (B)"


def of(*forms: str) -> str:
    """A file with a line for each pair, its cells by their forms."""
    cells = [
        [form.format(en=en, de=de, n=n, id=1000 + 3 * n) for form in forms]
        for n, (en, de) in enumerate(ROWS)
    ]
    return "".join("\t".join(row) + "\n" for row in cells)


@pytest.fixture
def read(tmp_path):
    """A function that writes a file and gives the pairs of its corpus."""

    def read(content: str, columns: object = None, corpus: type = ParallelFiles):
        path = tmp_path / "pairs.tsv"
        path.write_text(content, encoding="utf-8")
        made = corpus(path=str(path), columns=columns)
        made.open(tmp_path)
        read.corpus = made
        return [pair[:2] for pair in made.pairs()]

    return read


@pytest.mark.parametrize("corpus", [ParallelFiles, Tatoeba])
@pytest.mark.parametrize(
    "forms",
    [
        ("{en}", "{de}"),
        ("{en}", "{de}", CREDIT),
        ("{en}", "{de}", "{id}"),
        ("{en}", "{de}", "0.{n}"),
        ("{en}", "{de}", "eng", "deu"),
        ("{en}", "{de}", "https://example.org/{n}"),
        ("{en}", "{de}", ""),
    ],
)
def test_the_first_two_columns_are_read_if_no_other_has_text(read, forms, corpus):
    assert read(of(*forms), corpus=corpus) == ROWS


@pytest.mark.parametrize(
    ("forms", "columns", "seen"),
    [
        (("{id}", "{en}", "5{id}", "{de}"), [1, 3], "0 numbers ('1003'); 1 text ('The dog ran.');"),
        (("{id}", "eng", "{en}", "{id}", "deu", "{de}"), [2, 5], "1 language codes ('eng');"),
        (("eng", "{en}", "deu", "{de}"), [1, 3], "0 language codes ('eng');"),
        (("en", "de-AT", "{en}", "{de}"), [2, 3], "1 language codes ('de-AT');"),
        (("#{id}", "{en}", "{de}"), [1, 2], "0 numbers ('#1003');"),
        (("sent_{id}", "{en}", "{de}"), [1, 2], "0 identifiers ('sent_1003');"),
        (("{en}", "{id}", "{de}"), [0, 2], "1 numbers"),
        (("2019-01-{n:02}", "{en}", "{de}"), [1, 2], "0 dates ('2019-01-01');"),
        (("{n}/01/2019", "{en}", "{de}"), [1, 2], "0 dates ('1/01/2019');"),
        (("2019-01-01T10:{n:02}:00+00:00", "{en}", "{de}"), [1, 2], "0 dates ("),
        (("-{n}.5e-05", "{en}", "{de}"), [1, 2], "0 numbers ('-1.5e-05');"),
        (("{n}%", "{en}", "{de}"), [1, 2], "0 numbers ('1%');"),
        (("clip{n}_de.mp3", "{en}", "{de}"), [1, 2], "0 names of files ('clip1_de.mp3');"),
        ((CREDIT, "{en}", "{de}"), [1, 2], "0 attributions ('CC-BY"),
        (("English", "{en}", "{de}"), [1, 2], "0 one value ('English');"),
        (("\\N", "{en}", "{de}"), [1, 2], "0 numbers ('\\\\N');"),
        (("", "{en}", "{de}"), [1, 2], "0 nothing;"),
    ],
)
def test_other_columns_are_refused_with_the_setting_that_reads_them(read, forms, columns, seen):
    content, setting = of(*forms), f"data.columns=[{columns[0]},{columns[1]}]"
    with pytest.raises(RequestError) as refused:
        read(content)
    message = str(refused.value)
    assert seen in message and message.endswith(f"Choose two with {setting}.")
    assert "expected text in columns 0 and 1, and in no other" in message and "\n" not in message
    assert read(content, columns) == ROWS
    assert read(content, columns[::-1]) == [(de, en) for en, de in ROWS]


@pytest.mark.parametrize(
    ("forms", "fix"),
    [
        (("{id}", "{en}"), r"If they are source and target all the same: data.columns=\[0,1\]"),
        (("{en}", "{id}"), r"If they are source and target all the same: data.columns=\[0,1\]"),
        (("{en}", "{de}", "{en} {de}"), r"Choose two with data.columns=\[SOURCE,TARGET\]"),
        (("{id}", "eng", "{en}"), "Source and target must be in one file, a pair a line"),
    ],
)
def test_unclear_columns_are_refused_unless_chosen(read, forms, fix):
    with pytest.raises(RequestError, match=fix):
        read(of(*forms))
    assert len(read(of(*forms), [0, 1])) == 12


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            [1, 4],
            r"data.columns: expected columns 0 to 3 of .*pairs.tsv, got 4. Columns: 0 numbers",
        ),
        ([-1, 1], r"expected columns 0 to 3 .* got -1"),
        ([0, 2], r"data.columns=\[0,2\], counted from 0, isn't text in both columns. Columns: 0 n"),
        ([1], r"expected two columns, counted from 0, such as \[1,3\], got \[1\]"),
        ([1, 1], r"expected two columns"),
        (["a", 1], r"expected two columns, .* got \[a,1\]"),
        ([True, 3], r"expected two columns"),
    ],
)
def test_impossible_columns_are_refused(read, columns, words):
    with pytest.raises(RequestError, match=words):
        read(of("{id}", "{en}", "5{id}", "{de}"), columns)


def test_lines_with_more_or_fewer_columns_are_refused_with_their_number(read):
    lines = of("{en}", "{de}").splitlines()
    for changed, found in ((f"{lines[6]}\tmore", "3 columns"), ("no tab", "no tab")):
        content = "\n".join(["", *lines[:6], changed, *lines[7:]])
        with pytest.raises(RequestError, match=rf":8: expected a source, .*, got {found}: '"):
            read(content)
    four = of("{id}", "{en}", "5{id}", "{de}").replace("\tWir", " Wir")
    with pytest.raises(RequestError, match=r":3: expected 4 columns as in line 1, got 3 columns"):
        read(four, [1, 3])
    ends = "\n".join([*lines[:6], f"{lines[6]}\t\t", *lines[7:]])
    assert read(ends) == read(f"{lines[0]}\t\n" + "\n".join(lines[1:])) == ROWS
    with pytest.raises(RequestError, match=r":1: .* got no tab"):
        read("one\ntwo\nthree\nfour\n")
    with pytest.raises(RequestError, match=r":7: .* got an empty target"):
        read("\n".join([*lines[:6], "Yes.\t ", *lines[7:]]))


@pytest.mark.parametrize(
    ("header", "forms", "columns"),
    [
        ("source\ttarget", ("{en}", "{de}"), None),
        ("English\tGerman", ("{en}", "{de}"), None),
        ("en\tde", ("{en}", "{de}"), None),
        ("Deutsch\tFrançais", ("{en}", "{de}"), None),
        ("id\tEnglisch\tid2\tDeutsch", ("{id}", "{en}", "5{id}", "{de}"), [1, 3]),
        ("Sentence id\tsentence\ttranslation", ("{id}", "{en}", "{de}"), [1, 2]),
    ],
)
def test_a_line_with_the_names_of_columns_is_left_out_and_counted(read, header, forms, columns):
    assert read(f"{header}\n" + of(*forms), columns) == ROWS
    assert read.corpus.dropped == {"lines with the names of columns": 1}


def test_an_empty_cell_does_not_make_numbers_text(read):
    content = of("{id}", "{en}", "{de}").replace("1006\t", "\t")
    with pytest.raises(RequestError, match=r"0 numbers .* Choose two with data.columns=\[1,2\]"):
        read(content)


def test_few_lines_of_short_words_are_text(read):
    pairs = [("dog", "Hund"), ("cat", "Katze"), ("sun", "Sonne"), ("ox", "Ochse")]
    assert read("".join(f"{en}\t{de}\n" for en, de in pairs)) == pairs
    assert read("1\teins\n2\tzwei\n") == [("1", "eins"), ("2", "zwei")]


def test_two_files_have_no_columns(tmp_path):
    for name in ("en", "de"):
        (tmp_path / name).write_text("1\tone\n2\ttwo\n")
    files = {"source": str(tmp_path / "en"), "target": str(tmp_path / "de")}
    with pytest.raises(RequestError, match="expected one sentence per line, got a tab in each of"):
        ParallelFiles(**files).open(tmp_path)
    with pytest.raises(RequestError, match="data.columns: must be null with two files"):
        ParallelFiles(**files, columns=[0, 1]).open(tmp_path)
