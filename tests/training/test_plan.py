"""Batches have every row once; rates are those of the papers' formulas; when training stops."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.training.plan import (
    Monitor,
    cosine,
    learning_rates,
    length_plan,
    plan_in_order,
    plateau,
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


def test_a_plan_in_order_keeps_the_rows_in_their_order():
    plan = plan_in_order(np.array([13, 11, 7, 5, 3]), 2)
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


# Learning rates and early stopping

LOSS = Monitor("val_loss")
TOTAL = 101
STEPS = np.arange(1.0, TOTAL + 1)


def rates(name, settings, **changes):
    whole = {"peak": 0.5, "first_step": 0, "steps": TOTAL, "total_steps": TOTAL, "monitor": LOSS}
    return learning_rates(name, settings, **{**whole, **changes})


def test_noam_with_the_papers_peak_is_the_papers_equation_3():
    units, warmup = 512, 13
    peak = (units * warmup) ** -0.5
    expected = units**-0.5 * np.minimum(STEPS**-0.5, STEPS * warmup**-1.5)
    actual = rates("noam", {"warmup": warmup / TOTAL}, peak=peak)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_inverse_square_root_is_noam_unless_it_starts_higher_or_stops_falling():
    settings = {"warmup": 13 / TOTAL, "initial": 0.0, "final": 0.0}
    actual = rates("inverse_square_root", settings)
    np.testing.assert_allclose(actual, rates("noam", {"warmup": 13 / TOTAL}), rtol=1e-12)


def test_inverse_square_root_rises_from_its_start_to_the_peak_and_falls_to_its_end():
    settings = {"warmup": 10 / TOTAL, "initial": 0.2, "final": 0.5}
    share = rates("inverse_square_root", settings, peak=1.0)
    np.testing.assert_allclose(share[:10], 0.2 + 0.08 * np.arange(1, 11))
    assert share[19] == pytest.approx(0.5**0.5)
    np.testing.assert_array_equal(share[40:], 0.5)


@pytest.mark.parametrize(("warmup", "final"), [(0.0, 0.0), (0.0, 0.25), (17, 0.0), (17, 0.1)])
def test_cosine_is_keras_cosine_decay(warmup, final):
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0 if warmup else 1.0,
        decay_steps=TOTAL - warmup,
        alpha=final,
        warmup_target=1.0 if warmup else None,
        warmup_steps=warmup,
    )
    expected = [float(schedule(step)) for step in STEPS]
    actual = cosine(STEPS, TOTAL, warmup=warmup / TOTAL, final=final)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("warmup", [0.0, 0.05, 1.0])
def test_the_only_step_of_a_run_has_the_peak(warmup):
    assert cosine(STEPS[:1], 1, warmup=warmup, final=0.0).tolist() == [1.0]


SETTINGS = {
    "cosine": {"warmup": 0.1, "final": 0.0},
    "noam": {"warmup": 0.1},
    "inverse_square_root": {"warmup": 0.1, "initial": 0.01, "final": 0.3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_parts_of_a_run_have_the_rates_of_the_whole(name):
    settings = SETTINGS[name]
    parts = [rates(name, settings, first_step=29, steps=n) for n in (7, TOTAL - 29)]
    np.testing.assert_array_equal(parts[0], rates(name, settings)[29:36])
    np.testing.assert_array_equal(parts[1], rates(name, settings)[29:])


def keras_plateau(losses, mode, min_delta, **settings) -> list[float]:
    """The rate after each epoch, from a peak of 1, by Keras's own callback."""
    model = SimpleNamespace(optimizer=SimpleNamespace(learning_rate=1.0))
    callback = keras.callbacks.ReduceLROnPlateau(
        "val_loss", mode=mode, min_delta=min_delta, verbose=0, **settings
    )
    callback.set_model(model)
    callback.on_train_begin()
    after = []
    for epoch, loss in enumerate(losses):
        callback.on_epoch_end(epoch, {"val_loss": loss})
        after.append(model.optimizer.learning_rate)
    return after


