"""The Transformer, compared with PyTorch and the counts of paper and book, and its settings."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from attnlab.attention import (
    BahdanauAttention,
    DifferentialAttention,
    MultiHeadAttention,
)
from attnlab.attention.contract import normal
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import sinusoidal
from attnlab.tasks.translation.models.build import build_translator
from attnlab.text.tokenizers import END, PAD, START

UNITS, HEADS, INNER, LAYERS, V_SOURCE, V_TARGET = 12, 3, 17, 2, 11, 13
SOURCE = np.array([[4, 5, 6, 7, END], [8, 9, END, PAD, PAD]], np.int32)
TARGET = np.array([[START, 5, 6, 7], [START, 8, 12, PAD]], np.int32)


def make(attention=lambda: MultiHeadAttention(heads=HEADS), shake=True, **changes):
    keras.utils.set_random_seed(5)
    build = {"source_size": V_SOURCE, "target_size": V_TARGET, "max_source": 5, "max_target": 7}
    build |= {key: changes.pop(key) for key in (*build, "shared") if key in changes}
    settings = {"units": UNITS, "layers": LAYERS, "heads": HEADS, "feed_forward": INNER}
    settings |= {"dropout": 0.0, "tie_embeddings": "none"}
    model = build_translator("transformer", {**settings, **changes}, attention, **build)
    for number, weight in enumerate(model.trainable_variables if shake else ()):
        weight.assign(weight + normal(*weight.shape, seed=number) / 5)
    return model


def test_each_cross_attention_has_its_layers_depth():
    """l0 = 0.8 - 0.6 exp(-0.3 i) of differential attention depends on the layer i."""
    model = make(lambda: DifferentialAttention(heads=HEADS), layers=3)
    crossed = [layer.cross_attention for layer in model.decoder]
    assert [layer.depth for layer in crossed] == [0, 1, 2]
    assert [layer.start for layer in crossed] == pytest.approx([0.2, 0.355509, 0.470713], abs=1e-6)


# --- the paper's stacks ------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_is_two_stacks_of_the_papers_layers(norm):
    """Section 3; the layers themselves have tests of their own against the equations."""
    model = make(norm=norm)
    ids, target = SOURCE[1:, :3], TARGET[1:, :3]

    def embedded(embedding, tokens):
        vectors = embedding.embeddings.numpy()[tokens] * np.float32(UNITS**0.5)
        return vectors + sinusoidal(tokens.shape[1], UNITS).astype(np.float32)

    memory = embedded(model.source_embedding, ids)
    for layer in model.encoder:
        memory = layer(memory).vectors
    memory = model.norms["source"](memory) if norm == "pre" else memory
    states = embedded(model.target_embedding, target)
    for layer in model.decoder:
        states = layer(states, layer.project(memory)).vectors
    states = model.norms["target"](states) if norm == "pre" else states
    logits = states @ model.vocabulary.kernel.numpy() + model.vocabulary.bias.numpy()
    np.testing.assert_allclose(model((SOURCE, TARGET))[1:, :3], logits, atol=1e-5)


# --- counts ------------------------------------------------------------------------------------

BASE = {"units": 512, "layers": 6, "heads": 8, "feed_forward": 2048}


def test_the_papers_base_model_has_its_65_million_parameters():
    """Table 3, with a vocabulary of 37,000 that all three matrices share.

    Measured with two layers and few words; the count is linear in both.
    """
    counts = {}
    for layers, words in ((1, 20), (2, 20), (1, 21)):
        model = make(
            lambda: MultiHeadAttention(heads=8),
            **{**BASE, "layers": layers, "norm": "post", "tie_embeddings": "all"},
            source_size=words,
            target_size=words,
            shared=True,
            shake=False,
        )
        counts[layers, words] = model.count_params()
    pair = counts[2, 20] - counts[1, 20]
    word = counts[1, 21] - counts[1, 20]
    assert (pair, word) == (3_152_384 + 4_204_032, 512)
    total = counts[1, 20] + 5 * pair + (37_000 - 20) * word
    assert total == 6 * pair + 37_000 * 512 == 63_082_496
    assert round(total / 65e6, 1) == 1.0


def test_the_books_model_has_the_books_parameters():
    """Chapters 19 to 22: 2,404 and 3,864 words, frozen word vectors, one output projection."""
    settings = {**BASE, "norm": "post", "tie_embeddings": "none", "book": True, "layers": 1}
    model = make(
        lambda: MultiHeadAttention(heads=8, book=True),
        **settings,
        source_size=2404,
        target_size=3864,
        shake=False,
    )
    assert [layer.count_params() for layer in (*model.encoder, *model.decoder)] == [
        2_233_536,
        2_365_312,
    ]
    trainable = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
    assert trainable == 2_233_536 + 2_365_312 + 513 * 3864
    assert model.count_params() - trainable == 512 * (2404 + 3864)
    # With the book's six layers: 29,575,320 trainable ones.
    assert trainable + 5 * (2_233_536 + 2_365_312) == 29_575_320


# --- the book's model --------------------------------------------------------------------------


def book(**changes):
    heads = {"units": 16, "heads": 2, "norm": "post", "book": True}
    return make(lambda: MultiHeadAttention(heads=2, book=True), **{**heads, **changes})


def test_the_books_word_vectors_are_frozen_sinusoids_without_scale():
    model = book()
    trainable = {weight.path for weight in model.trainable_variables}
    for embedding in (model.source_embedding, model.target_embedding):
        table = sinusoidal(embedding.input_dim, 16)
        np.testing.assert_allclose(embedding.embeddings, table, atol=1e-6)
        assert embedding.embeddings.path not in trainable
    vectors = model._embed("source", SOURCE, 0, False)
    expected = sinusoidal(V_SOURCE, 16)[SOURCE] + sinusoidal(5, 16)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    for layer in (*model.encoder, *model.decoder):
        assert all(norm.epsilon == 1e-3 for norm in layer.norms)
    assert all(layer.self_attention.book for layer in model.decoder)
    assert all(layer.attention.book for layer in model.encoder)


# --- settings ----------------------------------------------------------------------------------


def test_self_attention_is_multi_head_with_every_cross_attention():
    model = make(BahdanauAttention)
    assert all(isinstance(layer.cross_attention, BahdanauAttention) for layer in model.decoder)
    for layer in model.decoder:
        assert isinstance(layer.self_attention, MultiHeadAttention)
        assert layer.self_attention.heads == HEADS
    options = {"dropout": 0.25, "normalizer": "sparsemax", "kv_heads": 1, "gate": "headwise"}
    model = make(lambda: MultiHeadAttention(heads=4, **options))
    layer = model.decoder[0]
    assert (layer.cross_attention.heads, layer.self_attention.heads) == (4, HEADS)
    for mechanism in (layer.cross_attention, layer.self_attention, model.encoder[0].attention):
        assert {name: getattr(mechanism, name) for name in options} == options


@pytest.mark.parametrize("tie, matrices", [("none", 3), ("output", 2), ("all", 1)])
def test_ties_make_one_matrix_of_several(tie, matrices):
    model = make(tie_embeddings=tie, target_size=V_SOURCE, shared=True)
    large = [weight for weight in model.trainable_variables if V_SOURCE in weight.shape]
    assert len([weight for weight in large if len(weight.shape) == 2]) == matrices
    states = normal(2, 3, UNITS)
    table = model.target_embedding.embeddings.numpy()
    expected = states @ table.T if tie != "none" else model.vocabulary(states)
    np.testing.assert_allclose(model.logits(states), expected, atol=1e-5)


def test_learned_positions_reach_as_far_as_the_longest_sequence():
    model = make(positions="learned", max_source=5, max_target=7)
    assert model.max_positions == 7 and make().max_positions is None
    assert model.source_position.table.shape == model.target_position.table.shape == (7, UNITS)
    assert model((SOURCE, np.full((2, 7), 4, np.int32))).shape == (2, 7, V_TARGET)


@pytest.mark.parametrize(
    "attention, changes, words",
    [
        (None, {"tie_embeddings": "all"}, "tie_embeddings=all: expected one vocabulary"),
        (None, {"book": True, "tie_embeddings": "output"}, "model.book=true: expected model.tie"),
        (None, {"book": True, "norm": "post", "positions": "learned"}, "positions=sinusoidal"),
        (None, {"heads": 5}, "heads = 5 must divide units = 12"),
        (
            lambda: MultiHeadAttention(heads=2, units=4),
            {},
            "as wide as the vectors, 12; .* gives 4",
        ),
    ],
)
def test_impossible_settings_are_refused(attention, changes, words):
    with pytest.raises(RequestError, match=words):
        make(*([attention] if attention else []), **changes)
