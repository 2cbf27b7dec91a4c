"""Read series from a CSV file in its declared form; anything else is refused in one sentence."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.data.readers import read_rows
from attnlab.tasks.forecasting.steps import find_step, time_labels
from attnlab.tasks.forecasting.time_series import TimeSeries

if TYPE_CHECKING:
    import pandas as pd

FIRST = "first"  # the first column, if there are others
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_ISO = re.compile(
    r"\d{4}(-\d\d)?|\d{8}|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII
)


@dataclass(kw_only=True, eq=False)
class Form:
    """The declared form of a file; see the settings of conf/task/series.yaml."""

    column: str | int | None = None
    inputs: Any = None  # names or positions
    time_column: str | int | None = FIRST
    time_format: str | None = None
    id_column: str | int | None = None
    separator: str = "comma"
    decimal: str = "point"


class Panel(NamedTuple):
    """The series of a file, in the order in which the file names them."""

    series: list[TimeSeries]
    name: str  # of the column of values
    notes: list[str]  # what was done to the rows, in sentences


def read_panel(path: str | Path, form: Form, key: str = "task.path") -> Panel:
    """Read a column of a CSV file as one series, or as a series per id.

    The first row has the names of the columns. Times are ISO 8601, or `form.time_format`. Rows
    are sorted by time and must be equally spaced. A file of one column, and one whose
    `time_column` is None, is in order of time.

    Args:
        path: the file, in UTF-8, plain or gzipped.
        form: its form.
        key: the setting that names the file, for messages.

    Raises:
        RequestError: the file has another form; the message names the line, the cell and the
            setting.
    """
    import pandas as pd

    path = Path(path).expanduser()
    hint = f" (task.separator={form.separator})"
    (header, *rows), lines = read_rows(path, key, _SEPARATORS[form.separator], hint)
    if not rows:
        raise RequestError(f"{key}: {path}: expected rows of numbers, got only a header.")
    notes = []
    try:
        for number, line in enumerate(lines, 1):
            if line != number:
                raise _Problem(
                    number, "expected a row, got an empty line or a line break in a cell"
                )
        header = [name.strip() for name in header]
        places = _find_columns(header, form)
        table = pd.DataFrame(rows, lines[1:]).map(str.strip).set_axis(header, axis=1)
        columns = {setting: table.iloc[:, at] for setting, at in places.items()}
        values = pd.concat([columns["column"], columns["inputs"]], axis=1)
        numbers = np.column_stack([_numbers(column, form) for _, column in values.items()])
        times = None
        if places["time_column"]:
            times = _times(columns["time_column"].iloc[:, 0], form)
        ids = pd.Series("", table.index)
        if places["id_column"]:
            ids = columns["id_column"].iloc[:, 0]
            if (ids == "").any():
                raise _Problem(ids.index[(ids == "").argmax()], "task.id_column: expected an id")
        series = []
        for name, at in ids.groupby(ids, sort=False).indices.items():
            labels, step = [*map(str, range(len(at)))], None
            if times is not None:
                at = at[np.argsort(times.to_numpy()[at], kind="stable")]
                if np.any(np.diff(at) < 0):
                    notes.append(f"{path}: the rows are not in order of time, so they were sorted.")
                labels, step = _labels(times.iloc[at])
            series.append(TimeSeries(numbers[at], (), labels, step, str(name)))
    except _Problem as problem:
        line, text = problem.args
        raise RequestError(f"{key}: {path}, line {line}: {text}.") from None
    if times is None:
        notes.append(
            f"{path} is read without times (task.time_column): the order of the rows is taken as "
            "that of time, oldest first."
        )
    (place,) = places["column"]
    return Panel(series, header[place] or f"column {place + 1}", [*dict.fromkeys(notes)])


class _Problem(Exception):
    """The number of a line, and what is wrong with it."""


def _find_columns(header: list[str], form: Form) -> dict[str, list[int]]:
    """Return setting -> places of its columns."""
    is_alone = form.time_column == FIRST and len(header) == 1
    settings = {
        "time_column": [] if form.time_column is None or is_alone else [form.time_column],
        "id_column": [] if form.id_column is None else [form.id_column],
        "inputs": form.inputs or [],
        "column": [form.column],  # None: the only one without another use
    }
    places: dict[str, list[int]] = {setting: [] for setting in settings}
    for setting, columns in settings.items():
        for column in columns:
            unused = [at for at in range(len(header)) if at not in sum(places.values(), [])]
            matches = unused
            if str(column) in header:
                matches = [at for at in unused if header[at] == str(column)]
            elif column is not None:
                position = "1" if column == FIRST else str(column)
                matches = [at for at in unused if str(at + 1) == position]
            if len(matches) != 1:
                names = ", ".join(f"{at} {name!r}" for at, name in enumerate(header[:20], 1))
                raise _Problem(
                    1,
                    f"task.{setting}: expected one column that no other setting uses, got "
                    f"{column!r}; by position and name: {names}",
                )
            name = header[matches[0]]
            if name != str(column) and (_ISO.fullmatch(name) or _NUMBER.fullmatch(name)):
                raise _Problem(1, f"task.{setting}: expected the names of the columns, got {name}")
            places[setting].append(matches[0])
    return places


def _numbers(cells: pd.Series, form: Form) -> list[float]:
    numbers = []
    for line, cell in cells.items():
        text = cell.replace(".", "_").replace(",", ".") if form.decimal == "comma" else cell
        if not _NUMBER.fullmatch(text) or math.isinf(float(text)):
            raise _Problem(
                line,
                f"expected a number with a decimal {form.decimal} in column {cells.name!r}, got "
                f"{cell!r} (task.column, task.inputs, task.decimal={form.decimal})",
            )
        numbers.append(float(text))
    return numbers


def _times(cells: pd.Series, form: Form) -> pd.Series:
    import pandas as pd

    strptime = form.time_format
    if strptime is not None and ("%Y" not in strptime or "%z" in strptime):
        raise RequestError(
            "task.time_format: expected a format of strptime with a year of four digits and "
            f"without %z, such as '%d/%m/%Y %H:%M' or '%m/%d/%Y %I:%M %p', got {strptime!r}."
        )
    texts = cells if strptime else cells.where(cells.map(lambda cell: bool(_ISO.fullmatch(cell))))
    try:
        times = pd.to_datetime(texts, format=strptime or "ISO8601", errors="coerce")
    except ValueError as error:
        raise RequestError(f"task.time_format: {strptime!r}: {error}.") from error
    if times.isna().any():
        line = times.index[times.isna().argmax()]
        raise _Problem(
            line,
            f"task.time_column: expected a time in column {cells.name!r} as "
            f"{strptime or 'ISO 8601, such as 2020-07 or 2020-07-31 14:00'}, got {cells[line]!r}; "
            "task.time_format gives another format",
        )
    return times.astype("M8[us]")


def _labels(times: pd.Series) -> tuple[list[str], str | None]:
    """Return the labels of sorted times, and the step between them."""
    import pandas as pd

    lines, times = times.index, pd.DatetimeIndex(times)
    if times.has_duplicates:
        at = int(times.duplicated().argmax())
        raise _Problem(
            lines[at],
            f"task.time_column: expected each time once, got {times[at]} as in line "
            f"{lines[at - 1]}; task.id_column names the series of each row",
        )
    if len(times) < 3:  # too few to find a step, and to learn anything
        return [*map(str, times)], None
    step = find_step(times)
    if step is None:
        at = int((times[1:] - times[:-1]).argmax()) + 1
        raise _Problem(
            lines[at],
            "task.time_column: expected equally spaced times without missing rows; the longest gap "
            f"is from {times[at - 1]} to {times[at]}",
        )
    return time_labels(times, step), step
