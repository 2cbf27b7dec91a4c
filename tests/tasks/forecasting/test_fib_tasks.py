"""The two Fibonacci tasks: the book's, and one without its leak."""

import re

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.fib import (
    Fib,
    FibRandom,
    fibonacci,
    random_sequences,
)


def zero_report(task, part="test"):
    return task.report(np.zeros_like(task.splits.parts[part].target), part)


def test_the_book_s_protocol_has_826_and_354_windows():
    task = Fib(validation=0)
    splits = task.load(0)
    assert splits.counts() == {"train": 826, "test": 354}
    order = np.random.RandomState(13).permutation(1180)
    scaled = ((fibonacci(1200) - 1) / (fibonacci(1200)[-1] - 1)).astype(np.float32)
    np.testing.assert_array_equal(splits.parts["train"].target[:, 0], scaled[20 + order[:826]])
    np.testing.assert_array_equal(splits.parts["test"].history[:, 0, 0], scaled[order[826:]])
    np.testing.assert_array_equal(splits.parts["test"].history[:, -1, 0], scaled[19 + order[826:]])


def test_validation_windows_spread_over_the_train_windows_from_the_second_largest_target():
    book, default = Fib(validation=0).load(0), Fib().load(0)
    assert (len(default.parts["train"]), len(default.parts["validation"])) == (661, 165)
    joined = np.concatenate([default.parts["train"].index, default.parts["validation"].index])
    np.testing.assert_array_equal(np.sort(joined), np.sort(book.parts["train"].index))
    np.testing.assert_array_equal(default.parts["test"].index, book.parts["test"].index)
    largest = np.sort(book.parts["train"].index)[::-1]
    assert largest[0] in default.parts["train"].index
    assert largest[1] in default.parts["validation"].index


def test_baselines_have_the_known_scores():
    task = Fib(validation=0)
    task.load(0)
    mse = {name: scores["mse"] for name, scores in zero_report(task).baselines.items()}
    assert mse["always_zero"] == pytest.approx(1.26e-3, rel=5e-3)
    assert mse["persistence"] == pytest.approx(1.84e-4, rel=5e-3)
    assert mse["golden_ratio"] < 1e-30


def test_the_report_explains_why_the_score_means_little():
    task = Fib()
    task.load(0)
    report = zero_report(task)
    squares = np.sort(task.splits.parts["test"].exact[:, 0] ** 2)
    assert squares[-3:].sum() > 0.999 * squares.sum()
    assert (
        "windows overlap train windows, and a few large numbers decide the score" in report.notes[0]
    )
    assert report.best_baseline == "golden_ratio" and report.skill is None


def test_fib_refuses_windows_longer_than_the_series():
    with pytest.raises(RequestError, match=r"task\.history: expected a whole number from 2 to 28"):
        Fib(count=30, history=29)


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_each_window_has_largest_value_one_and_the_sum_as_target(part):
    rows = FibRandom().load(0).parts[part]
    np.testing.assert_array_equal(np.abs(rows.history).max(axis=(1, 2)), 1)
    last_two = rows.history[:, -2:, 0].sum(axis=1)
    np.testing.assert_allclose(rows.target[:, 0], last_two, atol=3e-7)


def test_simple_baselines_fail_and_the_rule_is_an_oracle():
    task = FibRandom(history=29)
    task.load(0)
    report = zero_report(task)
    rmse = {name: scores["rmse"] for name, scores in report.baselines.items()}
    assert rmse["golden_ratio"] > 0.1 and rmse["persistence"] > 0.25 and rmse["train_mean"] > 0.5
    assert rmse["sum_of_last_two"] < 1e-15 and report.oracles == ("sum_of_last_two",)
    assert rmse["linear_ar24"] < 1e-12 and "linear_ar12" not in rmse
    assert report.best_baseline != "sum_of_last_two"


def test_a_forecast_is_scaled_by_its_own_window():
    task = FibRandom(history=5)
    task.load(0)
    window = 1000 * np.array([8.0, -3.0, 5.0, 2.0, 7.0])
    forecast = task.serve(lambda h: h[:, -1] + h[:, -2], window, 3)
    np.testing.assert_allclose(forecast, [9000, 16000, 25000], rtol=1e-6)


def test_sequences_have_as_many_terms_as_asked():
    past, _ = random_sequences(np.random.default_rng(5), 211, 41, 3, 5)
    goes_on = past[:, 2:] == past[:, 1:-1] + past[:, :-2]
    # A whole sequence of n terms shows as n - 2 sums in a row between terms that are no sums.
    flags = ["".join(map(str, row)) for row in goes_on.astype(int)]
    runs = {len(run) for row in flags for run in re.findall("(?<=0)1+(?=0)", row)}
    assert runs == {1, 2, 3}


def test_a_forecast_far_outside_of_the_data_has_one_warning(tmp_path):
    task, loaded = Fib(), Fib()
    task.load(0)
    task.save(tmp_path)
    loaded.load_from(tmp_path)
    warnings: list[str] = []
    loaded.forecast(lambda windows: 1.4 * windows[:, -1], loaded.origins, 1, warnings.append)
    assert warnings == []  # less than half of the range beyond the largest number
    loaded.forecast(lambda windows: 1.4 * windows[:, -1], loaded.origins, 5, warnings.append)
    assert len(warnings) == 1 and "training data, 1 to 4.412e+250:" in warnings[0]
