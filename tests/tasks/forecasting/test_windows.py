"""Cutting windows: exact on small series, and safe at the ends."""

import numpy as np
import pytest

from attnlab.tasks.forecasting.data import windows

VALUES = np.arange(11.0) * 10


def test_histories_end_where_targets_begin():
    index = np.array([3, 7])
    np.testing.assert_array_equal(windows.histories(VALUES, index, 2), [[10, 20], [50, 60]])
    np.testing.assert_array_equal(windows.targets(VALUES, index, 3), [[30, 40, 50], [70, 80, 90]])


def test_sliding_keeps_every_target_inside():
    np.testing.assert_array_equal(windows.sliding(5, 11, horizon=3), [5, 6, 7, 8])
    assert len(windows.sliding(5, 7, horizon=3)) == 0
    assert len(windows.sliding(7, 5)) == 0


@pytest.mark.parametrize(("cut", "at"), [(windows.histories, 1), (windows.targets, 10)])
def test_windows_that_leave_the_series_are_refused(cut, at):
    with pytest.raises(ValueError, match="leave the 11 values"):
        cut(VALUES, np.array([at]), 2)
    assert cut(VALUES, np.array([], dtype=np.int64), 5).shape == (0, 5)
