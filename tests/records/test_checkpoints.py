"""Complete checkpoints are read back exactly; damaged ones are noticed."""

import logging
import math

import numpy as np
import pytest

from attnlab.records.files import Checkpoints

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(7, np.int64),
    np.array([], np.uint32),
    np.array([np.nan, np.inf, -0.0]),
]


def saved(folder, *steps):
    checkpoints = Checkpoints(folder)
    for step in steps:
        checkpoints.save(step, {"at": step, "nan": math.nan}, [*ARRAYS, np.array([step])])
    return checkpoints


def test_a_loaded_checkpoint_equals_the_saved_one(tmp_path):
    state, arrays = saved(tmp_path, 3).newest()
    assert state["at"] == 3 and math.isnan(state["nan"]) and "arrays" not in state
    for array, expected in zip(arrays, [*ARRAYS, np.array([3])], strict=True):
        assert array.dtype == expected.dtype and array.shape == expected.shape
        assert array.tobytes() == expected.tobytes()


def test_the_two_with_the_most_steps_are_stored(tmp_path):
    assert Checkpoints(tmp_path / "missing").newest() is None
    checkpoints = saved(tmp_path, 9, 10, 101)
    assert checkpoints.newest().state["at"] == 101
    assert len(list(tmp_path.iterdir())) == 2
    checkpoints.save(101, {"at": "again"}, [])
    assert checkpoints.newest() == ({"at": "again"}, [])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    ],
)
def test_a_damaged_one_is_named_and_the_one_before_it_used(tmp_path, caplog, damage):
    checkpoints = saved(tmp_path, 1, 2)
    newest = tmp_path / "step_000000002.ckpt"
    newest.write_bytes(damage(newest.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert checkpoints.newest().state["at"] == 1
    assert str(newest) in caplog.text and len(caplog.records) == 1
    assert (tmp_path / f"damaged_{newest.name}").exists() and not newest.exists()
    (tmp_path / "step_000000001.ckpt").write_bytes(b"")
    assert checkpoints.newest() is None
