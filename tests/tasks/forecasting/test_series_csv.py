"""Reading a series from a CSV file: supported dialects, and messages for refused files."""

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.csv_series import read_series
from attnlab.tasks.forecasting.data.reading.rows import Reading
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
def test_a_cell_that_isnt_a_finite_number_is_named_with_its_row(csv_file, cell):
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
        (b"x\n", "got only the header \\['x'\\]"),
        (b"x\n1\n", "at least 2 rows of numbers, got 1"),
        (b"x\n\0\n", "a zero byte"),
        (b"x\n\x81\n", "expected cp1252 text, got the byte 0x81 in line 2; task.encoding"),
        (b"x\n3,5\n4,5\n", "row 2: expected 1 cells, got 2"),
        (b"t,x\na,1\nb\n", "row 3: expected 2 cells, got 1"),
        (b"x\n" + b"9" * 200_000, "row 2, column 'x': expected a finite number, got '9{60}...'"),
    ],
    ids=["empty", "no_rows", "header", "one", "nul", "bytes", "long", "short", "huge"],
)
def test_unusable_files_are_refused(csv_file, content, words):
    with pytest.raises(RequestError, match=words):
        read_series(csv_file(content))


@pytest.mark.parametrize("column", ["snow", 0, 4, -1, "²"])
def test_an_absent_column_is_answered_with_the_choices(csv_file, column):
    with pytest.raises(RequestError, match="no column .*: 1 'month', 2 'rain', 3 'note'"):
        read_series(csv_file(TABLE), column)


def test_a_file_with_many_columns_lists_only_the_first(csv_file):
    names = ",".join(f"c{number}" for number in range(101))
    with pytest.raises(RequestError, match=r"20 'c19', \.\.\. 101 in all"):
        read_series(csv_file(f"{names}\n{names}\n"), "missing")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.csv", r"/missing\.csv: there is no such file\.$"),
        (".", "can't be read: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, reason):
    with pytest.raises(RequestError, match=reason):
        read_series(tmp_path / name)


def test_the_digest_follows_the_values_and_their_order():
    one, other = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    assert digest(one) == digest(one.astype(np.int64)) == digest(one[:1], one[1:])
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["5%", "-0.5%"], [5, -0.5]),
        (["$1.50", "-$2.50"], [1.5, -2.5]),
        (["1.000,25 €", "999,75 €"], [1000.25, 999.75]),
        (["−1", "2"], [-1, 2]),
    ],
)
def test_currency_and_percent_signs_are_removed(csv_file, cells, values):
    assert read_series(
        csv_file("\n".join(["x;y", *(f"{c};a" for c in cells)]))
    ).values.tolist() == (values)


@pytest.mark.parametrize("cells", [["1.000 €", "1.001 €"], ["5%", "0.05"]])
def test_numbers_that_signs_leave_open_are_refused(csv_file, cells):
    with pytest.raises(RequestError, match=r"task\.decimal|row 3, .* with %, as in other rows"):
        read_series(csv_file("\n".join(["x;y", *(f"{cell};a" for cell in cells)])))


@pytest.mark.parametrize("mark", ["-999", "-9999.0", "-99.99", "1e20"])
def test_a_number_can_mark_missing_values(csv_file, mark):
    path = csv_file(f"x\n1\n2\n{mark}\n4\n")
    with pytest.raises(RequestError, match=f"row 4, .*{mark} is far .* task.missing=interpolate"):
        read_series(path)
    filled = read_series(path, reading=Reading(missing="interpolate"))
    assert filled.values.tolist() == [1, 2, 3, 4] and filled.filled.tolist() == [0, 0, 1, 0]
    assert read_series(csv_file("x\n-998\n-999\n-1000\n")).values.tolist() == [-998, -999, -1000]


def test_a_repeated_negative_mark_among_numbers_from_0_is_a_missing_number(csv_file):
    path = csv_file("x\n900\n-200\n3\n-200\n1400\n")
    with pytest.raises(RequestError, match=r"row 3, .*-200 .* task\.missing=interpolate"):
        read_series(path)
    for content in ("x\n900\n-200\n3\n", "x\n-1\n-200\n3\n-200\n900\n"):
        assert -200 in read_series(csv_file(content)).values


