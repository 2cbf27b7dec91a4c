"""McNemar's exact test, compared with binomial sums and SciPy."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from compared_runs import only
from labelled import labelled, some_texts, write_classifier
from scipy.stats import binomtest

from attnlab.compare.footnotes import footnotes
from attnlab.compare.statistics import holm
from attnlab.tasks.accuracy_tests import sign_test
from attnlab.tasks.classification.item_test import item_test
from attnlab.tasks.declaration import NoItemTest

TEST = some_texts(30, seed=1)
DATA = labelled(some_texts(40), TEST)


def summed(lost: int, won: int) -> Fraction:
    """The total probability of the outcomes that are at most as probable as this one."""
    n = lost + won
    return Fraction(sum(comb(n, k) for k in range(n + 1) if comb(n, k) <= comb(n, lost)), 2**n)


@pytest.mark.parametrize("lost", range(0, 14, 3))
def test_p_is_the_sum_of_the_binomial_distribution(lost):
    for won in range(14):
        assert sign_test(lost, won) == pytest.approx(float(summed(lost, won)), rel=1e-12)
        if lost + won:
            expected = binomtest(lost, lost + won).pvalue
            assert sign_test(lost, won) == pytest.approx(expected, rel=1e-12)


def test_p_of_many_texts_is_scipys():
    for lost, won in ((1200, 1000), (5000, 5001), (0, 900)):
        assert sign_test(lost, won) == pytest.approx(binomtest(lost, lost + won).pvalue, rel=1e-9)


def run_with(runs, attention, wrong, seed=0, data=DATA):
    """Write a run with wrong predictions for these texts, and right ones for all others."""
    said = data.parts["test"].labels.copy()
    said[list(wrong)] = (said[list(wrong)] + 1) % 3
    return write_classifier(runs, attention, np.eye(3)[said], data, seed=seed)


def test_one_seed_is_mcnemars_test(tmp_path):
    """Text 0 is wrong in both, and ignored; 6 are wrong only in the group, 1 in the reference."""
    base = run_with(tmp_path, "none", [0, 1])
    own = run_with(tmp_path, "pooling", [0, *range(2, 8)])
    (found,) = item_test("accuracy", [([own], [base])], False)
    assert found.p == pytest.approx(binomtest(1, 7).pvalue)
    assert (found.name, found.heading, found.items) == ("McNemar", "McNemar p", 30)
    assert found.statistic == 5  # texts more that the group loses
    (turned,) = item_test("accuracy", [([base], [own])], False)
    assert (turned.p, turned.statistic) == (found.p, -5)


def test_seeds_dont_count_as_further_texts(tmp_path):
    """The side with more right answers over the seeds wins a text, which counts once."""
    wrong_base, wrong_own = [[0, 1, 2, 3], [0, 1, 2]], [[0], [3]]
    base = [run_with(tmp_path, "none", each, seed) for seed, each in enumerate(wrong_base)]
    own = [run_with(tmp_path, "pooling", each, seed) for seed, each in enumerate(wrong_own)]
    (found,) = item_test("accuracy", [(own, base)], False)
    # 0 (1 right of 2 against 0), 1 and 2 are won; 3 has one right answer on both sides.
    assert found.p == pytest.approx(binomtest(0, 3).pvalue) and found.statistic == -3
    assert found.name == "sign test" and "shared seeds" in found.method
    twice = item_test("accuracy", [(own * 2, base * 2)], False)
    assert twice[0].p == found.p


def test_runs_that_agree_have_a_p_of_one(tmp_path):
    base, own = (run_with(tmp_path, name, [3, 4]) for name in ("none", "pooling"))
    assert item_test("accuracy", [([own], [base])], False)[0].p == 1


def test_a_comparison_has_the_test_and_its_description(tmp_path):
    for attention, first in {"none": 0, "bahdanau": 4, "pooling": 9}.items():
        for seed in range(2):
            run_with(tmp_path, attention, range(first + seed, 14), seed)
    comparison = only(tmp_path, reference="none")
    tests = {each.group.label: each.item_test for each in comparison.results}
    assert tests["bahdanau"].p == sign_test(0, 5) and tests["pooling"].p == sign_test(0, 10)
    pair = [tests["bahdanau"], tests["pooling"]]
    assert [test.p_holm for test in pair] == holm([test.p for test in pair])
    lines = footnotes(comparison)
    assert any("exact sign test over 30 test texts" in line for line in lines)
    assert only(tmp_path, reference="none", bootstrap=False).item_test == comparison.item_test
    other = only(tmp_path, reference="none", metric="macro_f1")
    assert any("of right answers, whatever the metric" in line for line in footnotes(other))


def test_other_texts_and_damaged_files_are_not_tested(tmp_path):
    base = run_with(tmp_path, "none", [0])
    other = run_with(
        tmp_path, "pooling", [0], data=labelled(some_texts(40), some_texts(30, seed=2))
    )
    with pytest.raises(NoItemTest, match=f"{other.name} has other test items than the others"):
        item_test("accuracy", [([other], [base])], False)
    (other.path / "predictions.csv").write_text("index,text,label\n")
    assert any("damaged: it has no column 'prediction'" in text for text in only(tmp_path).notes)
