"""Vision Transformers of keras-hub's presets: equal vectors, and runs on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from hub_presets import cut_off, far_away
from hub_presets import write_preset as write_preset_of_texts
from same_runs import assert_resumes_to_the_same_bits
from scipy import ndimage

from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.encoders import hub_images, hub_preset
from attnlab.encoders.hub_images import ImageSource
from attnlab.encoders.opening import as_the_encoder, saved_image_source
from attnlab.encoders.tuning import begin
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.loading import TrainedRun
from attnlab.tasks.classification.images.models.pretrained import build_pretrained, resized
from attnlab.training.keras_internals import shapes_alone

SHAPE, PATCH, HEADS, WIDTH = (8, 12, 3), 4, 2, 10
DRAW = np.random.default_rng(3)
IMAGES = DRAW.integers(0, 256, (5, *SHAPE), dtype=np.uint8)
RUN = (
    *("task=digits", "data.limit=200", "model=pretrained", "trainer.epochs=1"),
    *("trainer.batch_size=50", "tracking.enabled=false", "trainer.jit=false"),
)
SCALE, OFFSET = [0.02, 0.01, 0.03], [-1.5, 0.0, 0.25]


def write_preset(folder: Path, *, converter: bool = True, **changes):
    """Write a preset with weights far from the initial ones; return its backbone."""
    import keras_hub

    sizes = {"image_shape": SHAPE, "patch_size": PATCH, "num_layers": 2, "num_heads": HEADS}
    backbone = keras_hub.models.ViTBackbone(
        **{**sizes, "hidden_dim": WIDTH, "mlp_dim": 7, "layer_norm_epsilon": 1e-3, **changes}
    )
    far_away(backbone).save_to_preset(str(folder))
    if converter:
        keras_hub.layers.ViTImageConverter(scale=SCALE, offset=OFFSET).save_to_preset(str(folder))
    return backbone


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A preset, its backbone and its source."""
    pytest.importorskip("keras_hub")
    folder = tmp_path_factory.mktemp("vit")
    backbone = write_preset(folder)
    return SimpleNamespace(
        folder=folder, backbone=backbone, source=ImageSource.open(str(folder)), path=str(folder)
    )


@pytest.fixture
def copied(preset, tmp_path):
    """A preset that a test may damage."""
    return shutil.copytree(preset.folder, tmp_path / "copy")


def made(source, shape=SHAPE, **settings):
    model = build_pretrained(
        lambda: MultiHeadAttention(heads=HEADS), shape, source=source, classes=3, **settings
    )
    begin(model)
    return model


def vectors_of(model, images):
    """The vectors after the last norm."""
    return np.array(model.final_norm(model._encode(images, training=False)[0]))


def test_vectors_are_those_of_keras_hub(preset):
    model = made(preset.source)
    seen = IMAGES * np.array(SCALE, np.float32) + np.array(OFFSET, np.float32)
    expected = np.array(preset.backbone(seen))
    np.testing.assert_allclose(vectors_of(model, IMAGES), expected, atol=1e-5)
    assert np.abs(expected).max() > 1
    head = model.output_layer
    np.testing.assert_allclose(model(IMAGES), head(expected[:, 0]), atol=1e-5)
    mean = made(preset.source, pool="mean")
    found = mean.output_layer(expected[:, 1:].mean(axis=1))
    np.testing.assert_allclose(mean(IMAGES), found, atol=1e-5)


def test_pixels_are_seen_as_the_converter_of_keras_hub_makes_them(preset, tmp_path):
    import keras_hub

    converter = keras_hub.layers.ImageConverter.from_preset(preset.path)
    expected = np.array(preset.backbone(converter(IMAGES)))
    np.testing.assert_allclose(vectors_of(made(preset.source), IMAGES), expected, atol=1e-5)
    early = {"scale": 1 / 255, "mean": [0.5, 0.4, 0.3], "variance": [0.04, 0.09, 0.25]}
    path = shutil.copytree(preset.folder, tmp_path / "early") / "image_converter.json"
    content = json.loads(path.read_text())
    # That keras-hub reads them where the size has these names, too.
    content["config"] = {"name": "converter", "height": 8, "width": 12, **early}
    path.write_text(json.dumps(content))
    theirs = keras_hub.layers.ImageConverter.from_preset(str(path.parent))
    model = made(ImageSource.open(str(path.parent)))
    np.testing.assert_allclose(model._pixels(IMAGES), theirs(IMAGES), atol=1e-5)


