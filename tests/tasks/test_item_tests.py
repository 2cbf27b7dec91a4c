"""The paired test over items, against exact tests of SciPy and known rates of error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from attnlab.tasks.item_tests import paired_p


@pytest.mark.parametrize(("lost", "won"), [(0, 3), (2, 9), (5, 5), (1, 0)])
def test_right_and_wrong_answers_are_mcnemars_exact_test(lost, won):
    difference = np.array([1.0] * lost + [-1.0] * won + [0.0] * 40)
    assert paired_p(difference) == pytest.approx(binomtest(lost, lost + won).pvalue)


def test_a_true_null_is_rejected_in_about_5_of_100_cases():
    rng = np.random.default_rng(0)
    rejected = [
        paired_p(rng.exponential(size=12) * rng.choice([-1, 1], 12)) <= 0.05 for _ in range(200)
    ]
    assert np.mean(rejected) <= 0.1
