"""Diebold and Mariano's test, compared with published values and scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import only
from run_folders import write_forecast, write_run
from scipy import stats

from attnlab.comparison.selection import Filters
from attnlab.tasks.forecasting.item_test import diebold_mariano


def test_diebold_mariano_gives_the_published_value():
    truth = np.array([10, 20, 30, 40, 50])
    first = (np.array([11, 21, 29, 42, 53]) - truth) ** 2
    second = (np.array([13, 26, 24, 40, 59]) - truth) ** 2
    result = diebold_mariano(first, second)
    assert result.statistic == pytest.approx(-2.2229922806, abs=1e-10)
    assert result.p == pytest.approx(2 * 0.0451556587, abs=2e-10)
    assert diebold_mariano(second, first).statistic == -result.statistic


def test_diebold_mariano_of_one_step_is_the_t_test_of_the_losses():
    """With horizon 1 the correction turns the statistic into the paired t test's."""
    rng = np.random.default_rng(0)
    first, second = rng.random(37), rng.random(37)
    assert diebold_mariano(first, second).p == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_diebold_mariano_counts_the_overlap_of_longer_horizons():
    """Correlated losses make the mean less certain than independent ones."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=211)
    losses = 0.2 + sum(steps[lag : lag + 200] for lag in range(3))
    plain, overlapping = (diebold_mariano(losses, np.zeros(200), h) for h in (1, 3))
    covariances = [np.sum((losses - losses.mean())[k:] * (losses - losses.mean())[: 200 - k]) / 200
                   for k in range(3)]  # fmt: skip
    variance = (covariances[0] + 2 * covariances[1] + 2 * covariances[2]) / 200
    expected = losses.mean() / np.sqrt(variance) * np.sqrt((201 - 6 + 6 / 200) / 200)
    assert overlapping.statistic == pytest.approx(expected)
    assert overlapping.p > plain.p


@pytest.mark.parametrize(
    ("losses", "horizon"),
    [([1.0, 2.0], 1), ([1.0] * 9, 1), ([1.0, -1.0] * 10, 2)],
    ids=["too few", "no spread", "variance not above 0"],
)
def test_diebold_mariano_reports_where_it_is_undefined(losses, horizon):
    assert diebold_mariano(losses, np.zeros(len(losses)), horizon) is None
    losses = np.arange(40) * 0.1  # rounding is no difference
    assert diebold_mariano(losses + 0.1, losses) is None
    assert diebold_mariano(losses * (1 + 1e-14), losses) is None


def test_diebold_mariano_averages_losses_over_seeds(runs):
    """The published errors, split over two seeds so that only their mean loss is the published."""
    first, second = np.array([1, 1, -1, 2, 3.0]), np.array([3, 6, -6, 0, 9.0])
    spread = np.array([0.5, 0.2, 0.1, 0, 0.7])
    for seed, sign in ((0, 1), (1, -1)):
        for attention, misses in (("none", second), ("bahdanau", first)):
            run = write_run(runs, attention, seed, 1.0)
            write_forecast(run, np.sqrt(misses**2 + sign * spread * (misses != 0)))
    test = only(runs, Filters(where=("attention=none,bahdanau", "seed=0,1"))).item_test
    assert test.statistic == pytest.approx(-2.2229922806, abs=1e-8)
    assert test.p == pytest.approx(2 * 0.0451556587, abs=1e-8)
    assert (test.items, test.p_holm) == (5, test.p)


@pytest.mark.parametrize(("apart", "overlap"), [(1, 2), (2, 1), (12, 1)])
def test_diebold_mariano_counts_the_windows_that_share_targets(runs, apart, overlap):
    """With horizon 2, windows that start two steps apart share no target."""
    draw = np.random.default_rng(0)
    losses = {name: draw.exponential(size=(9, 2)) for name in ("none", "bahdanau")}
    index = (apart * np.arange(9))[:, None] + np.arange(2)
    table = {"index": index, "time": index.astype(str), "step": index * 0 + [1, 2]}
    for name, item in losses.items():
        run = write_run(runs, name, 0, 1.0)
        columns = {**table, "target": 0.0 * index, "prediction": np.sqrt(item)}
        run.write_predictions({key: column.reshape(-1) for key, column in columns.items()})
    test = only(runs, Filters(where=("attention=none,bahdanau", "seed=0"))).item_test
    means = [losses[name].mean(axis=1) for name in ("bahdanau", "none")]
    assert test.statistic == pytest.approx(diebold_mariano(*means, overlap).statistic)
