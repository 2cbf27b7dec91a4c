"""The Vision Transformer, compared with Keras's layers, and its parts."""

from __future__ import annotations

from functools import partial

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.multi_head import MultiHeadAttention
from attnlab.layers.transformer import make_mechanisms
from attnlab.tasks.classification.vision_transformer import (
    Augmentation,
    VisionTransformer,
    rollout,
)

SHAPE, PATCH, UNITS, INNER, HEADS, CLASSES = (6, 9, 2), 3, 10, 7, 2, 5
DRAW = np.random.default_rng(11)
IMAGES = DRAW.integers(0, 256, (4, *SHAPE), dtype=np.uint8)


def build(attention, shape=SHAPE, **settings) -> VisionTransformer:
    model = VisionTransformer(attention=make_mechanisms(attention, settings), **settings)
    model.build((None, *shape))
    return model


def make(layers: int = 2, **changes) -> VisionTransformer:
    keras.utils.set_random_seed(5)
    sizes = {"classes": CLASSES, "patch": PATCH, "units": UNITS, "feed_forward": INNER}
    attention = partial(MultiHeadAttention, heads=HEADS)
    model = build(attention, layers=layers, **{**sizes, **changes})
    for variable in model.trainable_variables:  # biases and norms, too, are other than at the start
        variable.assign(variable + DRAW.normal(0, 0.2, variable.shape))
    return model


def patches_by_convolution(model: VisionTransformer) -> tf.Tensor:
    """As in the paper: a convolution whose stride is its size."""
    kernel = tf.reshape(model.embedding.kernel, (PATCH, PATCH, SHAPE[-1], UNITS))
    pixels = tf.cast(IMAGES, tf.float32) / 127.5 - 1
    outcome = tf.nn.conv2d(pixels, kernel, PATCH, "VALID") + model.embedding.bias
    return tf.reshape(outcome, (len(IMAGES), -1, UNITS))


def logits_by_keras(model: VisionTransformer) -> np.ndarray:
    """Equations 1 to 4 by Keras's layers, with the weights of this project's model."""
    token = tf.tile(tf.convert_to_tensor(model.class_token), (len(IMAGES), 1, 1))
    vectors = tf.concat([token, patches_by_convolution(model)], 1) + model.position.table
    for layer in model.encoder:
        ours, width = layer.attention, UNITS // HEADS
        theirs = keras.layers.MultiHeadAttention(HEADS, width)
        theirs.build(vectors.shape, vectors.shape, vectors.shape)
        weights_of_layer = []
        for name in ("query", "key", "value"):
            kernel, bias = getattr(ours, f"{name}_kernel"), getattr(ours, f"{name}_bias")
            weights_of_layer += [
                ops.reshape(kernel, (UNITS, HEADS, width)),
                ops.reshape(bias, (HEADS, width)),
            ]
        weights_of_layer += [
            ops.reshape(ours.output_kernel, (HEADS, width, UNITS)),
            ours.output_bias,
        ]
        theirs.set_weights(weights_of_layer)
        normal = _normalised(vectors, layer.norms[0])
        vectors = vectors + theirs(normal, normal)
        first, second = layer.feed_forward.expand, layer.feed_forward.contract
        inner = _normalised(vectors, layer.norms[1]) @ first.kernel + first.bias
        inner = 0.5 * inner * (1 + tf.math.erf(inner / np.sqrt(2)))  # GELU, exactly
        vectors = vectors + inner @ second.kernel + second.bias
    features = _normalised(vectors, model.final_norm)[:, 0]
    return (features @ model.output_layer.kernel + model.output_layer.bias).numpy()


def _normalised(vectors: tf.Tensor, norm: keras.layers.Layer) -> tf.Tensor:
    theirs = keras.layers.LayerNormalization(epsilon=1e-6)
    theirs.build(vectors.shape)
    theirs.set_weights(norm.get_weights())
    return theirs(vectors)


def test_it_equals_the_papers_model_built_of_keras_layers():
    model = make(dropout=0.3, stochastic_depth=0.5)  # neither of them acts here
    np.testing.assert_allclose(model(IMAGES), logits_by_keras(model), rtol=1e-5, atol=1e-5)


