"""Presets of keras-hub as encoders: keras-hub's vectors for this project's token ids."""

import json
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hub_presets import (
    TOKENIZER_OF,
    WORDS,
    byte_pairs,
    cut_off,
    expected_vectors,
    filled,
    inputs_of,
    write_preset,
)

from attnlab.encoders import hub_preset
from attnlab.encoders.hub import HubSource, segments
from attnlab.errors import RequestError
from attnlab.text.tokenizers import END, PAD, START, Tokenizer
from attnlab.training.keras_internals import shapes_alone, substituted_values

ROWS = np.array(
    [
        [START, 9, 4, 17, END, 30, 5, END, PAD, PAD, PAD],
        [START, 11, 12, END, *[PAD] * 7],
        [START, 11, END, 13, END, 14, END, 15, 16, 17, END],
    ],
    np.int32,
)
REAL = ROWS != PAD
WIDTH, HEADS = 14, 2


@pytest.fixture(scope="module", params=TOKENIZER_OF)
def preset(request, tmp_path_factory):
    """A preset, its backbone, its source, and an encoder with its weights."""
    pytest.importorskip("keras_hub")
    folder = tmp_path_factory.mktemp(request.param)
    backbone = write_preset(folder, request.param)
    source = HubSource.open(str(folder))
    return SimpleNamespace(
        name=request.param,
        folder=folder,
        backbone=backbone,
        source=source,
        theirs=(backbone, source.tokenizer),
        encoder=filled(source),
    )


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    pytest.importorskip("keras_hub")
    folder = tmp_path_factory.mktemp("bert")
    write_preset(folder, "BertBackbone")
    return folder


@pytest.fixture
def copied(bert, tmp_path):
    """A preset that a test may damage."""
    return shutil.copytree(bert, tmp_path / "copy")


def test_vectors_are_those_of_keras_hub(preset):
    encoding = preset.encoder(ROWS)
    assert encoding.vectors.shape == (*ROWS.shape, WIDTH)
    expected = expected_vectors(*preset.theirs, ROWS)
    np.testing.assert_allclose(encoding.vectors, expected, atol=1e-5)
    assert np.abs(expected).max() > 1


def test_weights_are_those_of_the_last_layer(preset):
    weights = np.array(preset.encoder(ROWS).weights)
    assert weights.shape == (len(ROWS), HEADS, ROWS.shape[1], ROWS.shape[1])
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    assert (weights.transpose(0, 3, 1, 2)[~REAL] == 0).all()
    first, last = preset.backbone.transformer_layers
    inner = keras.Model(preset.backbone.inputs, first.output)(inputs_of(*preset.theirs, ROWS))
    _, expected = last(inner, padding_mask=REAL, return_attention_scores=True)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_padding_changes_nothing(preset):
    short, long = preset.encoder(ROWS[1:2, :4]).vectors, preset.encoder(ROWS[1:2]).vectors
    np.testing.assert_allclose(short, long[:, :4], atol=1e-6)


def test_it_runs_as_a_graph(preset):
    """BERT, whose layers the others have, also by XLA."""
    jit_compile = preset.name == "BertBackbone"
    run = tf.function(lambda rows: preset.encoder(rows, training=False), jit_compile=jit_compile)
    np.testing.assert_allclose(run(ROWS).vectors, expected_vectors(*preset.theirs, ROWS), atol=1e-5)


def test_other_values_of_the_weights_count(preset):
    encoder = preset.encoder
    with substituted_values(encoder.weights, [2 * weight.value for weight in encoder.weights]):
        doubled = np.array(encoder(ROWS).vectors)
    assert np.abs(doubled - encoder(ROWS).vectors).max() > 0.1
    with substituted_values(
        encoder.weights, [tf.zeros_like(weight.value) for weight in encoder.weights]
    ):
        assert not np.array(encoder(ROWS).vectors).any()


def test_all_weights_are_trained_and_have_their_layer(preset):
    encoder = preset.encoder
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(ROWS).vectors[:, :, 0] ** 2)
    gradients = tape.gradient(loss, [weight.value for weight in encoder.trainable_weights])
    assert None not in gradients
    assert {*encoder.depths} == {weight.path for weight in encoder.weights}
    assert {*encoder.depths.values()} == {0, 1, 2}
    assert all(
        depth == (int(path.split("transformer_layer_")[1][0]) + 1 if "transformer" in path else 0)
        for path, depth in encoder.depths.items()
    )


