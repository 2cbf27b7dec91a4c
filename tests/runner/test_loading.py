"""The choice of epochs whose weights are loaded."""

from __future__ import annotations

import pytest
from run_folders import add_epoch, write_run

from attnlab.errors import RequestError
from attnlab.runner.loading import choose_epochs
from attnlab.runner.train import load_weights


@pytest.fixture
def run(tmp_path):
    """Four epochs of a translator."""
    run = write_run(tmp_path, task="translate")
    add_epoch(run, 4)
    return run


def test_the_chosen_epochs(run):
    assert choose_epochs(run, "best") == [2] and choose_epochs(run, "best", 2) == [1, 2]
    assert choose_epochs(run, "last", 3) == choose_epochs(run, "4", 3) == [2, 3, 4]
    assert choose_epochs(run, "last", 4) == [1, 2, 3, 4]
    for words, message in (
        (("5",), "--epoch: expected best, last or one of the saved epochs 1 to 4, got 5"),
        (("x",), "--epoch: expected best, last or one of"),
        (("0",), "--epoch: expected best, last or one of"),
        (("last", 5), "--average: expected at most 4, the number of epochs"),
        (("best", 3), "--average: expected at most 2, the number of epochs"),
    ):
        with pytest.raises(RequestError, match=message):
            choose_epochs(run, *words)


def test_missing_weights_or_metrics_are_named(run):
    run.weights_path(2).unlink()
    for words in (("best",), ("2",), ("last", 3)):
        with pytest.raises(RequestError, match="weights of epoch 2 are missing"):
            choose_epochs(run, *words)
    assert choose_epochs(run, "last") == [4] and choose_epochs(run, "last", 2) == [3, 4]
    run.weights_path(4).unlink()
    with pytest.raises(RequestError, match="of epoch 4 are missing"):
        choose_epochs(run, "last")
    (run.path / "metrics.json").unlink()
    with pytest.raises(RequestError, match="metrics.json"):
        choose_epochs(run, "best")


def test_weights_are_averaged_in_float64(tmp_path):
    """Vaswani et al. 2017, section 6.1; exact for values whose float32 sum would round."""
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    paths = [tmp_path / f"{number}.weights.h5" for number in range(7)]
    values = np.random.default_rng(7).normal(size=(7, 2, 3)).astype(np.float32)
    for path, kernel in zip(paths, values, strict=True):
        model.set_weights([kernel, np.zeros(3, np.float32)])
        model.save_weights(path)
    load_weights(model, paths, "weights")
    mean = values.mean(axis=0, dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(model.get_weights()[0], mean)
    load_weights(model, paths[:1], "weights")
    np.testing.assert_array_equal(model.get_weights()[0], values[0])
    paths[3].write_bytes(b"HDF")
    with pytest.raises(RequestError, match="3.weights.h5: can't read weights: "):
        load_weights(model, paths, "weights")