def test_the_base_model_has_the_papers_number_of_parameters():
    from attnlab.internals import shapes_only

    with shapes_only():
        model = build(
            lambda: MultiHeadAttention(heads=12),
            (224, 224, 3),
            **{"layers": 12, "classes": 1000, "patch": 16, "units": 768, "feed_forward": 3072},
        )
    assert model.count_params() == 86_567_656  # as torchvision and timm have vit_base_patch16_224


def test_the_class_tokens_attention_is_that_of_its_layer():
    model = make()
    weights = np.array(model.attention_weights(IMAGES))
    assert weights.shape == (4, 1 + HEADS, 2, 3) and (weights > 0).all()
    layers = []
    vectors = model._embed(IMAGES)
    for layer in model.encoder:
        vectors, output = layer(vectors)
        layers.append(np.array(output.weights))
    heads = layers[-1][:, :, 0, 1:].reshape(4, HEADS, 2, 3)
    np.testing.assert_allclose(weights[:, 1:], heads, rtol=1e-5)
    np.testing.assert_allclose(
        weights[:, 0].reshape(4, 6), np.array(rollout(layers))[:, 0, 1:], rtol=1e-5
    )


def test_rollout_multiplies_the_layers_weights():
    first = np.array([[[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]]])[None]  # two heads
    second = np.array([[[0.2, 0.8], [1.0, 0.0]]])[None]
    # (W + I) / 2 with W the mean of heads: [[.75, .25], [.25, .75]] and [[.6, .4], [.5, .5]]
    expected = np.array([[0.55, 0.45], [0.5, 0.5]])
    np.testing.assert_allclose(np.array(rollout([first, second]))[0], expected, rtol=1e-6)
    halves = np.array(rollout([0.4 * first]))  # weights that don't sum to 1 are made to
    np.testing.assert_allclose(halves.sum(axis=-1), 1, rtol=1e-6)


def test_stochastic_depth_skips_deeper_sub_layers_more_often():
    model = make(layers=3, stochastic_depth=0.5)
    assert [layer.skips[0].rate for layer in model.encoder] == [0.0, 0.25, 0.5]
    layer = model.encoder[-1]
    vectors = tf.constant(DRAW.normal(size=(64, 3, UNITS)), tf.float32)
    result = tf.ones_like(vectors)
    added = np.array(layer.add_residual(0, vectors, result, True) - vectors)
    np.testing.assert_allclose(np.ptp(added, axis=(1, 2)), 0, atol=1e-5)
    values = added[:, 0, 0].round(4)
    assert set(values) == {0.0, 2.0}
    np.testing.assert_allclose(
        layer.add_residual(0, vectors, result, False), vectors + 1, rtol=1e-6
    )


def test_images_are_mirrored_and_shifted_as_arrays_are():
    images = DRAW.integers(1, 256, (40, 4, 5, 2), dtype=np.uint8)
    outcome = np.array(Augmentation(flip=True, shift=2)(images, training=True))
    seen = set()
    for image, changed in zip(images, outcome, strict=True):
        matches = [
            (mirrored, down, right)
            for mirrored in (False, True)
            for down in range(-2, 3)
            for right in range(-2, 3)
            if np.array_equal(changed, _moved(image[:, ::-1] if mirrored else image, down, right))
        ]
        assert len(matches) == 1
        seen |= set(matches)
    assert {mirrored for mirrored, _, _ in seen} == {False, True}
    assert len({(down, right) for _, down, right in seen}) > 12


def _moved(image: np.ndarray, down: int, right: int) -> np.ndarray:
    """Pad an image with black, and crop it at a shifted place."""
    padded = np.pad(image, [(2, 2), (2, 2), (0, 0)])
    return padded[2 - down : 2 - down + image.shape[0], 2 - right : 2 - right + image.shape[1]]


def test_augmentation_is_active_only_in_training():
    assert np.array_equal(Augmentation(flip=True, shift=1)(IMAGES), IMAGES)
    still = Augmentation(flip=False, shift=0)
    assert np.array_equal(still(IMAGES, training=True), IMAGES) and not still.variables
