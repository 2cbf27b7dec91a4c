"""Reading a series from a CSV file: what works, and what is refused with which words."""

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_series import read_series
from attnlab.tasks.forecasting.data.time_series import digest


@pytest.fixture
def csv_file(tmp_path):
    def write(content):
        path = tmp_path / "series.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


TABLE = "month,rain,note\n2001-01,5,wet\n2001-02,7,dry\n2001-03,11,dry\n"


@pytest.mark.parametrize("column", ["rain", 2, "2", None])
def test_a_column_by_name_by_number_from_one_or_the_only_one_of_numbers(csv_file, column):
    series = read_series(csv_file(TABLE), column, time_column="month")
    np.testing.assert_array_equal(series.values, [5.0, 7.0, 11.0])
    assert series.times == ["2001-01", "2001-02", "2001-03"]
    assert series.name == "rain"


def test_the_last_column_where_several_are_numbers(csv_file):
    np.testing.assert_array_equal(read_series(csv_file("a,b\n1,2\n3,4\n")).values, [2, 4])


def test_a_name_wins_over_a_number(csv_file):
    path = csv_file("2,1\n3,5\n7,11\n")
    np.testing.assert_array_equal(read_series(path, 2).values, [3, 7])


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfx\r\n2\r\n3\r\n",
        b"x\r2\r3\r",
        b"# made by hand\n\nx\n2\n# between\n3",
        b"2\n3\n",
        b'"x"\n"2"\n 3 \n',
        b"t;x\na;2\nb;3\n",
        "Tag;Größe €\na;2,0\nb;3,0\n".encode("cp1252"),
        "t\tx\r\na\t2,0\r\nb\t3,0\r\n".encode("utf-16"),
        b"t\tx\na\t2\nb\t3\n",
    ],
    ids=[
        "bom_crlf",
        "cr",
        "comments",
        "no_header",
        "quotes",
        "semicolons",
        "cp1252",
        "utf16",
        "tabs",
    ],
)
def test_dialects_that_just_work(csv_file, content):
    series = read_series(csv_file(content))
    np.testing.assert_array_equal(series.values, [2.0, 3.0])
    assert series.times == ["0", "1"]


@pytest.mark.parametrize("cell", ["abc", "nan", "inf", "-inf", "", "1_0", "1e200", "1,5,5"])
def test_a_cell_that_is_no_finite_number_is_named_with_its_row_in_the_file(csv_file, cell):
    path = csv_file(f'# comment\nx\n1\n\n"{cell}"\n2\n')
    with pytest.raises(
        RequestError, match=r"series\.csv: row 5, column 'x': expected a finite"
    ) as e:
        read_series(path, "x")
    assert repr(cell) in str(e.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "got an empty file"),
        (b"\n# nothing\n", "got an empty file"),
        (b"x\n", "got the header \\['x'\\] alone"),
        (b"x\n1\n", "at least 2 rows of numbers, got 1"),
        (b"x\n\0\n", "a zero byte"),
        (b"x\n\x81\n", "expected cp1252 text, got the byte 0x81 in line 2; task.encoding"),
        (b"x\n3,5\n4,5\n", "row 2: expected 1 cells, got 2"),
        (b"t,x\na,1\nb\n", "row 3: expected 2 cells, got 1"),
        (b"x\n" + b"9" * 200_000, "row 2, column 'x': expected a finite number, got '9{60}...'"),
    ],
    ids=["empty", "no_rows", "header", "one", "nul", "bytes", "long", "short", "huge"],
)
def test_files_that_are_refused(csv_file, content, words):
    with pytest.raises(RequestError, match=words):
        read_series(csv_file(content))


@pytest.mark.parametrize("column", ["snow", 0, 4, -1, "²"])
def test_an_absent_column_is_answered_with_the_choices(csv_file, column):
    with pytest.raises(RequestError, match="1 'month', 2 'rain', 3 'note'; got"):
        read_series(csv_file(TABLE), column)


def test_a_file_with_many_columns_lists_only_the_first(csv_file):
    names = ",".join(f"c{number}" for number in range(101))
    with pytest.raises(RequestError, match=r"20 'c19', \.\.\. 101 in all"):
        read_series(csv_file(f"{names}\n{names}\n"), "missing")


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(RequestError, match="expected a CSV or TSV file"):
        read_series(tmp_path / name)


def test_the_digest_follows_the_values_and_their_order():
    one, other = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    assert digest(one) == digest(one.astype(np.int64)) == digest(one[:1], one[1:])
    assert digest(one) != digest(other)