def test_dropout_is_active_only_in_training(preset):
    still, shaken = preset.encoder(ROWS), preset.encoder(ROWS, training=True)
    assert (np.array(still.vectors) == np.array(preset.encoder(ROWS).vectors)).all()
    assert np.abs(np.array(still.vectors) - shaken.vectors).max() > 0.1


def test_shapes_alone_have_the_same_weights(preset):
    with shapes_alone():
        other = preset.source.make()
        other.build((None, None))
    assert all(weight._value is None for weight in other.weights)
    shapes = [(weight.path, tuple(weight.shape)) for weight in preset.encoder.weights]
    assert [(weight.path, tuple(weight.shape)) for weight in other.weights] == shapes


class Judge(keras.Model):
    def __init__(self, source):
        super().__init__()
        self.encoder, self.head = source.make(), keras.layers.Dense(2)

    def call(self, rows):
        return self.head(self.encoder(rows).vectors)


def test_a_saved_model_needs_no_preset(preset, tmp_path):
    model = Judge(preset.source)
    before = model(ROWS)
    model.save_weights(tmp_path / "model.weights.h5")
    preset.source.tokenizer.save(tmp_path / "tokenizer.json")
    description = json.loads(json.dumps(preset.source.describe()))
    assert description["kind"] == "hub"

    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    source = HubSource.described(description, tokenizer)
    again = Judge(source)
    assert np.abs(again(ROWS) - before).max() > 0.1
    again.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(again(ROWS), before)
    assert source.describe() == description
    with pytest.raises(RequestError, match=r"model\.path: expected the weights of .*got only its"):
        source.fill(again.encoder)


def test_it_is_a_part_of_a_functional_model(preset):
    rows = keras.Input((None,), dtype="int32")
    vectors, weights = preset.encoder(rows)
    assert (vectors.shape, weights.shape) == ((None, None, WIDTH), (None, HEADS, None, None))
    model = keras.Model(rows, vectors)
    np.testing.assert_allclose(model(ROWS), expected_vectors(*preset.theirs, ROWS), atol=1e-5)


def test_a_source_describes_itself(preset):
    source = preset.source
    size = len(byte_pairs()[0]) if preset.name == "RobertaBackbone" else len(WORDS)
    assert source.attention == {"name": "multi_head", "heads": HEADS}
    assert (source.path, source.most, source.tokenizer.size) == (str(preset.folder), 19, size)
    assert preset.encoder.width == WIDTH
    assert source.digest == HubSource.open(str(preset.folder)).digest


