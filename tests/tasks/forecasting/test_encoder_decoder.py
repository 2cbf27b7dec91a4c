"""The decoder of forecasts, compared with a plain loop over Keras's cells."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from attnlab.config.options import option_class, option_content
from attnlab.config.sections import Option
from attnlab.tasks.forecasting.kind import KIND
from attnlab.training.plan import plan_in_order
from attnlab.training.program import Compiled, Program

S, HORIZON, AT_ONCE = 7, 5, 2
STEPS = 3  # the last one writes a value that is cut off
DRAW = np.random.default_rng(47)
HISTORY = DRAW.normal(size=(4, S, 1)).astype(np.float32)
TARGET = DRAW.normal(size=(4, HORIZON)).astype(np.float32)
SMALL = {"window": 2, "heads": 3, "units": None}
CELLS = {
    "simple": keras.layers.SimpleRNNCell,
    "gru": keras.layers.GRUCell,
    "lstm": keras.layers.LSTMCell,
}


def make(attention: str, inputs: int = 0, **changes):
    """A small forecaster, by default without anchor and normalization."""
    content = option_content("attention", attention)
    mechanism_settings = {key: value for key, value in SMALL.items() if key in content}
    mechanism_settings |= {"units": 6} if attention == "differential" else {}  # twice the heads
    mechanism_settings |= {key: changes.pop(key) for key in ("alignment",) if key in changes}
    arguments = {
        "units": 3,
        "at_once": AT_ONCE,
        "normalization": "none",
        "anchor": False,
        **changes,
    }
    keras.utils.set_random_seed(53)
    cls, shape = option_class("attention", attention), (None, S, 1 + inputs)
    return KIND.models.build(
        Option("rnn", arguments), lambda: cls(**mechanism_settings), shape, horizon=HORIZON
    )


def drawn(variables) -> None:
    """Give all weights values other than 0."""
    for variable in variables:
        variable.assign(0.4 * np.random.default_rng(59).normal(size=variable.shape))


def keras_cells(model, kind: str) -> list:
    """Keras's cells with the decoder's weights; the first reads values and context as one input."""
    result = []
    for number, cell in enumerate(model.cells.cells):
        kernel, *others = cell.get_weights()
        if number == 0 and model.before:
            kernel = np.concatenate([kernel, model.cells.entering_kernel])
        copy = CELLS[kind](cell.units)
        copy.build((None, len(kernel)))
        copy.set_weights([kernel, *others])
        result.append(copy)
    return result


def through(cell, sequence) -> tuple:
    """The outputs (B, S, U) of a Keras cell, and its last state, one or two of (B, U)."""
    state, outputs = cell.get_initial_state(len(sequence)), []
    state = list(state) if isinstance(state, list | tuple) else [state]
    for at in range(sequence.shape[1]):
        output, state = cell(sequence[:, at], state)
        outputs.append(output)
    return tf.stack(outputs, axis=1), state


def encoded_by_hand(model, sequence) -> tuple:
    """The memory (B, S, W), and each layer's last states, those of both directions joined."""
    last = []
    for layer in model.encoder.recurrent:
        if isinstance(layer, keras.layers.Bidirectional):
            forward, ends = through(layer.forward_layer.cell, sequence)
            backward, others = through(layer.backward_layer.cell, sequence[:, ::-1])
            sequence = tf.concat([forward, backward[:, ::-1]], axis=-1)
            last.append([tf.concat(parts, axis=-1) for parts in zip(ends, others, strict=True)])
        else:
            sequence, ends = through(layer.cell, sequence)
            last.append(ends)
    return sequence, last


def look(model, query, states) -> tuple:
    """Bahdanau's or Luong's (dot) context and weights of one query (B, W)."""
    layer = model.attention
    if layer.placement == "before_step":
        hidden = (query @ layer.query_kernel)[:, None] + states @ layer.memory_kernel
        scores = tf.einsum("bsu,u->bs", tf.tanh(hidden), layer.score_vector)
    else:
        scores = tf.einsum("bw,bsw->bs", query, states)
    weights = tf.nn.softmax(scores)
    return tf.einsum("bs,bsw->bw", weights, states), weights


