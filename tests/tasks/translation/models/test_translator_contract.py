"""The contract of every translator, with every mechanism of conf/attention at every placement."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_models import (
    assert_drops_in_training_alone,
    assert_every_weight_learns,
    assert_saves_and_loads,
)
from small_translators import QUERYING, own_settings, small_translator

from attnlab.config.options import option_content
from attnlab.layers.positional_encoding import KINDS
from attnlab.tasks.translation.models.recurrent import RecurrentSettings
from attnlab.tasks.translation.models.transformer import TransformerSettings
from attnlab.tasks.translation.search import Search
from attnlab.text.tokenizers import END, PAD, START

S, T, V_SOURCE, V_TARGET = 5, 4, 11, 13
SIZES = {"source_size": V_SOURCE, "target_size": V_TARGET, "max_source": S, "max_target": T + 1}
SOURCE = np.array([[4, 5, 6, 7, END], [10, 4, END, PAD, PAD]], np.int32)
TARGET = np.array([[START, 5, 6, 12], [START, 8, PAD, PAD]], np.int32)
SMALL = {
    "rnn": {"units": 8, "embedding": 6, "maxout_units": 5, "dropout": 0.0},
    "transformer": {"units": 8, "heads": 2, "feed_forward": 11, "dropout": 0.0},
}
TRANSLATORS = {"rnn": RecurrentSettings, "transformer": TransformerSettings}
Settings = tuple[tuple[str, Any], ...]


class Case(NamedTuple):
    """A model with a mechanism, given by their settings that differ from the defaults."""

    model: str
    attention: str
    choices: Settings = ()
    changes: Settings = ()

    def __str__(self) -> str:
        settings = [f"{key}={value}" for key, value in (*self.choices, *self.changes)]
        return "-".join([self.model, self.attention, *settings])


def model_content(model: str) -> dict[str, Any]:
    return option_content("model/settings", f"translation_{model}")


@pytest.mark.parametrize("model", TRANSLATORS)
def test_the_yaml_lists_the_settings_and_a_rule_for_each(model):
    content = model_content(model)
    from_yaml = own_settings(content)
    defaults = asdict(TRANSLATORS[model]())
    assert content["name"] == model and set(content["rules"]) == set(from_yaml)
    if "heads" in from_yaml:
        assert (from_yaml.pop("heads"), defaults.pop("heads")) == (
            "${oc.select:attention.heads,4}",
            4,
        )
    assert defaults == from_yaml


def build(case: Case, **changes):
    settings = {**own_settings(model_content(case.model)), **SMALL[case.model]}
    settings |= {**dict(case.changes), **changes}
    return small_translator(
        case.model, case.attention, settings, by=0.3, choices=dict(case.choices), **SIZES
    )


@functools.cache
def built(case: Case):
    """The same model, cached for tests that don't change it."""
    return build(case)


PLACES: tuple[Settings, ...] = (
    (("placement", "before_step"),),
    (("placement", "after_step"),),
    (("placement", "after_step"), ("input_feeding", True)),
)
CELLS = ("simple", "gru", "lstm")
# Each mechanism at each place, with each cell. By default one place, another one than the
# mechanism before.
GRID = [
    pytest.param(
        Case("rnn", name, (), (("cell", CELLS[(turn + n) % 3]), *PLACES[(turn + 2 * n) % 3])),
        marks=pytest.mark.slow if n else (),
    )
    for turn, name in enumerate(QUERYING)
    for n in range(3)
]
ONE = ("layers", 1)
CASES = [
    *GRID,
    # How many layers there are is no mechanism's concern: one has the default.
    *(Case("transformer", name, (), () if name == "multi_head" else (ONE,)) for name in QUERYING),
    # Scores that depend on the source's length.
    Case("transformer", "luong_global", (("score", "location"),), (ONE,)),
    Case("rnn", "luong_global", (("score", "location"),)),
    Case("transformer", "luong_local", (("alignment", "monotonic"),), (ONE,)),
    Case("rnn", "luong_local", (("alignment", "monotonic"),)),
    Case("rnn", "none", (), (("layers", 2), ("bidirectional", False), ("initial_state", "copy"))),
    Case("rnn", "none", (), (("output", "maxout"), ("layers", 2), ("cell", "simple"))),
    Case("rnn", "bahdanau", (), (("layers", 2), ("cell", "lstm"))),
    Case("rnn", "bahdanau", (), (("output", "maxout"),)),
    Case("rnn", "bahdanau", (), (("tie_embeddings", "output"), ("embedding", 8))),
    Case("rnn", "luong_local", (), (("layers", 2), ("input_feeding", True), ("cell", "lstm"))),
    Case("rnn", "luong_local", (), (("reverse_source", True),)),
    Case("transformer", "bahdanau", (), (("positions", "learned"), ("norm", "post"), ONE)),
    Case("transformer", "multi_head", (), (("tie_embeddings", "none"), ONE)),
    *(
        Case("transformer", "multi_head", (), (("positions", kind), ONE))
        for kind in KINDS
        if kind not in ("sinusoidal", "learned")
    ),
    Case("transformer", "multi_head", (), (("positions", "rope"), ("short_convolution", 3), ONE)),
    Case("transformer", "multi_head", (("kv_heads", 1), ("query_key_norm", True)), (ONE,)),
    Case("transformer", "multi_head", (("sink", True), ("gate", "elementwise")), (ONE,)),
]
every = pytest.mark.parametrize("case", CASES, ids=str)


