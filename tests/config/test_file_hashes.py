"""The content of the user's files is part of a configuration."""

from __future__ import annotations

import os

from attnlab.config.sections import file_hash


def test_a_file_is_its_content(compose, tmp_path, monkeypatch):
    """The same command in another folder may mean other data, a copy of the data is the same."""
    digests = {}
    for name, values in {"a": range(99), "b": range(1, 100), "c": range(99)}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "my.csv").write_text("\n".join(["v", *map(str, values)]))
        monkeypatch.chdir(tmp_path / name)
        config = compose("task=series", "attention=none", "task.column=v", "task.path=my.csv")
        assert list(config.file_hashes) == ["task.path"]
        digests[name] = config.digest
    assert digests["a"] == digests["c"] != digests["b"]


def test_a_folder_is_the_files_below_it(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("1", "2"):
        (tmp_path / "a" / f"{name}.txt").write_text("one")
    hashes = [file_hash(str(tmp_path))]
    (tmp_path / ".hidden").write_text("no text")
    assert file_hash(str(tmp_path)) == hashes[0]
    for change in (
        lambda: (tmp_path / "a" / "2.txt").write_text("three"),
        lambda: (tmp_path / "a" / "3.txt").write_text("one"),
        lambda: (tmp_path / "a" / "1.txt").rename(tmp_path / "b.txt"),
        lambda: (tmp_path / "b.txt").unlink(),
    ):
        change()
        hashes.append(file_hash(str(tmp_path)))
    assert len({*hashes}) == len(hashes)


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
    for path in (tmp_path / "pipe", tmp_path / "nowhere", "~nobody_at_all/x", "a\0b"):
        assert file_hash(str(path)) is None
