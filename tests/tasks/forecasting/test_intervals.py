"""Prediction intervals: the ranks of split-conformal prediction, and their coverage."""

import numpy as np
import pytest

from attnlab.tasks.forecasting.measures import FEWEST, interval_ends
from attnlab.tasks.forecasting.series import Series


def test_the_ends_are_the_errors_of_their_ranks():
    errors = np.random.default_rng(7).permutation(np.arange(1.0, 80.0))[:, None] - 40
    np.testing.assert_array_equal(interval_ends(errors), [[-38], [38]])  # floor(80 * 0.025) = 2
    np.testing.assert_array_equal(interval_ends(errors[:-1]), np.sort(errors[:-1], 0)[[0, -1]])


def test_steps_with_too_few_errors_have_no_interval():
    errors = np.zeros((FEWEST, 3))
    errors[0, 1], errors[:, 2] = np.nan, np.nan
    assert FEWEST == 39
    np.testing.assert_array_equal(np.isnan(interval_ends(errors)), [[False, True, True]] * 2)
    assert np.isnan(interval_ends(np.zeros((7, 2)))).all()


def test_the_interval_contains_the_forecast():
    """Errors of only one sign would otherwise give an interval without the forecast."""
    errors = np.linspace(1.0, 2.0, 79)[:, None] * [[1, -1]]
    np.testing.assert_allclose(interval_ends(errors), [[0, -errors[77, 0]], [errors[77, 0], 0]])


def test_exchangeable_errors_give_the_promised_coverage():
    draw = np.random.default_rng(11).normal(size=(120, 2000))
    low, high = interval_ends(draw[:-1])
    assert np.mean((low <= draw[-1]) & (draw[-1] <= high)) == pytest.approx(0.95, abs=0.015)


@pytest.fixture
def task(tmp_path):
    """A series of 0 to 199, two steps ahead."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *map(str, range(200))]))
    return Series(path=str(path), history=5, horizon=2, validation=0.15)


@pytest.mark.parametrize(
    ("count", "horizon", "steps"),
    [(99, 3, 0), (100, 1, 2), (125, 1, 12), (200, 24, 24), (260, 1, 1), (300, 1, 7)],
)
def test_short_series_have_intervals_by_default(tmp_path, count, horizon, steps):
    """From 100 values on; 260 values have 39 validation errors without more validation values."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *map(str, range(count))]))
    task = Series(path=str(path), history=5, horizon=horizon)
    task.load(0)
    errors = np.isfinite(task.validation_targets()).sum(axis=0)
    assert np.count_nonzero(errors >= FEWEST) == steps
    assert len(task.splits.parts["train"]) >= 0.4 * count - 5 - horizon


@pytest.mark.parametrize(
    ("count", "horizon", "steps", "advice"),
    [
        (82, 1, 3, "task.validation=41"),
        (60, 1, 3, "task.validation=41 and series of at least 82 values (not 60)"),
        (200, 12, 3, "task.validation=50"),  # errors are those of windows of 12
        (300, 2, 40, "task.validation=78 task.horizon=40"),
    ],
)
def test_the_advice_on_intervals_gives_them(tmp_path, count, horizon, steps, advice):
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x", *map(str, range(count))]))
    task = Series(path=str(path), horizon=horizon)
    task.load(0)
    assert task.interval_advice(steps) == f"a run with {advice}"
    settings = (word[len("task.") :].split("=") for word in advice.partition(" and ")[0].split())
    changes = {key: int(value) for key, value in settings}
    path.write_text("\n".join(["x", *map(str, range(82 if "82" in advice else count))]))
    task = Series(path=str(path), **{"horizon": horizon, **changes})
    task.load(0)
    errors = np.isfinite(task.validation_targets()).sum(axis=0)
    assert (errors[:steps] >= FEWEST).all() and len(errors) >= steps


def test_validation_errors_beyond_the_horizon_end_with_the_part(task):
    splits = task.load(0)
    ahead = task.validation_targets()
    assert ahead.shape == (len(splits.parts["validation"]), 24)
    np.testing.assert_array_equal(ahead[:, :2], splits.parts["validation"].exact)
    last = splits.parts["test"].index.min() - 1
    assert np.nanmax(ahead) == last and np.isnan(ahead[-1]).sum() == 22


def test_an_interval_is_put_around_forecasts_in_natural_units(task):
    task.load(0)
    ends = {"low": [-1.0, None], "high": [2.0, None]}
    columns = task.interval(ends, task.origin(), np.array([5.0, 6.0, 7.0]))
    deviation = np.std(np.arange(200 - 40 - 30))
    np.testing.assert_allclose(columns["low"], [5 - deviation, np.nan, np.nan])
    np.testing.assert_allclose(columns["high"], [5 + 2 * deviation, np.nan, np.nan])
