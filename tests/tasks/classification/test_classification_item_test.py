"""The paired test over test items, on runs that classify."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import only
from labelled import labelled, some_texts, write_classifier
from scipy.stats import binomtest

from attnlab.compare.footnotes import footnotes
from attnlab.compare.statistics import holm
from attnlab.tasks.classification.item_test import item_test
from attnlab.tasks.declaration import NoItemTest

TEST = some_texts(30, seed=1)
DATA = labelled(some_texts(40), TEST)


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
    assert (found.heading, found.items) == ("item test p", 30)
    assert found.statistic == pytest.approx(5 / 30)  # above 0: the group loses more
    (turned,) = item_test("accuracy", [([base], [own])], False)
    assert (turned.p, turned.statistic) == (found.p, pytest.approx(-5 / 30))


def test_seeds_dont_count_as_further_texts(tmp_path):
    wrong_base, wrong_own = [[0, 1, 2, 3], [0, 1, 2]], [[0], [3]]
    base = [run_with(tmp_path, "none", each, seed) for seed, each in enumerate(wrong_base)]
    own = [run_with(tmp_path, "pooling", each, seed) for seed, each in enumerate(wrong_own)]
    (found,) = item_test("accuracy", [(own, base)], False)
    # Over two seeds the group loses text 0 less often by 1/2, 1 and 2 by 1, and 3 as often.
    assert found.p == 0.25 and found.statistic == pytest.approx(-2.5 / 30)
    assert "shared seeds" in found.method
    (twice,) = item_test("accuracy", [(own * 2, base * 2)], False)
    assert twice.p == found.p


def test_runs_that_agree_have_a_p_of_one(tmp_path):
    base, own = (run_with(tmp_path, name, [3, 4]) for name in ("none", "pooling"))
    assert item_test("accuracy", [([own], [base])], False)[0].p == 1


def test_a_comparison_has_the_test_and_its_description(tmp_path):
    for attention, first in {"none": 0, "bahdanau": 4, "pooling": 9}.items():
        for seed in range(2):
            run_with(tmp_path, attention, range(first + seed, 14), seed)
    comparison = only(tmp_path, reference="none")
    tests = {each.group.label: each.item_test for each in comparison.results}
    assert tests["bahdanau"].p < 0.1 and tests["pooling"].p < 0.01
    pair = [tests["bahdanau"], tests["pooling"]]
    assert [test.p_holm for test in pair] == holm([test.p for test in pair])
    assert any("permutation test over 30 test texts" in line for line in footnotes(comparison))
    assert only(tmp_path, reference="none", bootstrap=False).item_test == comparison.item_test


def test_other_texts_and_damaged_files_are_not_tested(tmp_path):
    base = run_with(tmp_path, "none", [0])
    other = run_with(
        tmp_path, "pooling", [0], data=labelled(some_texts(40), some_texts(30, seed=2))
    )
    with pytest.raises(NoItemTest, match=f"{other.name} has other test items than the others"):
        item_test("accuracy", [([other], [base])], False)
    (other.path / "predictions.csv").write_text("index,text,label\n")
    assert any("damaged: it has no column 'prediction'" in text for text in only(tmp_path).notes)
