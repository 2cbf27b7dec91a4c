"""The reader of CSV and TSV files: strict, with line numbers, for any dialect."""

from __future__ import annotations

import pytest

from attnlab.errors import RequestError
from attnlab.tasks.tables import TableFormat, read_table


@pytest.fixture
def read(tmp_path):
    def read(content, encoding=None, **given):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, encoding, TableFormat(**given))

    return read


ROWS = [["1", "a"], ["2", "b"]]


@pytest.mark.parametrize(
    "content",
    [
        "n,t\n1,a\n2,b\n",
        "n;t\r\n1;a\r\n2;b",
        "n\tt\r1\ta\r2\tb\r",
        "n|t\n1|a\n2|b\n",
        "sep=;\nn;t\n1;a\n2;b\n",
        '"sep=\t"\nn\tt\n1\ta\n2\tb\n',
        b"\xef\xbb\xbfsep=;\r\nn;t\r\n1;a\r\n2;b\r\n",
        "sep=;\nn;t\n1;a\n2;b\n".encode("utf-16"),
        "n,t,,\n1,a,,\n2,b,,\n,,,\n,,,\n",
        "n,t\n1,a,,\n\n2,b,,\n",
        'n,t\n"1",a\n2,"b"\n',
        "n,t\n1,a\n2,b\n;;\n".replace(";;", ","),
        'n, "t"\n1,  "a"\n"2", "b"\n',
    ],
)
def test_dialects_of_one_table(read, content):
    table = read(content)
    assert table.header == ["n", "t"]
    assert [row.cells for row in table.rows] == ROWS


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("t;x\n01.01.2024;100,5\n02.01.2024;106,25\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("a,b\nx;y,1\nz;w,2\n", ","),
        ("so, so;pos\nbad;neg\n", ";"),
        ("x\n1\n2\n", ","),
        ("a,b\n1,2\n1\n", ","),
    ],
)
def test_the_separator_gives_rows_of_equally_many_cells(tmp_path, content, separator):
    path = tmp_path / "t.csv"
    path.write_text(content)
    try:
        assert read_table(path, None, TableFormat()).separator == separator
    except RequestError as error:
        assert "row 3: expected 2 cells, got 1" in str(error) and separator == ","


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_ends_end_a_line(read, mark):
    table = read(f"n,t\n1,a{mark}b\n2,b\n")
    assert [row.cells[1] for row in table.rows] == [f"a{mark}b", "b"]
    assert table.lines == [2, 3]


def test_a_comment_is_a_line_where_a_row_would_start(read):
    content = '# made by hand\nn,t\n#,"open\n1,"a\n# b, c\nd"\n# end\n2,b\n'
    table = read(content, comments=True)
    assert [row.cells for row in table.rows] == [["1", "a\n# b, c\nd"], ["2", "b"]]
    assert table.lines == [4, 8]
    assert read("n\n# 1\n").rows[0].cells == ["# 1"]


def test_blank_rows_between_others_are_named(read):
    table = read("n,t\n1,a\n,\n\n2,b\n , \n")
    assert ([row.cells for row in table.rows], table.blank) == (ROWS, (3,))
    assert [row.cells for row in read('n\n1\n\n""\n2\n').rows] == [["1"], [""], ["2"]]


DAYS = [f"2024-01-{day:02d},{day},ok" for day in range(1, 10)]


def days(changed: dict[int, str]) -> str:
    """Rows of a date, a number and a note, whose notes are others in some of them."""
    rows = [row.replace("ok", changed.get(at, "ok")) for at, row in enumerate(DAYS)]
    return "\n".join(["date,value,note", *rows, ""])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (days({2: '"open'}), 'row 4: a cell starts with " and no later line has the closing'),
        (days({8: '"open'}), "row 10: a cell starts"),
        (days({2: '"open', 6: '"fine"'}), "row 4: expected ',' or the end .* in line 8, got more"),
        (days({2: '"open', 6: '"'}), "row 4: a quoted cell contains whole rows"),
        (days({2: '"open', 3: '"'}), "row 4: a quoted cell contains whole rows"),
        (
            days({2: '"a" b'}),
            "row 4: expected ',' or the end of the row after a closing quote, got",
        ),
        (days({2: "a,b"}), "row 4: expected 3 cells, got 4"),
        (days({2: "a\nb"}), "row 5: expected 3 cells, got 1"),
        (days({8: "ok\nSource: the office"}), "row 11: expected 3 cells, got 1"),
        ("n;t\n1;a\n2\n", "row 3: expected 2 cells, got 1"),
    ],
)
def test_no_row_disappears(read, content, words):
    with pytest.raises(RequestError, match=rf"t\.csv: {words}"):
        read(content)


def test_lines_in_a_quoted_cell_may_not_look_like_rows_of_numbers(read):
    note = '"first\n# second, third, 3\n2024, 5 and\nx,y,z"'
    assert read(days({2: note})).rows[2].cells[2] == note.strip('"')


def test_quotes_after_a_space_are_csv_quotes_or_literal(read):
    assert read('n, t\n1, "a, b"\n2, "c"\n').rows[0].cells == ["1", "a, b"]
    assert read('n, t\n1, "a" b\n2, "c"\n').rows[0].cells == ["1", ' "a" b']


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"PK\x03\x04\x14\x00\xff", "a workbook"),
        (b'{"text": "a"}\n', "JSON"),
        (b'\xef\xbb\xbf [{"text": 1}]', "JSON"),
        (b"PAR1\x15", "a workbook"),
    ],
)
def test_other_kinds_of_files_are_named(read, content, found):
    with pytest.raises(
        RequestError, match=f"CSV or TSV file, got {found}.*: save its table as CSV"
    ):
        read(content)


def test_a_name_of_several_columns_is_refused(read):
    table = read("a,b,a\n1,2,3\n")
    assert table.find("b") == 1
    with pytest.raises(
        RequestError, match=r"^k: 2 columns of .* are named 'a' \(columns 1, 3\): give"
    ):
        table.find("a", "k")


def test_the_encoding_of_files_that_are_not_utf8(read):
    content = "n,t\n1,Größe\n".encode("cp1252")
    assert read(content, otherwise="cp1252").rows[0].cells[1] == "Größe"
    with pytest.raises(RequestError, match="UTF-8 text, got the byte 0xf6 in line 2; key names"):
        read(content, encoding_key="key")
