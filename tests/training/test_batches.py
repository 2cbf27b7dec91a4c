"""Batch plans: every row once, in an order that depends only on seed and epoch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnlab.training.batches import (
    filled_plan,
    length_plan,
    shuffled_plan,
    similar_plan,
    token_plan,
)

sizes = st.integers(1, 97)
seeds = st.integers(0, 2**31 - 1)


@given(count=sizes, batch_size=sizes, first=sizes, seed=seeds, epoch=st.integers(1, 999))
def test_every_row_is_there_exactly_once(count, batch_size, first, seed, epoch):
    rows = np.arange(first, first + count)
    plan, again = (shuffled_plan(rows, batch_size, seed, epoch) for _ in range(2))
    np.testing.assert_array_equal(plan.indices, again.indices)
    steps, width = plan.indices.shape
    assert (steps, width) == (-(-count // width), min(batch_size, count))
    assert sorted(plan.indices[plan.weights == 1]) == list(rows)
    assert set(plan.weights.ravel()) <= {0.0, 1.0}
    assert plan.sizes.sum() == count
    assert (plan.sizes[:-1] == width).all() and plan.sizes[-1] >= 1


def test_a_filled_plan_keeps_the_rows_in_their_order():
    plan = filled_plan(np.array([13, 11, 7, 5, 3]), 2)
    np.testing.assert_array_equal(plan.indices, [[13, 11], [7, 5], [3, 0]])
    np.testing.assert_array_equal(plan.weights, [[1, 1], [1, 1], [1, 0]])
    assert (plan.indices.dtype, plan.weights.dtype) == (np.int32, np.float32)


@given(count=sizes, batch_size=sizes, seed=seeds, epoch=st.integers(1, 999))
def test_plans_of_similar_rows_are_complete_and_reproducible(count, batch_size, seed, epoch):
    rows = np.arange(5, 5 + count)
    plans = [similar_plan(rows, rows**2, batch_size, seed, epoch) for _ in range(2)]
    np.testing.assert_array_equal(plans[0].indices, plans[1].indices)
    np.testing.assert_array_equal(plans[0].weights, plans[1].weights)
    assert plans[0].indices.shape == (-(-count // batch_size), min(batch_size, count))
    assert sorted(plans[0].indices[plans[0].weights == 1]) == list(rows)


def test_batches_of_similar_rows_have_similar_lengths_in_random_order():
    lengths = np.random.default_rng(3).integers(1, 161, 3000)
    plans = [similar_plan(np.arange(3000), lengths, 30, 7, epoch) for epoch in (1, 2)]
    spread = [np.ptp(lengths[rows]) for rows in plans[0].indices]
    assert np.median(spread) < 160 / 16 and np.mean(spread) < 160 / 12
    members = [{frozenset(rows) for rows in plan.indices} for plan in plans]
    assert len(members[0] & members[1]) < 3
    longest = lengths[plans[0].indices].max(axis=1)
    assert 30 < np.sum(np.diff(longest) < 0) < 70


lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=200)
multiples = st.sampled_from([None, 1, 4, 8])
kinds = st.sampled_from(["tokens", "items"])


def drawn_lengths(count=5003, longest=31):
    random = np.random.default_rng(7)
    source = random.integers(2, longest, count)
    return source, np.clip(source + random.integers(-2, 5, count), 2, None)


def real_rows(plan):
    return [rows[rows >= 0] for rows in plan]


@given(pairs=lengths, size=sizes, by=kinds, multiple=multiples, seed=seeds)
def test_each_pair_is_in_one_batch(pairs, size, by, multiple, seed):
    source, target = np.array(pairs).T
    plan = token_plan(source, target, size=size, by=by, seed=seed, epoch=3, multiple=multiple)
    assert sorted(np.concatenate(real_rows(plan))) == list(range(len(pairs)))
    assert all(len(rows) for rows in real_rows(plan))
    assert multiple or all((rows >= 0).all() for rows in plan)


@given(pairs=lengths, size=sizes, multiple=multiples, seed=seeds)
def test_no_side_of_a_batch_has_more_tokens(pairs, size, multiple, seed):
    source, target = np.array(pairs).T
    plan = token_plan(source, target, size=size, seed=seed, epoch=1, multiple=multiple)
    for rows, real in zip(plan, real_rows(plan), strict=True):
        widest = max(source[real].max(), target[real].max())
        padded = -(-widest // (multiple or 1)) * (multiple or 1)
        assert len(rows) * padded <= size or len(rows) == 1


def test_another_seed_or_epoch_is_another_order():
    others = [(5, 2), (5, 2), (5, 3), (6, 2)]
    plans = [
        token_plan(*drawn_lengths(), size=997, seed=seed, epoch=epoch) for seed, epoch in others
    ]
    first, again, *different = ([frozenset(rows.tolist()) for rows in plan] for plan in plans)
    assert first == again
    for plan in different:
        assert len(plan) == len(first) and len({*first} & {*plan}) < 0.1 * len(first)


def test_a_plan_without_shuffling_starts_with_the_shortest():
    plan = length_plan(np.array([5, 2, 9, 2, 2, 5]), np.array([5, 2, 9, 2, 2, 5]), size=10)
    assert [rows.tolist() for rows in plan] == [[1, 3, 4], [0, 5], [2]]


def test_a_pair_that_is_too_long_is_a_batch_of_its_own():
    plan = length_plan(np.array([3, 50, 3, 60]), np.array([3, 3, 3, 3]), size=10)
    assert [rows.tolist() for rows in plan] == [[0, 2], [1], [3]]


def test_a_multiple_limits_the_number_of_shapes():
    source, target = drawn_lengths()
    plan = token_plan(source, target, size=1024, seed=3, epoch=1, multiple=8)
    rows_by_width = {}
    for rows, real in zip(plan, real_rows(plan), strict=True):
        width = -(-max(source[real].max(), target[real].max()) // 8) * 8
        rows_by_width.setdefault(width, set()).add(len(rows))
    assert rows_by_width == {8: {128}, 16: {64}, 24: {42}, 32: {32}, 40: {25}}
    assert sum((rows < 0).any() for rows in plan) <= len(rows_by_width)


def test_pairs_of_one_length_have_one_shape():
    plan = token_plan(*np.full((2, 103), 7), size=70, seed=0, epoch=1, multiple=1)
    assert [len(rows) for rows in plan] == [10] * 11
    assert sorted(np.concatenate(real_rows(plan))) == list(range(103))


def test_little_is_padding():
    source, target = drawn_lengths()
    plan = token_plan(source, target, size=2048, seed=1, epoch=1)
    padded = sum(len(rows) * int(source[rows].max() + target[rows].max()) for rows in plan)
    assert 1 - int(source.sum() + target.sum()) / padded < 0.06
