"""history.csv keeps whole rows, whatever happens to the process or the disk."""

from __future__ import annotations

import math
import os

import pytest

from attnlab.errors import RequestError
from attnlab.records.history import History

ROW = {"epoch": 1, "train_loss": 0.1, "val_loss": 1 / 3}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.csv"


def test_rows_come_back_exactly(path):
    history = History(path)
    history.append(ROW)
    history.append({"val_loss": math.inf, "train_loss": math.nan, "epoch": 2})
    read = history.read()
    assert list(read) == list(ROW)
    assert read["epoch"] == [1, 2]
    assert type(read["epoch"][0]) is int
    assert read["val_loss"] == [1 / 3, math.inf]
    assert math.isnan(read["train_loss"][1])


def test_no_file_is_no_history(path):
    assert History(path).read() == {}


@pytest.mark.parametrize("cut", range(1, 12))
def test_torn_last_row_is_left_out_and_mended(path, cut):
    history = History(path)
    for epoch in (1, 2, 3):
        history.append({"epoch": epoch, "train_loss": 0.123456789})
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert history.read()["epoch"] == [1, 2]
    History(path).append({"epoch": 3, "train_loss": 0.123456789})
    assert path.read_bytes() == whole


def test_torn_header_is_written_anew(path):
    path.write_text("epoch,tra")
    assert History(path).read() == {}
    History(path).append(ROW)
    assert History(path).read()["epoch"] == [1]


def test_other_columns_are_refused(path):
    history = History(path)
    history.append(ROW)
    with pytest.raises(ValueError, match="expected columns"):
        history.append({"epoch": 2})
    assert history.read()["epoch"] == [1]


def test_replace_keeps_the_given_rows_alone(path):
    history = History(path)
    for epoch in (1, 2, 3):
        history.append({**ROW, "epoch": epoch})
    history.replace([{**ROW, "epoch": 1}])
    history.append({**ROW, "epoch": 2})
    assert history.read()["epoch"] == [1, 2]


@pytest.mark.parametrize("content", ["epoch,loss\n1\n", "epoch,loss\n1,x\n", "epoch\n\xff\n"])
def test_damage_is_a_request_error(path, content):
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(RequestError, match=r"history\.csv: damaged"):
        History(path).read()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_an_error_and_no_half_row(path):
    path.symlink_to("/dev/full")
    history = History(path)
    history._columns = ["epoch"]
    with pytest.raises(OSError, match="No space left"):
        history.append({"epoch": 1})


def test_short_write_on_a_full_disk_is_taken_back(path, monkeypatch):
    history = History(path)
    history.append({"epoch": 1})
    before = path.read_bytes()

    def opened(*arguments, **options):
        stream = open(*arguments, **options)

        class Full:
            tell, truncate = stream.tell, stream.truncate

            def write(self, data):
                return stream.write(data[:1])

            def __enter__(self):
                return self

            def __exit__(self, *error):
                stream.close()

        return Full()

    monkeypatch.setattr("attnlab.records.history.open", opened, raising=False)
    with pytest.raises(OSError, match="No space left"):
        history.append({"epoch": 2})
    assert path.read_bytes() == before