def test_without_a_converter_pixels_are_from_minus_1_to_1(tmp_path):
    pytest.importorskip("keras_hub")
    backbone = write_preset(tmp_path, converter=False)
    model = made(ImageSource.open(str(tmp_path)))
    expected = np.array(backbone(IMAGES / np.float32(127.5) - 1))
    np.testing.assert_allclose(vectors_of(model, IMAGES), expected, atol=1e-5)


def test_a_failed_download_of_the_converter_is_reported(preset, monkeypatch):
    def download(path: str, name: str) -> Path:
        if name == "image_converter.json":
            raise RequestError(f"model.path: {name} of {path} can't be downloaded")
        return preset.folder / name

    monkeypatch.setattr(hub_preset, "_downloaded", download)
    with pytest.raises(RequestError, match="image_converter.json of a_handle can't be downloaded"):
        ImageSource.open("a_handle")


def test_without_class_token_and_biases_it_is_the_same(tmp_path):
    pytest.importorskip("keras_hub")
    names = ("use_class_token", "use_mha_bias", "use_mlp_bias", "use_patch_bias")
    backbone = write_preset(tmp_path, converter=False, **dict.fromkeys(names, False))
    source = ImageSource.open(str(tmp_path))
    model = made(source, pool="mean")
    expected = np.array(backbone(IMAGES / np.float32(127.5) - 1))
    np.testing.assert_allclose(vectors_of(model, IMAGES), expected, atol=1e-5)
    np.testing.assert_allclose(np.array(model.attend(IMAGES)).sum(axis=(2, 3)), 1, rtol=1e-5)
    with pytest.raises(RequestError, match=r"^model\.pool: expected mean, since .* class_token\.$"):
        made(source)


def test_grey_images_have_their_channel_in_place_of_each(preset):
    model = made(preset.source, (*SHAPE[:2], 1))
    grey = IMAGES[..., :1]
    expected = made(preset.source)
    expected.output_layer.set_weights(model.output_layer.get_weights())
    np.testing.assert_allclose(model(grey), expected(np.repeat(grey, 3, axis=-1)), atol=1e-6)


def test_positions_are_interpolated_as_in_the_papers_code():
    table = DRAW.normal(size=(3 * 4, 5)).astype("float32")
    for other in ((5, 7), (2, 3), (6, 4)):
        zoom = [new / old for new, old in zip((*other, 5), (3, 4, 5), strict=True)]
        expected = ndimage.zoom(table.reshape(3, 4, 5), zoom, order=1).reshape(-1, 5)
        np.testing.assert_allclose(resized(table, (3, 4), other), expected, atol=1e-5)
    assert resized(table, (3, 4), (3, 4)) is table
    np.testing.assert_allclose(
        resized(table, (3, 4), (1, 1))[0], table.reshape(3, 4, 5)[1, 1:3].mean(axis=0), atol=1e-6
    )


