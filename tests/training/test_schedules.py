"""Schedules, compared with the papers' formulas and with Keras."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.training.schedules import Monitor, cosine, learning_rates, noam, plateau

LOSS = Monitor("val_loss")
TOTAL = 101
STEPS = np.arange(1.0, TOTAL + 1)


def rates(name, settings, **changes):
    whole = {"peak": 0.5, "first_step": 0, "steps": TOTAL, "total_steps": TOTAL, "monitor": LOSS}
    return learning_rates(name, settings, **{**whole, **changes})


def test_constant_is_the_peak():
    np.testing.assert_array_equal(rates("constant", {}), np.full(TOTAL, 0.5))


def test_noam_with_the_papers_peak_is_the_papers_equation_3():
    units, warmup = 512, 13
    peak = (units * warmup) ** -0.5
    expected = units**-0.5 * np.minimum(STEPS**-0.5, STEPS * warmup**-1.5)
    given = rates("noam", {"warmup": warmup / TOTAL}, peak=peak)
    np.testing.assert_allclose(given, expected, rtol=1e-12)


def test_noam_without_a_whole_step_of_warmup_starts_at_the_peak():
    np.testing.assert_allclose(noam(STEPS, TOTAL, warmup=1e-9), STEPS**-0.5)


def test_inverse_square_root_is_noam_unless_it_starts_higher_or_stops_falling():
    settings = {"warmup": 13 / TOTAL, "initial": 0.0, "final": 0.0}
    given = rates("inverse_square_root", settings)
    np.testing.assert_allclose(given, rates("noam", {"warmup": 13 / TOTAL}), rtol=1e-12)


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
    given = cosine(STEPS, TOTAL, warmup=warmup / TOTAL, final=final)
    np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-6)


def test_cosine_reaches_the_peak_and_its_final_share():
    share = cosine(STEPS, TOTAL, warmup=0.2, final=0.125)
    assert share.max() == share[19] == 1.0
    assert share[-1] == pytest.approx(0.125)


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
    given = [
        plateau(losses[: epoch + 1], monitor, minimum=0.125, **settings)
        for epoch in range(len(losses))
    ]
    expected = keras_plateau(losses, mode, min_delta, min_lr=0.125, **settings)
    np.testing.assert_allclose(given, expected)


def test_plateau_is_a_function_of_the_history():
    settings = {"factor": 0.1, "patience": 2, "minimum": 0.0}
    given = rates("plateau", settings, steps=3, monitored=[5.0, 3.0, 3.0, 4.0])
    np.testing.assert_allclose(given, [0.05] * 3)
    np.testing.assert_allclose(rates("plateau", settings, steps=1), [0.5])


def test_plateau_counts_epochs_that_were_scored():
    settings = {"factor": 0.5, "patience": 2, "minimum": 0.0}
    nan = float("nan")
    assert plateau([nan, nan, 5.0, nan, nan, 5.0, nan], LOSS, **settings) == 1.0
    assert plateau([nan, nan, 5.0, nan, nan, 5.0, nan, 5.0], LOSS, **settings) == 0.5


def test_constant_and_plateau_use_the_tasks_warm_up():
    warmup = {"warmup": 2 / TOTAL}
    assert rates("constant", warmup)[:3].tolist() == [0.25, 0.5, 0.5]
    plateau = {"factor": 0.5, "patience": 1, "minimum": 0.0}
    assert rates("plateau", {**plateau, **warmup})[:3].tolist() == [0.25, 0.5, 0.5]
