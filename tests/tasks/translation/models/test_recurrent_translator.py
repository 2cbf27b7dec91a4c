"""Recurrent translators: the papers' equations in plain NumPy, and the effect of each setting."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from attnlab.attention import (
    BahdanauAttention,
    LuongGlobalAttention,
    MultiHeadAttention,
    PoolingAttention,
)
from attnlab.attention.contract import normal
from attnlab.errors import RequestError
from attnlab.tasks.translation.models.build import build_translator
from attnlab.text.tokenizers import END, PAD, START

UNITS, EMBEDDING, MAXOUT, V = 6, 5, 7, 11
SOURCE = np.array([[4, 5, 6, 7, END], [8, 9, END, PAD, PAD]], np.int32)
TARGET = np.array([[START, 5, 6, 7], [START, 8, 9, 10]], np.int32)


def make(attention=BahdanauAttention, max_source=5, shared=False, **changes):
    keras.utils.set_random_seed(5)
    settings = {"units": UNITS, "embedding": EMBEDDING, "maxout_units": MAXOUT, "dropout": 0.0}
    model = build_translator(
        "rnn",
        {**settings, **changes},
        attention,
        source_size=V,
        target_size=V,
        shared=shared,
        max_source=max_source,
        max_target=9,
    )
    for number, weight in enumerate(model.trainable_variables):
        weight.assign(normal(*weight.shape, seed=number) / 2)
    return model


# --- the equations, word by word ---------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    exponentials = np.exp(x - x.max())
    return exponentials / exponentials.sum()


def papers_gru(cell, x, h, w=None):
    """Bahdanau et al., A.1.1, with the reset gate after the product U h.

    Keras's z is the paper's 1 - z, and the paper leaves out biases.
    """
    w = cell.kernel.numpy() if w is None else w
    u, b = (weight.numpy() for weight in (cell.recurrent_kernel, cell.bias))
    x_z, x_r, x_h = np.split(x @ w + b[0], 3, axis=-1)
    h_z, h_r, h_h = np.split(h @ u + b[1], 3, axis=-1)
    z, r = 1 - sigmoid(x_z + h_z), sigmoid(x_r + h_r)
    proposed = np.tanh(x_h + r * h_h)
    return (1 - z) * h + z * proposed


def read_source(model, ids):
    """States (S, 2 units) of one sentence, and the backward state of its first word."""
    both = model.encoder.recurrent[0]
    words = model.source_embedding.embeddings.numpy()[ids]
    forward, backward = [np.zeros(UNITS // 2)], [np.zeros(UNITS // 2)]
    for x in words:
        forward.append(papers_gru(both.forward_layer.cell, x, forward[-1]))
    for x in words[::-1]:
        backward.append(papers_gru(both.backward_layer.cell, x, backward[-1]))
    states = np.concatenate([forward[1:], backward[:0:-1]], axis=1)
    return states, backward[-1]


@pytest.mark.parametrize("row", [0, 1])
def test_bahdanau_is_the_papers_appendix(row):
    model = make(output="maxout")
    ids = SOURCE[row][SOURCE[row] != PAD]
    memory, first = read_source(model, ids)
    decoder, attention = model.decoder, model.decoder.attention
    w, u, v = (weight.numpy() for weight in attention.trainable_variables)
    state = np.tanh(first @ model.initial[0][0].kernel.numpy())  # s_0 = tanh(W_s h_1)
    logits, weights = [], []
    for word in TARGET[row]:
        embedded = model.target_embedding.embeddings.numpy()[word]
        scores = np.array([v @ np.tanh(state @ w + h @ u) for h in memory])
        weights.append(softmax(scores))
        context = weights[-1] @ memory
        (cell,) = decoder.cells.cells
        w_and_c = np.concatenate([cell.kernel, decoder.cells.entering_kernel])
        state = papers_gru(cell, np.concatenate([embedded, context]), state, w_and_c)
        wide = np.concatenate([state, embedded, context]) @ decoder.combine.kernel.numpy()
        maxout = np.array([max(wide[2 * j], wide[2 * j + 1]) for j in range(MAXOUT)])
        logits.append(maxout @ model.vocabulary.kernel.numpy() + model.vocabulary.bias.numpy())
    np.testing.assert_allclose(model((SOURCE, TARGET))[row], logits, atol=1e-4)
    maps = model.decode(TARGET, model.encode(SOURCE)).weights[0][row, 0]
    np.testing.assert_allclose(maps[:, : len(ids)], weights, atol=1e-5)


def lstm(cell, x, h, c, fed=0):
    w, u, b = (weight.numpy() for weight in (cell.kernel, cell.recurrent_kernel, cell.bias))
    i, f, new, o = np.split(x @ w + h @ u + b + fed, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
    return sigmoid(o) * np.tanh(c), c


@pytest.mark.parametrize("feeding", [False, True])
def test_luong_is_the_papers_section_3(feeding):
    """Two layers of LSTM, the encoder's states copied, general scores, Eq. 5, input feeding."""
    model = make(
        lambda: LuongGlobalAttention(score="general"),
        cell="lstm",
        layers=2,
        bidirectional=False,
        initial_state="copy",
        input_feeding=feeding,
    )
    for row, length in ((0, 5), (1, 3)):
        states = [[np.zeros(UNITS)] * 2 for _ in range(2)]
        memory = []
        for x in model.source_embedding.embeddings.numpy()[SOURCE[row, :length]]:
            for layer, part in zip(model.encoder.recurrent, states, strict=True):
                part[:] = lstm(layer.cell, x, *part)
                x = part[0]
            memory.append(x)
        memory, attentional, expected = np.array(memory), np.zeros(UNITS), []
        cells = model.decoder.cells
        for x in model.target_embedding.embeddings.numpy()[TARGET[row]]:
            fed = attentional @ cells.entering_kernel.numpy() if feeding else 0
            for cell, part in zip(cells.cells, states, strict=True):
                part[:] = lstm(cell, x, *part, fed)
                x, fed = part[0], 0
            weights = softmax(memory @ model.decoder.attention.kernel.numpy() @ x)
            joined = np.concatenate([weights @ memory, x])
            attentional = np.tanh(joined @ model.decoder.combine.kernel.numpy())
            expected.append(attentional)
        output = model.decode(TARGET, model.encode(SOURCE))
        np.testing.assert_allclose(output.states[row], expected, atol=1e-5)


