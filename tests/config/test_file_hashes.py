"""The content of the user's files is part of a configuration."""

from __future__ import annotations

import os

import pytest

from attnlab.config.sections import file_hash

SERIES = ("task=series", "attention=none", "task.column=v")


def write(path, values):
    path.write_text("\n".join(["v", *map(str, values)]))
    return path


def test_a_file_is_its_content(compose, tmp_path, monkeypatch):
    """The same command in another folder may mean other data, a copy of the data is the same."""
    digests = {}
    for name, values in {"a": range(99), "b": range(1, 100), "c": range(99)}.items():
        (tmp_path / name).mkdir()
        monkeypatch.chdir(write(tmp_path / name / "my.csv", values).parent)
        digests[name] = compose(*SERIES, "task.path=my.csv").digest
    assert digests["a"] == digests["c"] != digests["b"]


def test_a_file_that_has_changed_is_another(compose, tmp_path):
    path = write(tmp_path / "my.csv", range(99))
    before = compose(*SERIES, f"task.path={path}")
    assert list(before.file_hashes) == ["task.path"]
    os.utime(path, ns=(1, 1))
    assert compose(*SERIES, f"task.path={path}").digest == before.digest
    write(path, range(1, 100))
    assert compose(*SERIES, f"task.path={path}").digest != before.digest


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a" / "2.txt").write_text("three"),
        lambda folder: (folder / "a" / "3.txt").write_text("one"),
        lambda folder: (folder / "a" / "1.txt").unlink(),
        lambda folder: (folder / "a" / "1.txt").rename(folder / "b.txt"),
    ],
)
def test_a_folder_is_the_files_below_it(tmp_path, change):
    (tmp_path / "a").mkdir()
    for name in ("1", "2"):
        (tmp_path / "a" / f"{name}.txt").write_text("one")
    before = file_hash(str(tmp_path))
    assert file_hash(str(tmp_path)) == before
    (tmp_path / ".hidden").write_text("no text")
    assert file_hash(str(tmp_path)) == before
    change(tmp_path)
    assert file_hash(str(tmp_path)) != before


def test_a_run_is_hashed_by_its_weights_and_a_sweep_is_not_hashed(tmp_path):
    """A longer trained encoder is another one; MLflow's id in its status doesn't count."""
    (tmp_path / "weights").mkdir()
    for name in ("status.json", "weights/epoch_001.weights.h5"):
        (tmp_path / name).write_text("one")
    before = file_hash(str(tmp_path))
    (tmp_path / "status.json").write_text("another")
    (tmp_path / "report.html").write_text("new")
    assert file_hash(str(tmp_path)) == before
    (tmp_path / "weights/epoch_002.weights.h5").write_text("two")
    assert file_hash(str(tmp_path)) != before
    (tmp_path / "sweep.json").write_text("{}")
    assert file_hash(str(tmp_path)) is None


def test_pipes_and_missing_files_are_not_hashed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert file_hash(str(tmp_path / "pipe")) is None
    assert file_hash(str(tmp_path / "nowhere")) is None
    assert file_hash("~nobody_at_all/x") is None
    assert file_hash("a\0b") is None