@given(
    losses=st.lists(st.integers(0, 13).map(float), min_size=1, max_size=23),
    mode=st.sampled_from(["min", "max"]),
    min_delta=st.sampled_from([0.0, 1.5]),
    patience=st.integers(1, 5),
)
def test_plateau_decides_as_keras_does(losses, mode, min_delta, patience):
    monitor = Monitor("val_loss", mode, min_delta)
    settings = {"factor": 0.5, "patience": patience}
    actual = [
        plateau(losses[: epoch + 1], monitor, minimum=0.125, **settings)
        for epoch in range(len(losses))
    ]
    expected = keras_plateau(losses, mode, min_delta, min_lr=0.125, **settings)
    np.testing.assert_allclose(actual, expected)


def test_plateau_is_a_function_of_the_history():
    settings = {"factor": 0.1, "patience": 2, "minimum": 0.0}
    actual = rates("plateau", settings, steps=3, monitored=[5.0, 3.0, 3.0, 4.0])
    np.testing.assert_allclose(actual, [0.05] * 3)
    np.testing.assert_allclose(rates("plateau", settings, steps=1), [0.5])
    nan = float("nan")  # an epoch that was not scored doesn't count
    assert plateau([nan, 5.0, nan, nan, 5.0, nan], LOSS, **settings) == 1.0
    assert plateau([nan, 5.0, nan, nan, 5.0, nan, 5.0], LOSS, **settings) == 0.1


def test_constant_and_plateau_use_the_tasks_warm_up():
    warmup = {"warmup": 2 / TOTAL}
    assert rates("constant", warmup)[:3].tolist() == [0.25, 0.5, 0.5]
    plateau = {"factor": 0.5, "patience": 1, "minimum": 0.0}
    assert rates("plateau", {**plateau, **warmup})[:3].tolist() == [0.25, 0.5, 0.5]


# The best epoch and early stopping


def keras_stopping(values, mode, min_delta, patience) -> tuple[int, int | None]:
    """Best epoch and the epoch after which Keras stops, both from 1."""
    callback = keras.callbacks.EarlyStopping(
        "value", mode=mode, min_delta=min_delta, patience=patience
    )
    callback.set_model(SimpleNamespace(stop_training=False))
    callback.on_train_begin()
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {"value": value})
        if callback.model.stop_training:
            return callback.best_epoch + 1, epoch + 1
    return callback.best_epoch + 1, None


@given(
    values=st.lists(st.integers(0, 13).map(float), min_size=1, max_size=23),
    mode=st.sampled_from(["min", "max"]),
    min_delta=st.sampled_from([0.0, 1.5]),
    patience=st.integers(1, 5),
)
def test_stops_where_keras_stops_and_keeps_the_same_epoch(values, mode, min_delta, patience):
    monitor = Monitor("value", mode, min_delta)
    best, stopped = keras_stopping(values, mode, min_delta, patience)
    ends = [n for n in range(1, len(values) + 1) if monitor.should_stop(values[:n], patience)]
    assert (ends[0] if ends else None) == stopped
    assert monitor.best_epoch(values[:stopped]) == best
    assert not monitor.should_stop(values, None)


def test_epochs_without_a_score_are_neither_best_nor_counted_by_patience():
    nan, monitor = float("nan"), Monitor("val_bleu", "max")
    assert monitor.best_epoch([nan, 2.0, nan, 3.0]) == 4
    assert monitor.best_epoch([nan, nan]) == 2  # the last one, if none has a score
    assert not monitor.should_stop([nan, 5.0, nan, 4.0, nan], 2)
    assert monitor.should_stop([nan, 5.0, nan, 4.0, nan, 3.0], 2)


def test_the_smallest_loss_decides_between_equal_values():
    """Fixed: with a BLEU of 0 in each epoch, the first, hardly trained epoch was the result."""
    monitor, zeros = Monitor("val_bleu", "max"), [0.0] * 4
    assert monitor.best_epoch(zeros, [4, 3, 2, 3]) == 3
    assert monitor.best_epoch(zeros, [2, 2, 2, 2]) == monitor.best_epoch(zeros) == 1
    assert monitor.best_epoch(zeros, [float("nan")] * 4) == 1
    assert monitor.best_epoch([0, 1, 1, 0], [9, 2, 1, 0]) == 3
    assert not monitor.should_stop(zeros, 2, [4, 3, 2, 3])
    assert monitor.should_stop(zeros, 2, [4, 3, 3, 3]) and monitor.should_stop(zeros, 2)
