"""Scalers: fitted exactly, inverted exactly, saved as JSON."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.tasks.forecasting.time_series import Scaler, TimeSeries

VALUES = np.array([2.0, 4.0, 9.0])


def test_scaling_by_hand():
    expected = (VALUES - 5) / np.sqrt(26 / 3)
    np.testing.assert_allclose(Scaler.fit(VALUES, "standard").apply(VALUES), expected)
    np.testing.assert_allclose(Scaler.fit(VALUES, "minmax").apply(VALUES), [0, 2 / 7, 1])


def test_a_window_is_divided_by_its_largest_absolute_value():
    for values, scaled in ([-8.0, 2.0], [-1, 0.25]), ([0.0, 0.0], [0, 0]):
        window = np.array(values)[:, None]
        (scaler,) = TimeSeries(window).scalers_of(window)
        np.testing.assert_array_equal(scaler.apply(values), scaled)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_equal_values_scale_to_zero(kind):
    np.testing.assert_array_equal(Scaler.fit(np.full(3, 7.0), kind).apply([7.0, 8.0]), [0, 1])


@given(st.lists(st.floats(-1e9, 1e9), min_size=2), st.sampled_from(["standard", "minmax"]))
def test_invert_undoes_apply(values, kind):
    values = np.array(values)
    scaler = Scaler.fit(values, kind)
    largest = np.abs(values).max()
    error = np.abs(scaler.invert(scaler.apply(values)) - values)
    assert error.max() <= 1e-12 * max(largest, 1)
