"""Arrays that grow block by block, also after a kill."""

from __future__ import annotations

import os

import numpy as np
import pytest

from attnlab.records.growing_arrays import GrowingArrays


def grown(folder, blocks=3):
    arrays = GrowingArrays(folder, "a")
    for number in range(arrays.blocks, blocks):
        tokens = np.arange(number + 1, dtype=np.uint16)
        arrays.add({"tokens": tokens, "sizes": tokens / 2}, words=number, bytes=10)
    return arrays


def test_blocks_follow_each_other_and_are_found_again(tmp_path):
    for arrays in (grown(tmp_path), GrowingArrays(tmp_path, "a")):
        assert arrays["tokens"].tolist() == [0, 0, 1, 0, 1, 2]
        assert arrays["tokens"].dtype == np.uint16 and arrays["sizes"].dtype == np.float64
        assert arrays.blocks == 3 and dict(arrays.counts) == {"words": 3, "bytes": 30}


def test_empty_blocks_and_no_blocks(tmp_path):
    arrays = GrowingArrays(tmp_path, "a")
    with pytest.raises(KeyError):
        arrays["tokens"]
    arrays.add({"tokens": np.zeros(0, np.uint8)})
    assert GrowingArrays(tmp_path, "a")["tokens"].shape == (0,)


def test_what_follows_the_last_complete_block_is_removed(tmp_path):
    (tmp_path / "whole").mkdir()
    expected = grown(tmp_path / "whole")
    grown(tmp_path, blocks=2)
    with open(tmp_path / "a.tokens", "ab") as file:
        file.write(b"half")
    again = grown(tmp_path)
    for name in ("tokens", "sizes"):
        np.testing.assert_array_equal(again[name], expected[name])


@pytest.mark.parametrize("damage", ["shorter", "missing", "no state", "bad state"])
def test_damaged_files_are_begun_anew(tmp_path, damage):
    grown(tmp_path)
    if damage == "shorter":
        os.truncate(tmp_path / "a.tokens", 3)
    elif damage == "missing":
        (tmp_path / "a.sizes").unlink()
    else:
        (tmp_path / "a.json").write_text("{" if damage == "no state" else "{}")
    arrays = GrowingArrays(tmp_path, "a")
    assert arrays.blocks == 0
    assert grown(tmp_path)["tokens"].tolist() == [0, 0, 1, 0, 1, 2]


def test_reading_changes_no_file(tmp_path):
    grown(tmp_path)
    with open(tmp_path / "a.tokens", "ab") as file:
        file.write(b"more")
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.iterdir()}
    assert GrowingArrays(tmp_path, "a", read_only=True)["tokens"].tolist() == [0, 0, 1, 0, 1, 2]
    after = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.iterdir()}
    assert after == before