# --- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [13, 4001])
def test_the_initial_spread_of_logits_doesnt_depend_on_the_vocabulary(words):
    """Luong's matrix, uniform in +-0.1 for 1,000 units; before a smaller one a tanh saturates."""
    for units in (10, 250):
        model = build_translator(
            "rnn", {"units": units}, LuongGlobalAttention, source_size=V, target_size=words
        )
        kernel = model.vocabulary.kernel.numpy()
        bound = 0.1 * (1000 / units) ** 0.5
        assert bound * 0.9 < np.abs(kernel).max() <= bound * 1.0001
        assert np.std(kernel) == pytest.approx(bound / 3**0.5, rel=0.2)


def test_a_reversed_source_keeps_its_order_in_memory():
    model, plain = (make(reverse_source=value) for value in (True, False))
    reversed_words = np.array([[7, 6, 5, 4, END], [9, 8, END, PAD, PAD]], np.int32)
    one, other = model.encode(SOURCE), plain.encode(reversed_words)
    order = np.array([[3, 2, 1, 0, 4], [1, 0, 2, 3, 4]])
    for ours, theirs in zip(one.projected, other.projected, strict=True):
        expected = np.take_along_axis(theirs.numpy(), order[..., None], axis=1)
        np.testing.assert_allclose(ours[0], expected[0], atol=1e-6)
        np.testing.assert_allclose(ours[1, :3], expected[1, :3], atol=1e-6)
    np.testing.assert_allclose(one.start[0][0], other.start[0][0], atol=1e-6)


def test_location_scores_reach_as_far_as_the_longest_source():
    model = make(lambda: LuongGlobalAttention(score="location"), max_source=7)
    assert model.fixed_length == 7 and make().fixed_length is None
    assert make(lambda: LuongGlobalAttention(score="location", max_length=4)).fixed_length == 4
    with pytest.raises(RequestError, match="reaches 7 memory steps"):
        model.encode(np.full((1, 8), 4, np.int32))


@pytest.mark.parametrize(
    "attention, changes, words",
    [
        (PoolingAttention, {}, "attention: expected a mechanism with a query"),
        (BahdanauAttention, {"input_feeding": True}, "input_feeding: expected false"),
        (BahdanauAttention, {"units": 7}, "model.units: expected an even number"),
        (BahdanauAttention, {"initial_state": "copy"}, "expected an encoder of one direction"),
        (
            BahdanauAttention,
            {"tie_embeddings": "output"},
            "model.tie_embeddings=output: expected embeddings as wide .* 6, got 5",
        ),
        (LuongGlobalAttention, {"encoder_units": 4}, "score=dot needs .* 6 and 8"),
        (lambda: MultiHeadAttention(heads=4), {}, "heads = 4 must divide units = 6"),
    ],
)
def test_impossible_settings_are_refused(attention, changes, words):
    with pytest.raises(RequestError, match=words):
        make(attention, **changes)