def test_images_of_another_size_keep_the_class_tokens_position(preset):
    model = made(preset.source, (16, 16, 3))
    table = np.array(model.position.table)
    patches = preset.backbone.get_layer("vit_patching_and_embedding")
    own = np.array(patches.position_embedding.embeddings)
    np.testing.assert_array_equal(table[0], own[0])
    corners = table[1:].reshape(4, 4, WIDTH)[[0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_allclose(corners, own[1:].reshape(2, 3, WIDTH)[[0, 0, 1, 1], [0, 2, 0, 2]])
    assert model(np.zeros((1, 16, 16, 3), np.uint8)).shape == (1, 3)


def test_with_mean_pooling_the_queries_are_the_patches(preset):
    model = made(preset.source, pool="mean")
    weights = np.array(model.attend(IMAGES))
    assert weights.shape == (5, 1 + HEADS, 2, 3)
    last = np.array(model._encode(IMAGES, training=False)[1][-1])
    expected = last[:, :, 1:, 1:].mean(axis=2).reshape(5, HEADS, 2, 3)
    np.testing.assert_allclose(weights[:, 1:], expected, rtol=1e-5)
    assert (weights.sum(axis=(2, 3)) < 1).all()


def test_deeper_layers_learn_slower(preset):
    model = made(preset.source, layer_decay=0.5)
    variables = model.trainable_variables
    assert len({each.path for each in variables}) == len(variables)
    factors = dict(zip([each.path for each in variables], model.rate_factors, strict=True))
    parts = {
        "embedding": (0.125, model.embedding.variables),
        "class token": (0.125, [model.class_token]),
        "positions": (0.125, model.position.variables),
        "first": (0.25, model.encoder[0].trainable_variables),
        "last": (0.5, model.encoder[1].trainable_variables),
        "norm": (0.5, model.final_norm.variables),
        "output": (1.0, model.output_layer.variables),
    }
    for name, (factor, own) in parts.items():
        assert {factors[each.path] for each in own} == {factor}, name
    assert sum(len(own) for _, own in parts.values()) == len(variables)


def test_a_frozen_encoder_is_not_trained_although_images_are_augmented(tmp_path):
    pytest.importorskip("keras_hub")
    write_preset(tmp_path, dropout_rate=0.5)
    source = ImageSource.open(str(tmp_path))
    still = made(source, frozen=True, dropout=0.0)
    assert still.trainable_variables == still.output_layer.trainable_variables
    np.testing.assert_allclose(still(IMAGES, training=True), still(IMAGES), atol=1e-6)
    moved = made(source, frozen=True, dropout=0.0, flip=True, shift=1)
    assert np.abs(np.array(moved(IMAGES, training=True)) - moved(IMAGES)).max() > 0.01
    shaken = made(source, dropout=0.0)
    assert np.abs(np.array(shaken(IMAGES, training=True)) - shaken(IMAGES)).max() > 0.01
    dropping = made(source, frozen=True, dropout=0.9)
    assert np.abs(np.array(dropping(IMAGES, training=True)) - dropping(IMAGES)).max() > 0.01


def test_it_starts_with_or_without_the_pretrained_weights(preset):
    trained, drawn = made(preset.source), made(preset.source, start="drawn")
    kernels = [np.array(each.embedding.kernel) for each in (trained, drawn)]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.1
    with shapes_alone():
        other = made(preset.source)
    assert [each.shape for each in other.weights] == [each.shape for each in trained.weights]


def test_a_description_makes_the_same_model(preset):
    description = json.loads(json.dumps(preset.source.describe()))
    source = ImageSource.described(description)
    assert source.describe() == description
    model, again = made(preset.source), made(source, start="drawn")
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(model(IMAGES), again(IMAGES))
    with pytest.raises(RequestError, match=r"model\.path: expected the weights of .*got only its"):
        made(source)
    for wrong in ({}, [], {**description, "kind": "hub"}, {**description, "pixels": None}):
        with pytest.raises(RequestError, match=r"model\.path: expected the description"):
            ImageSource.described(wrong)


def test_the_attention_of_a_configuration_is_the_presets(preset):
    given = {"model": {"name": "pretrained", "path": preset.path}, "seed": 0}
    given["task"] = {"name": "digits", "encoder": preset.path}
    defaults = {"name": "multi_head", "heads": 4, "units": None, "book": False, "dropout": 0.0}
    found = as_the_encoder({**given, "attention": defaults})
    assert found["attention"] == {**defaults, "heads": HEADS}
    for other, words in (
        ({"name": "bahdanau"}, "attention: expected multi_head"),
        ({**defaults, "heads": 5}, "attention.heads: expected 2"),
        ({**defaults, "book": True}, "attention.book: expected False"),
    ):
        with pytest.raises(RequestError, match=words):
            as_the_encoder({**given, "attention": other})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A preset for images of 8 x 8 pixels, which tests copy."""
    pytest.importorskip("keras_hub")
    folder = tmp_path_factory.mktemp("small")
    write_preset(folder, image_shape=(8, 8, 3))
    return folder


@pytest.fixture
def small(written, tmp_path):
    """A copy of the preset, which a test may delete."""
    return shutil.copytree(written, tmp_path / "small")


def test_a_run_on_a_preset_works_after_the_preset_is_deleted(here, small, no_figures):
    frozen = ("model.frozen=true", "task.shift=0")
    code, _, err = here(*RUN, f"model.path={small}", *frozen)
    assert code == 0, err
    (folder,) = here.run_folders()
    config = RunDirectory(folder).read_config()
    assert config["attention"]["heads"] == HEADS and config["task"]["encoder"] == str(small)
    assert saved_image_source(folder / "assets").path == str(small)
    kept = np.load(folder / "attention.npz")
    assert kept["weights"].shape[1:] == (1 + HEADS, 2, 2) and kept["positions"].shape == (4, 4)
    before = made(ImageSource.open(str(small)), (8, 8, 1))
    shutil.rmtree(small)

    trained = TrainedRun.load(RunDirectory(folder), "best")
    for own, known in zip(trained.model.encoder, before.encoder, strict=True):
        for ours, theirs in zip(own.weights, known.weights, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    code, out, err = here("evaluate", "latest", "--json")
    metrics = json.loads((folder / "metrics.json").read_text())
    assert code == 0 and json.loads(out)["metrics"] == pytest.approx(metrics["test"], abs=1e-5), err


@pytest.mark.slow
def test_a_run_on_a_preset_resumes_to_the_same_bits(here, small, no_figures):
    words = (*RUN, f"model.path={small}", "schedule=constant", "model.layer_decay=0.7")
    assert_resumes_to_the_same_bits(here, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model.path=null",), "model.path: expected a preset of keras-hub that reads images"),
        (("model.path=nowhere",), "got nowhere, which is neither."),
        (("model.path=texts",), "expected ViTBackbone in texts, got BertBackbone."),
        (("model.path=resnet",), "expected ViTBackbone in resnet, got ResNetBackbone."),
        (("model.path=run",), "that reads images, got run, which has runs of this project."),
        (("model.path=.",), "got . without config.json."),
        (("model.path=large",), "of a multiple of 16 pixels to a side, the patches of large"),
        (("attention=bahdanau",), "attention: expected multi_head, which the encoder at"),
        (("attention.heads=8",), "attention.heads: expected 2"),
        (("model.stochastic_depth=0.5",), "model.stochastic_depth"),
        (("task.encoder=x", "model=vit"), "task.encoder=x: must be null with model=vit"),
        (("task=classify", "data=agreement"), "RobertaBackbone in small, got ViTBackbone."),
    ],
)
def test_settings_that_dont_fit_are_refused_in_one_sentence(here, small, words, said):
    (here.folder / "run").mkdir()
    (here.folder / "run" / "status.json").write_text("{}")
    if words[0] == "model.path=texts":
        write_preset_of_texts(here.folder / "texts", "BertBackbone")
    for name, changes in (
        ("resnet", {"class_name": "ResNetBackbone"}),
        ("large", {"config": {"image_shape": [32, 32, 3], "patch_size": [16, 16]}}),
    ):
        path = shutil.copytree(small, here.folder / name) / "config.json"
        content = json.loads(path.read_text())
        changes = {"class_name": content["class_name"], "config": {}, **changes}
        changes["config"] = {**content["config"], **changes["config"]}
        path.write_text(json.dumps({**content, **changes}))
    given = [each for each in RUN if not (words[0] == "task=classify" and "data." in each)]
    if "model=vit" not in words and not words[0].startswith("model.path"):
        given.append("model.path=small")
    code, _, err = here(*given, *words)
    assert code == 2 and said in err and err.count("\n") == 1, err


DAMAGES = {
    "no sizes": ("config.json", {"num_heads": "two"}, r"expected the numbers num_layers, "),
    "no shape": ("config.json", {"image_shape": [8, None, 3]}, r"\(image_shape\) in .*, got \[8"),
    "long patches": ("config.json", {"patch_size": [4, 2]}, r"expected square patches .*\[4, 2\]"),
    "scales": ("image_converter.json", {"scale": [1, 2]}, r"each of 3 channels in .*\[1, 2\]"),
    "variance": ("image_converter.json", {"mean": [0], "variance": [0]}, "expected the scale, me"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_preset_is_refused(copied, damage):
    name, changes, words = DAMAGES[damage]
    content = json.loads((copied / name).read_text())
    content["config"] |= changes
    (copied / name).write_text(json.dumps(content))
    with pytest.raises(RequestError, match=rf"^model\.path: .*{words}"):
        ImageSource.open(str(copied))


def test_missing_and_half_weights_are_refused(copied):
    path = copied / "model.weights.h5"
    source = ImageSource.open(str(copied))
    cut_off(path)
    with pytest.raises(RequestError, match=r"model\.path: the weights of .*copy can't be read: "):
        made(source)
    with pytest.raises(RequestError, match=r"weights can't be read from .*truncated"):
        ImageSource.open(str(copied))
    path.unlink()
    with pytest.raises(RequestError, match=r"got .*copy without model\.weights\.h5\."):
        ImageSource.open(str(copied))


def test_other_channels_are_refused(tmp_path):
    pytest.importorskip("keras_hub")
    write_preset(tmp_path, image_shape=(8, 8, 1), converter=False)
    source = ImageSource.open(str(tmp_path))
    with pytest.raises(RequestError, match=r"for images of 3 channels, got .*, which is for 1 \("):
        made(source, (8, 8, 3))
    assert hub_images.KIND == source.describe()["kind"]
    assert isinstance(made(source, (8, 8, 1)), keras.Model)
