"""A file is always the old or the new version, and values are read back exactly."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.files import History


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_keeps_the_old_file(tmp_path, error):
    path = tmp_path / "metrics.json"
    path.write_text("old")
    with pytest.raises(type(error)), files.replacing(path) as temporary:
        temporary.write_text("half")
        assert path.read_text() == "old"  # as a kill would leave it
        raise error
    assert os.listdir(tmp_path) == ["metrics.json"]
    assert path.read_text() == "old"


def test_json_has_null_for_nan_and_plain_numbers_for_numpy(tmp_path):
    data = {
        "nan": float("nan"),
        "infinities": (np.inf, -np.inf),
        "scalar": np.float32(0.5),
        "array": np.array([1.0, np.nan]),
        "path": tmp_path,
        3: {"deep": [np.int64(7)]},
    }
    files.write_json(tmp_path / "a.json", data)
    assert json.loads((tmp_path / "a.json").read_text()) == {
        "nan": None,
        "infinities": [None, None],
        "scalar": 0.5,
        "array": [1.0, None],
        "path": str(tmp_path),
        "3": {"deep": [7]},
    }


def test_table_reads_back_to_the_same_values(tmp_path):
    columns = {
        "index": np.array([3, 1, 2]),
        "large": [10**20, 1, 2],
        "time": ["1749", "a, b", 'quo"te'],
        "text": ["x" * 200_000, "a\rb\nc\r\nd", "\x0b\x85\u2028"],
        "double": np.array([0.1, 1 / 3, np.nan]),
        "single": np.array([0.1, 1e-30, 16777217], dtype=np.float32),
    }
    for rows in (3, 0):
        table = {name: column[:rows] for name, column in columns.items()}
        files.write_table(tmp_path / "p.csv", table)
        table_again = files.read_table(tmp_path / "p.csv", text=("time", "text"))
        assert list(table_again) == list(table)
        assert table_again["index"].dtype == np.int64
        for name, column in table.items():
            if name == "single":
                table_again[name] = table_again[name].astype(np.float32)
            np.testing.assert_array_equal(table_again[name], column)


def test_a_damaged_file_is_named(tmp_path):
    readers = {"p.csv": files.read_table, "m.json": files.read_json, "history.csv": read_history}
    for name, content in (
        *(("p.csv", content) for content in ("a,b\n1\n", "", "a,b\n1,2,3\n")),
        *(("m.json", content) for content in ("{", "[1]")),
        *(("history.csv", f"epoch{content}\n") for content in (",loss\n1", ",loss\n1,x", "\n\xff")),
    ):
        (tmp_path / name).write_bytes(content.encode("latin-1"))
        with pytest.raises(RequestError, match=f"{name}: damaged"):
            readers[name](tmp_path / name)
    with pytest.raises(RequestError, match=r"gone\.json: missing"):
        files.read_json(tmp_path / "gone.json")


def read_history(path):
    return History(path).read()


# history.csv keeps whole rows, whatever happens to the process or the disk.

ROW = {"epoch": 1, "train_loss": 0.1, "val_loss": 1 / 3}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.csv"


def test_rows_are_read_back_exactly(path):
    history = History(path)
    assert history.read() == {}
    history.append(ROW)
    history.append({"val_loss": math.inf, "train_loss": math.nan, "epoch": 2})
    columns = history.read()
    assert list(columns) == list(ROW)
    assert columns["epoch"] == [1, 2]
    assert type(columns["epoch"][0]) is int
    assert columns["val_loss"] == [1 / 3, math.inf]
    assert math.isnan(columns["train_loss"][1])


def test_other_columns_are_refused(path):
    history = History(path)
    history.append(ROW)
    with pytest.raises(ValueError, match="expected columns"):
        history.append({"epoch": 2})
    assert history.read()["epoch"] == [1]


def test_replace_stores_only_the_given_rows(path):
    history = History(path)
    for epoch in (1, 2, 3):
        history.append({**ROW, "epoch": epoch})
    history.replace([{**ROW, "epoch": 1}])
    history.append({**ROW, "epoch": 2})
    assert history.read()["epoch"] == [1, 2]
