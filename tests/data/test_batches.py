"""Batch plans: every row once, and nothing but (seed, epoch) decides the order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batches import filled_plan, shuffled_plan

sizes = st.integers(1, 97)
seeds = st.integers(0, 2**31 - 1)


@given(count=sizes, batch_size=sizes, first=sizes, seed=seeds, epoch=st.integers(1, 999))
def test_every_row_is_there_exactly_once(count, batch_size, first, seed, epoch):
    rows = np.arange(first, first + count)
    plan = shuffled_plan(rows, batch_size, seed, epoch)
    steps, width = plan.indices.shape
    assert (steps, width) == (-(-count // width), min(batch_size, count))
    assert sorted(plan.indices[plan.weights == 1]) == list(rows)
    assert set(plan.weights.ravel()) <= {0.0, 1.0}
    assert plan.sizes.sum() == count
    assert (plan.sizes[:-1] == width).all() and plan.sizes[-1] >= 1


@given(count=sizes, batch_size=sizes, seed=seeds, epoch=st.integers(1, 999))
def test_an_order_is_a_function_of_seed_and_epoch(count, batch_size, seed, epoch):
    np.random.seed(epoch)
    plans = [shuffled_plan(np.arange(count), batch_size, seed, epoch) for _ in range(2)]
    np.testing.assert_array_equal(plans[0].indices, plans[1].indices)


@pytest.mark.parametrize("other", [(5, 3), (7, 2), (2, 7)])
def test_another_seed_or_epoch_is_another_order(other):
    rows = np.arange(101)
    first, second = shuffled_plan(rows, 101, 7, 3), shuffled_plan(rows, 101, *other)
    assert not np.array_equal(first.indices, second.indices)


def test_batches_of_another_size_keep_the_order():
    wide, narrow = (shuffled_plan(np.arange(11), size, seed=3, epoch=5) for size in (4, 3))
    np.testing.assert_array_equal(wide.indices.ravel()[:11], narrow.indices.ravel()[:11])


def test_a_filled_plan_keeps_the_rows_in_their_order():
    plan = filled_plan(np.array([13, 11, 7, 5, 3]), 2)
    np.testing.assert_array_equal(plan.indices, [[13, 11], [7, 5], [3, 0]])
    np.testing.assert_array_equal(plan.weights, [[1, 1], [1, 1], [1, 0]])
    assert (plan.indices.dtype, plan.weights.dtype) == (np.int32, np.float32)