def by_hand(model, kind: str, history) -> tuple:
    """The forecast (B, horizon) and the weights (B, T, S), step by step."""
    memory, states = encoded_by_hand(model, history)
    cells = keras_cells(model, kind)
    newest, forecast, seen = history[:, -AT_ONCE:, 0], [], []
    straight = history[:, -3:, 0] @ model.linear.kernel + history[:, -1]
    straight = tf.pad(straight, [[0, 0], [0, 1]])
    for step in range(STEPS):
        entering, context = newest, None
        if model.before:
            context, weights = look(model, states[-1][0], memory)
            entering = tf.concat([newest, context], axis=-1)
        for number, cell in enumerate(cells):
            entering, states[number] = cell(entering, states[number])
        if model.reads == "attentional_state":
            context, weights = look(model, entering, memory)
            features = model.combine(tf.concat([context, entering], axis=-1))
        else:  # Bahdanau's context, or none
            features = entering if context is None else tf.concat([context, entering], axis=-1)
        seen += [] if context is None else [weights]
        newest = model.head(features) + straight[:, AT_ONCE * step : AT_ONCE * (step + 1)]
        forecast.append(newest)
    return tf.concat(forecast, axis=-1)[:, :HORIZON], seen


@pytest.mark.parametrize(
    ("attention", "kind", "changes"),
    [
        ("bahdanau", "gru", {}),
        ("bahdanau", "lstm", {"bidirectional": True}),
        ("luong_global", "lstm", {"layers": 2, "readout": "attentional_state"}),
        (
            "luong_global",
            "simple",
            {"bidirectional": True, "layers": 2, "readout": "attentional_state"},
        ),
        ("none", "gru", {"layers": 2}),
    ],
)
def test_it_is_a_loop_over_the_cells_of_keras(attention, kind, changes):
    """Values, gradients of inputs and encoder weights, and each step's attention weights."""
    model = make(attention, cell=kind, highway=3, anchor=True, **changes)
    drawn(model.trainable_weights)
    history, encoder = tf.constant(HISTORY), model.encoder.trainable_variables
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(history)
        expected, seen = by_hand(model, kind, history)
        result = model(history)
        losses = [tf.reduce_mean(tf.square(item - TARGET)) for item in (expected, result)]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    expected, result = (tape.gradient(loss, [history, *encoder]) for loss in losses)
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    weights = model.attention_weights(history)
    if attention == "none":
        assert weights is None
    else:
        np.testing.assert_allclose(weights[:, 0], tf.stack(seen, axis=1), rtol=1e-4, atol=1e-6)


def test_the_query_of_all_steps_is_at_the_end_of_the_history():
    weights = np.asarray(make("luong_local", alignment="monotonic").attention_weights(HISTORY))
    assert weights.shape == (len(HISTORY), 1, STEPS, S)
    assert (weights[..., : S - 3] == 0).all() and (weights[..., S - 3 :] > 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def squared_error(target, output):
    return tf.reduce_mean(tf.square(target - output), axis=-1)


# What XLA takes grows with the cell.
@pytest.mark.parametrize(("jit", "cell"), [(False, "lstm"), (True, "simple")])
def test_a_compiled_epoch_equals_a_plain_loop(jit, cell):
    changes = {"cell": cell, "highway": 2, "normalization": "last"}
    model, plain = make("bahdanau", **changes), make("bahdanau", **changes)
    parts = model, keras.optimizers.SGD(), squared_error
    program = Program(*parts, HISTORY, TARGET, compiled=Compiled(*parts, jit=jit))
    plan = plan_in_order(np.array([0, 1, 2, 3, 1, 0, 3]), 3)
    losses, _ = program.train(plan, np.full(plan.steps, 0.1), 0)
    optimizer = keras.optimizers.SGD(0.1)
    for rows, real, loss in zip(plan.indices, plan.weights, losses, strict=True):
        rows = rows[real == 1]
        with tf.GradientTape() as tape:
            expected = tf.reduce_mean(squared_error(TARGET[rows], plain(HISTORY[rows])))
        optimizer.apply(tape.gradient(expected, plain.trainable_weights), plain.trainable_weights)
        assert loss == pytest.approx(float(expected), rel=1e-5)
    for one, other in zip(program.model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_examples_name_the_steps_of_their_queries(learner_of, tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("\n".join(["v", *(str(10 + at % 7 + at % 3) for at in range(90))]))
    words = (
        *("task=series", f"task.path={path}", "task.column=v", "task.history=7", "task.horizon=5"),
        *("model.at_once=2", "model.units=3", "trainer.batch_size=17", "trainer.jit=false"),
    )
    learner = learner_of(*words)
    examples = learner.examples()
    assert learner.stackable == 1
    assert examples["weights"].shape[1:] == (1, STEPS, S)
    assert examples["ahead"].tolist() == [1, 3, 5]