def stepwise(model, memory, target) -> np.ndarray:
    """Logits (B, T, V), one token at a time."""
    state = model.initial_state(memory, target.shape[1])
    logits = []
    for index in range(target.shape[1]):
        step, state = model.step(target[:, index], tf.constant(index), memory, state)
        logits.append(step)
    return np.stack(logits, axis=1)


@functools.cache
def memory_of(case: Case):
    return built(case).encode(SOURCE)


@functools.cache
def whole(case: Case) -> tuple[np.ndarray, tuple]:
    """Logits and attention weights of the two sentences, all steps at once."""
    model = built(case)
    output = model.decode(TARGET, memory_of(case))
    return model.logits(output.states).numpy(), output.weights


@every
def test_a_translator_keeps_its_contract(case):
    assert_steps_equal_the_whole(case)
    assert_neither_padding_nor_the_batch_changes_a_result(case)
    assert_no_step_sees_a_later_token(case)
    assert_gradients_reach_every_weight(case)


def assert_steps_equal_the_whole(case):
    logits = stepwise(built(case), memory_of(case), tf.constant(TARGET))
    expected, weights = whole(case)
    assert expected.dtype == "float32" and expected.shape == (2, T, V_TARGET)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert bool(weights) == (case.attention != "none")


def assert_neither_padding_nor_the_batch_changes_a_result(case):
    """The short sentence without padding, and one that differs in a word of its source."""
    source = np.array([[10, 4, END], [10, 5, END]], np.int32)
    target = np.array([[START, 8], [START, 8]], np.int32)
    logits = built(case)((source, target)).numpy()
    np.testing.assert_allclose(logits[0], whole(case)[0][1, :2], atol=1e-5)
    assert np.abs(logits[1] - logits[0]).max() > 1e-5


def assert_no_step_sees_a_later_token(case):
    later = TARGET.copy()
    later[0, 2] = 4
    expected, _ = whole(case)
    model = built(case)
    changed = model.logits(model.decode(later, memory_of(case)).states).numpy()
    np.testing.assert_array_equal(changed[0, :2], expected[0, :2])
    np.testing.assert_array_equal(changed[1], expected[1])
    assert np.all(np.abs(changed - expected)[0, 2:].max(axis=-1) > 1e-5)


def assert_gradients_reach_every_weight(case):
    model = built(case)

    def loss():
        logits = model((SOURCE, TARGET), training=True)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(TARGET, logits)

    assert_every_weight_learns(model, loss)


FEW = [
    Case("rnn", "none", (), (("layers", 2), ("bidirectional", False), ("initial_state", "copy"))),
    Case("rnn", "bahdanau"),
    Case("rnn", "luong_local", (), (("reverse_source", True),)),
    Case("transformer", "multi_head"),
]
few = pytest.mark.parametrize("case", FEW, ids=str)


@few
def test_attend_gives_the_weights_of_all_layers(case):
    """By a graph for any shape, compared with eager weights."""
    model = built(case)
    weights = model.attention_weights(SOURCE, TARGET)
    if case.attention == "none":
        assert weights is None
        return
    for number, layer in enumerate(whole(case)[1]):
        np.testing.assert_allclose(weights[:, number], layer, atol=1e-5)
    assert model.attention_weights(SOURCE[1:, :3], TARGET[1:, :2]).shape[-2:] == (2, 3)
    heads = 2 if case.attention == "multi_head" else 1
    assert weights.shape == (2, 1 if case.model == "rnn" else 2, heads, T, S)
    assert np.all(weights[1, ..., 3:] == 0) and weights.dtype == np.float32
    assert np.all(weights.sum(-1) <= 1 + 1e-5)


@few
def test_a_beam_with_a_cache_scores_a_translation_as_the_whole_model(case):
    model, rows = built(case), [SOURCE[0], SOURCE[1, :3]]
    for row, (best, *_) in zip(rows, Search(model, beam=3, extra_length=1)(rows), strict=True):
        target = [START, *best.tokens, END]
        logits = model((row[None], np.array([target[:-1]], np.int32)))[0]
        shares = tf.nn.log_softmax(logits).numpy()
        expected = sum(shares[at, token] for at, token in enumerate(target[1:]))
        assert best.log_probability == pytest.approx(expected, abs=1e-4)


@few
def test_weights_can_be_saved_and_loaded(case, tmp_path):
    assert_saves_and_loads(built(case), (SOURCE, TARGET), tmp_path)


@pytest.mark.parametrize("case", [FEW[1], FEW[3]], ids=str)
def test_dropout_is_active_only_in_training(case):
    assert_drops_in_training_alone(build(case, dropout=0.5, layers=2), (SOURCE, TARGET))


@few
def test_mixed_precision_computes_nearly_the_same(case):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = build(case)
    finally:
        keras.config.set_dtype_policy("float32")
    model.set_weights(built(case).get_weights())
    assert all(weight.dtype == "float32" for weight in model.trainable_variables)
    memory = model.encode(SOURCE)
    states = model.decode(TARGET, memory).states
    logits = model.logits(states)
    assert (states.dtype, logits.dtype) == ("bfloat16", "float32")
    np.testing.assert_allclose(logits, whole(case)[0], atol=0.25)
    steps = stepwise(model, memory, tf.constant(TARGET))
    np.testing.assert_allclose(steps, logits, atol=0.2)
