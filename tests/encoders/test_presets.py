"""Presets of keras-hub as encoders: keras-hub's tokens and vectors, by this project's ids."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hub_presets import BACKBONES, WORDS, make_tokenizer, write_preset
from hypothesis import given
from hypothesis import strategies as st

from attnlab.encoders.opening import open_source, save_source, saved_source
from attnlab.encoders.presets import PresetSource, PresetTokenizer, segments
from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, PAD, START, UNKNOWN
from attnlab.text.words import split_words

pytest.importorskip("keras_hub")
ROWS = np.array(
    [
        [START, 9, 4, 17, END, 30, 5, END, PAD, PAD, PAD],
        [START, 11, 12, END, *[PAD] * 7],
        [START, 11, END, 13, END, 14, END, 15, 16, 17, END],
    ],
    np.int32,
)
REAL = ROWS != PAD
TEXTS = [
    *("The quick foxes jumped, the CAFÉ …", "[MASK] [PAD] x it's 12345", "abc aab  ab-b.\n\nIİß"),
    *("漢字 e\u0301 \u00a0 \u200b ≠ ½ ™", "x" * 120, "don't WE'LL  99 !!\t\n ok"),
]
any_text = st.text(st.sampled_from([*"abc éÉ.\n'[]<>/AKMS漢\u0301İß…123"]) | st.characters())
every = pytest.mark.parametrize("name", BACKBONES)


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in BACKBONES[1:]]


@pytest.fixture(scope="module", params=[BACKBONES[0], *OTHERS])
def preset(request, tmp_path_factory):
    """A preset, its backbone, its source, and an encoder with its weights."""
    folder = tmp_path_factory.mktemp(request.param)
    backbone = write_preset(folder, request.param)
    source = PresetSource(str(folder))
    encoder = source.make()
    source.fill(encoder)
    return SimpleNamespace(folder=folder, backbone=backbone, source=source, encoder=encoder)


def inputs_of(preset):
    """The inputs of keras-hub for `ROWS`."""
    inputs = {"token_ids": preset.source.tokenizer.order[ROWS], "padding_mask": np.int32(REAL)}
    if "segment_ids" in preset.backbone.input:
        inputs["segment_ids"] = np.array(segments(ROWS))
    return inputs


def test_vectors_and_the_last_weights_are_those_of_keras_hub(preset):
    vectors, weights = preset.encoder(ROWS)
    outputs = preset.backbone(inputs_of(preset))
    expected = outputs["sequence_output"] if isinstance(outputs, dict) else outputs
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert np.abs(expected).max() > 1
    first, last = preset.backbone.transformer_layers
    inner = keras.Model(preset.backbone.input, first.output)(inputs_of(preset))
    _, expected = last(inner, padding_mask=REAL, return_attention_scores=True)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    assert (np.array(weights).transpose(0, 3, 1, 2)[~REAL] == 0).all()


def test_padding_changes_nothing_and_dropout_is_active_only_in_training(preset):
    short, long = preset.encoder(ROWS[1:2, :4]).vectors, preset.encoder(ROWS[1:2]).vectors
    np.testing.assert_allclose(short, long[:, :4], atol=1e-6)
    np.testing.assert_array_equal(long, preset.encoder(ROWS[1:2]).vectors)
    assert np.abs(long - preset.encoder(ROWS[1:2], training=True).vectors).max() > 0.1


def test_it_runs_as_a_graph_and_all_weights_are_trained_in_their_layer(preset):
    encoder = preset.encoder

    @tf.function(jit_compile=True)
    def step(rows):
        with tf.GradientTape() as tape:
            vectors = encoder(rows, training=False).vectors
            loss = tf.reduce_sum(vectors[:, :, 0] ** 2)
        return vectors, tape.gradient(loss, [weight.value for weight in encoder.trainable_weights])

    vectors, gradients = step(ROWS)
    np.testing.assert_allclose(vectors, encoder(ROWS).vectors, atol=1e-5)
    assert None not in gradients
    assert {*encoder.depths} == {weight.path for weight in encoder.weights}
    assert all(
        depth == (int(path.split("transformer_layer_")[1][0]) + 1 if "transformer" in path else 0)
        for path, depth in encoder.depths.items()
    )


def test_a_saved_source_needs_no_preset(preset, tmp_path):
    save_source(tmp_path, preset.source)
    assert not [*tmp_path.rglob("*.h5")]
    again = saved_source(tmp_path)
    encoder = again.make()
    assert np.abs(encoder(ROWS).vectors - preset.encoder(ROWS).vectors).max() > 0.1
    encoder.set_weights(preset.encoder.get_weights())
    np.testing.assert_array_equal(encoder(ROWS).vectors, preset.encoder(ROWS).vectors)
    assert (again.path, again.max_length) == (str(preset.folder), 19)
    assert again.attention == {"name": "multi_head", "heads": 2}
    assert again.tokenizer.encode(TEXTS) == preset.source.tokenizer.encode(TEXTS)
    assert (again.tokenizer.order == preset.source.tokenizer.order).all()


def test_segments_follow_the_ends():
    assert np.array(segments(ROWS)).tolist() == [
        [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],
        [0] * 11,
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    ]


def test_a_damaged_preset_is_one_sentence(tmp_path):
    for damage in (
        lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'),
        lambda folder: (folder / "tokenizer.json").unlink(),
        lambda folder: (folder / "model.weights.h5").write_bytes(b""),
        shutil.rmtree,
    ):
        folder = tmp_path / "preset"
        write_preset(folder, "BertBackbone")
        damage(folder)
        with pytest.raises(RequestError, match=r"^model\.path: expected .* a preset .*, got .*"):
            source = open_source(str(folder))
            source.fill(source.make())


def test_a_preset_of_another_kind_is_refused(tmp_path):
    import keras_hub

    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 4, "intermediate_dim": 4}
    keras_hub.models.GPT2Backbone(vocabulary_size=5, **sizes).save_to_preset(str(tmp_path))
    with pytest.raises(RequestError, match="expected a preset with one of Bert.*GPT2Backbone"):
        open_source(str(tmp_path))


@every
def test_tokens_are_those_of_keras_hub(name):
    theirs = make_tokenizer(name)
    ours = PresetTokenizer(theirs)
    rows = [[int(token) for token in row] for row in theirs(TEXTS)]
    special = ours.order[:4]
    expected = [[special[UNKNOWN] if token in special else token for token in row] for row in rows]
    assert [ours.order[row].tolist() for row in ours.encode(TEXTS)] == expected
    assert ours.encode([]) == [] and sorted(ours.order) == list(range(ours.size))
    names = [theirs.id_to_token(int(token)) for token in special]
    is_roberta = name == "RobertaBackbone"
    assert names == (
        ["<pad>", "<mask>", "<s>", "</s>"] if is_roberta else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    )


@every
@given(text=any_text | st.sampled_from(["<s> </s> <pad>", "\ud800"]))
def test_no_text_is_a_special_token_and_each_token_has_its_word(name, text):
    tokenizer = TOKENIZERS.setdefault(name, PresetTokenizer(make_tokenizer(name)))
    (ids,), (by_word, numbers) = tokenizer.encode([text]), tokenizer.encode_words(text)
    assert not {PAD, START, END} & {*ids, *by_word}
    assert len(numbers) == len(by_word) and numbers == sorted(numbers)
    assert {*numbers} <= {*range(len(split_words(text)))}


TOKENIZERS: dict[str, PresetTokenizer] = {}


def test_words_labels_and_unknown_words():
    bert, roberta = (PresetTokenizer(make_tokenizer(BACKBONES[at])) for at in (0, 2))
    text = "The FOXES, zebra."
    (ids,) = bert.encode([text])
    assert bert.encode_words(text) == (ids, [0, 1, 1, 2, 3, 4])
    labels = ["<start>", "the", "fox", "·es", ",", "⁇", ".", "<end>"]
    assert bert.pieces([START, *ids, END]) == labels
    assert bert.unknown("The Zebra sees foxes") == ["Zebra", "sees"]
    (ids,) = roberta.encode(["the fox"])
    assert roberta.encode_words("the fox") == (ids, [0, 1])
    assert roberta.pieces(ids) == ["the", "fox"] and roberta.unknown("漢 fox") == []
    assert bert.lowercase and not roberta.lowercase
    assert bert.vocabulary == list(WORDS) and bert.pieces([]) == []