def test_composing_a_configuration_needs_no_tensorflow(bert):
    code = """if True:
        import sys
        from attnlab.encoders.opening import as_the_encoder
        path = sys.argv[1]
        task, model = {"encoder": path}, {"name": "pretrained", "path": path}
        document = {"task": task, "model": model, "attention": {"name": "multi_head", "heads": 4}}
        print(as_the_encoder(document)["attention"]["heads"], "keras" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, str(bert)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_segments_follow_the_ends():
    assert np.array(segments(ROWS)).tolist() == [
        [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],
        [0] * 11,
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    ]
    assert np.array(segments(np.array([[START, 5, 6]]))).tolist() == [[0, 0, 0]]


def test_a_row_that_is_too_long_is_refused(bert):
    with pytest.raises(ValueError, match="expected rows of at most 19, got 20"):
        HubSource.open(str(bert)).make()(np.ones((1, 20), np.int32))


def test_the_digest_is_that_of_weights_and_vocabulary(copied):
    before = HubSource.open(str(copied)).digest
    file = copied / VOCABULARY
    file.write_bytes(file.read_bytes().replace(b"fox", b"cat"))
    assert HubSource.open(str(copied)).digest != before


def test_weights_in_several_files_are_read(tmp_path):
    pytest.importorskip("keras_hub")
    backbone = write_preset(tmp_path, "DistilBertBackbone", max_shard_size=5e-6)
    assert len([*tmp_path.glob("model*.h5")]) > 1
    source = HubSource.open(str(tmp_path))
    expected = expected_vectors(backbone, source.tokenizer, ROWS)
    np.testing.assert_allclose(filled(source)(ROWS).vectors, expected, atol=1e-5)


def change(folder, **content):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **content}))


VOCABULARY = "assets/tokenizer/vocabulary.txt"
DAMAGES = {
    "nothing there": (
        lambda folder: shutil.rmtree(folder) or folder.mkdir(),
        r"expected the folder of a preset.*, got .*copy without config\.json\.",
    ),
    "other library": (
        lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'),
        r"expected a preset of keras-hub with one of .* in .*, got t5\.",
    ),
    "something else": (
        lambda folder: (folder / "config.json").write_text("{}"),
        r"expected a preset of keras-hub with one of .* in .*, got something else\.",
    ),
    "images": (
        lambda folder: change(folder, class_name="ResNetBackbone"),
        r"expected a preset of keras-hub with one of .* in .*, got ResNetBackbone\.",
    ),
    "no sizes": (
        lambda folder: change(folder, config={"num_heads": "two"}),
        r"expected the numbers vocabulary_size, .* in .*config\.json, got",
    ),
    "half a configuration": (
        lambda folder: cut_off(folder / "config.json"),
        r".*config\.json can't be read as JSON: ",
    ),
    "no weights": (
        lambda folder: (folder / "model.weights.h5").unlink(),
        r"expected the folder .*, got .*copy without model\.weights\.h5\.",
    ),
    "half of the weights": (
        lambda folder: cut_off(folder / "model.weights.h5"),
        r"weights can't be read from .*model\.weights\.h5: .*truncated",
    ),
    "no vocabulary": (
        lambda folder: (folder / VOCABULARY).unlink(),
        r"expected the folder .*, got .*copy without assets/tokenizer/vocabulary\.txt\.",
    ),
    "half of the vocabulary": (
        lambda folder: cut_off(folder / VOCABULARY),
        r"expected a vocabulary of 41 tokens, as config\.json says, in .*\.txt, got \d+\.",
    ),
    "half of the list of weights": (
        lambda folder: (
            (folder / "model.weights.h5").rename(folder / "model.weights.json")
            and (folder / "model.weights.json").write_text("{}")
        ),
        r"expected \"weight_map\" in .*model\.weights\.json, got an object without\.",
    ),
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").unlink(),
        r"expected the folder .*, got .*copy without tokenizer\.json\.",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_preset_is_refused(copied, damage):
    change_it, words = DAMAGES[damage]
    change_it(copied)
    with pytest.raises(RequestError, match=rf"^model\.path: {words}"):
        HubSource.open(str(copied))


def test_weights_of_other_sizes_are_refused(copied):
    config = json.loads((copied / "config.json").read_bytes())["config"]
    change(copied, config={**config, "intermediate_dim": 29})
    source = HubSource.open(str(copied))
    encoder = source.make()
    encoder.build((None, None))
    with pytest.raises(RequestError, match=r"^model\.path: the weights of .*copy can't be read: "):
        source.fill(encoder)


@pytest.mark.parametrize("path", ["no/such/folder", __file__])
def test_a_folder_without_a_preset_is_refused(path):
    pytest.importorskip("keras_hub")
    with pytest.raises(
        RequestError, match=rf"^model\.path: .*, got {re.escape(path)}, which is neither\."
    ):
        HubSource.open(path)


@pytest.mark.parametrize("path", ["bert_tiny_en_uncased", "hf://nobody/nothing"])
def test_a_hub_that_is_out_of_reach_is_named(path, monkeypatch):
    preset_utils = pytest.importorskip("keras_hub.src.utils.preset_utils")

    def unreachable(preset, name):
        raise FileNotFoundError("not there") from ConnectionError("no\nnetwork")

    monkeypatch.setattr(preset_utils, "get_file", unreachable)
    words = rf"config\.json of {path} can't be downloaded: ConnectionError: no network$"
    with pytest.raises(RequestError, match=rf"^model\.path: {words}"):
        HubSource.open(path)


def test_without_keras_hub_its_extra_is_named(monkeypatch):
    monkeypatch.setattr(hub_preset.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"'attnlab\[pretrained\]'\), got anything\.$"):
        HubSource.open("anything")


@pytest.mark.parametrize("content", [{}, {"kind": "run"}, {"size": 3}])
def test_a_description_of_something_else_is_refused(bert, content):
    source = HubSource.open(str(bert))
    description = {**source.describe(), **content} if content else {}
    if "size" in content:
        description["config"] = {**description["config"], "vocabulary_size": 3}
    with pytest.raises(RequestError, match=r"^model\.path: expected .*, got"):
        HubSource.described(description, source.tokenizer)
