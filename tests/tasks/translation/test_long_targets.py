"""Targets so long that a generator draws more than 256 numbers in a step."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from attnlab.attention import BahdanauAttention, LuongGlobalAttention
from attnlab.tasks.translation.models.build import build_translator
from attnlab.tasks.translation.program import TranslationProgram

LONG = 300


def translator(attention, **settings):
    sizes = {"units": 2, "embedding": 2, "maxout_units": 2, "layers": 1, "dropout": 0.0}
    return build_translator("rnn", {**sizes, **settings}, attention, source_size=7, target_size=7)


@pytest.mark.parametrize(
    ("attention", "settings", "draws"),
    [
        (lambda: BahdanauAttention(dropout=0.1), {}, LONG),
        (BahdanauAttention, {}, 1),
        (lambda: LuongGlobalAttention(dropout=0.1), {}, 1),
        (lambda: LuongGlobalAttention(dropout=0.1), {"input_feeding": True}, LONG),
    ],
)
def test_attention_inside_the_loop_draws_at_each_target_step(attention, settings, draws):
    assert translator(attention, **settings).draws(LONG) == draws


@pytest.mark.slow
def test_no_step_draws_numbers_of_the_next_one():
    model = translator(lambda: BahdanauAttention(dropout=0.5))
    program = TranslationProgram(model, keras.optimizers.SGD(0.0), seed=3)
    state = model.decoder.attention._weight_dropout.seed_generator.state
    batch = np.ones((1, 3), np.int32), np.ones((1, LONG + 1), np.int32)
    ends = []
    for step in range(2):
        program.train([batch], [0.0], step)
        ends.append([int(number) for number in state.value])
    (first, drawn), (second, drawn_again) = ends
    assert drawn == drawn_again == LONG
    assert first != second