def test_a_last_row_that_is_the_sum_of_the_others_is_refused_unless_it_has_a_time(csv_file):
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    total = "\n".join(map(str, ["x", *values, sum(values)]))
    with pytest.raises(RequestError, match="row 12, column 'x': the value is the sum of all"):
        read_series(csv_file(total), time_column="auto")
    dated = [f"2020-{month:02d},{x}" for month, x in enumerate([*values, sum(values)], 1)]
    assert len(read_series(csv_file("\n".join(["t,x", *dated])), time_column="t").values) == 11
    doubled = "\n".join(map(str, ["x", 1, *(2**power for power in range(12))]))
    assert len(read_series(csv_file(doubled), time_column="auto").values) == 13


def test_numbers_that_double_precision_makes_one_are_refused(csv_file):
    path = csv_file("x\n" + "\n".join(str(2**60 + step) for step in range(20)))
    with pytest.raises(RequestError, match="has steps of 256 at their size: subtract a constant"):
        read_series(path)
    assert read_series(csv_file("x\n1e20\n5e20\n2e20\n")).values.tolist() == [1e20, 5e20, 2e20]


def test_a_note_names_a_column_whose_labels_follow_each_other_in_time(csv_file):
    rows = [f"2020-{m:02d},2020,{'ab'[m > 6]},{m}" for m in range(1, 13)]
    notes = read_series(csv_file("\n".join(["t,y,shop,x", *rows])), time_column="auto").notes
    assert any("'shop' has 2 labels, one after the other" in note for note in notes)
    assert not any("'y' has" in note for note in notes)


@pytest.mark.parametrize(
    "content",
    [
        "year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\n"
        + "2000,1,2,3,4,5,6,7,8,9,8,7,6\n" * 3,
        "Year,Q1,Q2,Q3,Q4\n2000,1,2,3,4\n2001,1,2,3,4\n",
        "name,code,1960,1961,1962,1963\na,b,1,2,3,4\nc,d,1,2,3,4\n",
        "year,1,2,3,4,5,6,7,8,9,10,11,12\n" + "2000,1,2,3,4,5,6,7,8,9,8,7,6\n" * 3,
        "date,2020-01-01,2020-01-02,2020-01-03\nx,1,2,3\ny,4,5,6\n",
        "item," + ",".join(f"d_{day}" for day in range(1, 25)) + "\na" + ",1" * 24 + "\n",
    ],
    ids=["months", "quarters", "years", "numbers", "days", "numbered"],
)
def test_times_in_the_names_of_columns_are_refused(csv_file, content):
    with pytest.raises(RequestError, match=r"look like times, but .* task\.column"):
        read_series(csv_file(content), time_column="auto")
    last = csv_file("date,x1,x2,x3\n2020-01,1,2,3\n2020-02,4,5,6\n")
    assert read_series(last, time_column="auto").values.tolist() == [3, 6]


def test_a_first_row_with_a_missing_number_is_not_a_header(csv_file):
    path = csv_file("2019-12-01,NA\n2019-12-02,2\n2019-12-03,3\n")
    with pytest.raises(RequestError, match=r"row 1, .*got 'NA'; task.missing"):
        read_series(path, time_column="auto")


def test_a_note_says_which_of_several_columns_are_read(csv_file):
    rows = "".join(f"2020-{m + 1:02d}-15,2020-{m:02d}-01,{m},{m}\n" for m in range(1, 10))
    path = csv_file(f"release_date,date,open,volume\n{rows}")
    default, dates = read_series(path, time_column="auto").notes
    assert default.startswith("The column 'volume' is forecast, the last of 2 columns of numbers; ")
    assert dates.startswith("Times are read from 'release_date', not from 'date'; task.time_column")
    assert read_series(path, "open", "date").notes == ()


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1"])
def test_a_workbook_is_refused(csv_file, start):
    with pytest.raises(
        RequestError, match="got a workbook, an archive or .*: save its table as CSV"
    ):
        read_series(csv_file(start + b"\0" * 9))


@pytest.mark.parametrize("separator", [" ", "   ", ":", "^"])
def test_an_unknown_separator_is_named(csv_file, separator):
    with pytest.raises(
        RequestError, match="separate the cells of a row by a tab, comma, semicolon"
    ):
        read_series(csv_file(f"date{separator}x\n2020-01-01{separator}5\n2020-01-02{separator}6\n"))
