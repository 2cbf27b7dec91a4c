"""The best epoch and early stopping, compared with Keras's EarlyStopping."""

import math
from types import SimpleNamespace

import keras
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.training.schedules import Monitor


def keras_stopping(values, mode, min_delta, patience) -> tuple[int, int | None]:
    """Best epoch and the epoch after which Keras stops, both from 1."""
    callback = keras.callbacks.EarlyStopping(
        "value", mode=mode, min_delta=min_delta, patience=patience
    )
    callback.set_model(SimpleNamespace(stop_training=False))
    callback.on_train_begin()
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {"value": value})
        if callback.model.stop_training:
            return callback.best_epoch + 1, epoch + 1
    return callback.best_epoch + 1, None


@given(
    values=st.lists(st.integers(0, 13).map(float), min_size=1, max_size=23),
    mode=st.sampled_from(["min", "max"]),
    min_delta=st.sampled_from([0.0, 1.5]),
    patience=st.integers(1, 5),
)
def test_stops_where_keras_stops_and_keeps_the_same_epoch(values, mode, min_delta, patience):
    monitor = Monitor("value", mode, min_delta)
    best, stopped = keras_stopping(values, mode, min_delta, patience)
    ends = [n for n in range(1, len(values) + 1) if monitor.should_stop(values[:n], patience)]
    assert (ends[0] if ends else None) == stopped
    assert monitor.best_epoch(values[:stopped]) == best


NAN = float("nan")


@pytest.mark.parametrize(
    ("mode", "values", "best"),
    [
        *[("min", [3.0, 2.0, 2.0], 2), ("max", [3.0, 5.0, 5.0], 2)],
        *[("min", [NAN, 7.0, NAN], 2), ("max", [NAN, 2.0, NAN, 3.0], 4), ("max", [NAN, NAN], 2)],
    ],
)
def test_the_first_of_equal_epochs_is_best_and_nan_only_without_scores(mode, values, best):
    assert Monitor("value", mode).best_epoch(values) == best


def test_patience_counts_epochs_that_were_scored():
    monitor = Monitor("val_bleu", "max")
    assert not monitor.should_stop([NAN] * 7, 2)
    assert not monitor.should_stop([NAN, 5.0, NAN, 4.0, NAN], 2)
    assert monitor.should_stop([NAN, 5.0, NAN, 4.0, NAN, 3.0], 2)


def test_nothing_stops_without_patience_or_values():
    monitor = Monitor("value")
    assert not monitor.should_stop([1.0, 2.0, 3.0], None)
    assert not monitor.should_stop([], 1)
    assert monitor.should_stop([1.0, 2.0], 1)


def test_the_smallest_loss_decides_between_equal_values():
    """Fixed: with a BLEU of 0 in each epoch, the first, hardly trained epoch was the result."""
    monitor, zeros = Monitor("val_bleu", "max"), [0.0] * 4
    assert monitor.best_epoch(zeros, [4, 3, 2, 3]) == 3
    assert monitor.best_epoch(zeros, [2, 2, 2, 2]) == monitor.best_epoch(zeros) == 1
    assert monitor.best_epoch(zeros, [math.nan] * 4) == 1
    assert monitor.best_epoch([0, 1, 1, 0], [9, 2, 1, 0]) == 3
    assert Monitor("val_loss").best_epoch([3, 1, 2], [3, 1, 2]) == 2
    assert not monitor.should_stop(zeros, 2, [4, 3, 2, 3])
    assert monitor.should_stop(zeros, 2, [4, 3, 3, 3]) and monitor.should_stop(zeros, 2)
