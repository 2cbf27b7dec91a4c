"""The Vision Transformer, and random changes of its training images."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout, draw_rows
from attnlab.errors import RequestError
from attnlab.layers.positional_encoding import PositionalEncoding
from attnlab.layers.sublayers import LayerNormalization
from attnlab.layers.transformer import TransformerEncoderLayer
from attnlab.training.step import InMemoryModel

_MIDDLE = 127.5  # of bytes, which are scaled to -1 to 1
_EPSILON = 1e-6  # of the norms


class VisionTransformer(InMemoryModel):
    """A pre-norm Transformer encoder over the patches of an image.

    `z_0 = [class token; x_1 E; ...; x_N E] + E_pos`, with x_i the pixels of patch i, from -1 to 1;
    `z_l` by the layers; `logits = W LN(z_L)_0 + b`.

    Source: Dosovitskiy et al. 2021 (arXiv 2010.11929), equations 1 to 4; stochastic depth is of
    Huang et al. 2016 (arXiv 1603.09382), as Touvron et al. 2021 (arXiv 2012.12877) train it.
    Differences: any mechanism can be the self-attention; the feed-forward network has no dropout
    inside; the class token and the head are initialized at random, not at zero.

    Args:
        attention: a mechanism for each layer.
        classes: the number of classes.
        patch: pixels to a side of a patch, which divides height and width.
        units: width of the vectors.
        feed_forward: inner width of the feed-forward networks.
        dropout: dropout rate of the vectors, and of each sub-layer's output.
        stochastic_depth: share of images that skip the last layer's sub-layers in training; it
            rises linearly from 0 for the first layer.
        flip: whether half of the images are mirrored in training; see `Augmentation`.
        shift: most pixels by which images are shifted in training.
        **kwargs: those of every Keras model.
    """

    def __init__(
        self,
        *,
        attention: Sequence[Attention],
        classes: int,
        patch: int,
        units: int,
        feed_forward: int,
        dropout: float = 0.0,
        stochastic_depth: float = 0.0,
        flip: bool = False,
        shift: int = 0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.patch, self.units = patch, units
        self.augmentation = Augmentation(flip=flip, shift=shift, name="augmentation")
        self.embedding = keras.layers.Dense(units, name="embedding")
        self.dropout = Dropout(dropout)
        rates = np.linspace(0, stochastic_depth, len(attention)).tolist()
        self.encoder = [
            VisionTransformerLayer(
                attention=mechanism,
                units=units,
                feed_forward=feed_forward,
                dropout=dropout,
                skipped=rate,
                epsilon=_EPSILON,
                name=f"encoder_{number}",
            )
            for number, (mechanism, rate) in enumerate(zip(attention, rates, strict=True))
        ]
        self.final_norm = LayerNormalization(epsilon=_EPSILON, name="final_norm")
        self.output_layer = keras.layers.Dense(classes, name="output")

    def build(self, images_shape) -> None:  # noqa: D102
        batch, height, width, channels = images_shape
        if height % self.patch or width % self.patch:
            sides = range(1, min(height, width) + 1)
            divisors = [str(side) for side in sides if not (height % side or width % side)]
            raise RequestError(
                f"model.patch: expected a divisor of the images' {height} x {width} pixels "
                f"({', '.join(divisors)}), got {self.patch}."
            )
        self.grid = height // self.patch, width // self.patch
        steps = self.grid[0] * self.grid[1]
        self.embedding.build((batch, steps, self.patch**2 * channels))
        self.class_token = self.add_weight(
            name="class_token",
            shape=(1, 1, self.units),
            initializer=keras.initializers.RandomNormal(0.0, 0.02),
        )
        self.steps = 1 + steps  # T, vectors of an image
        shape = (batch, self.steps, self.units)
        self.position = PositionalEncoding(kind="learned", max_length=self.steps, name="position")
        self.position.build(shape)
        for layer in self.encoder:
            layer.build(shape)
        self.final_norm.build(shape)
        self.output_layer.build((batch, self.units))

    def call(self, images, training=None):
        """Map images (B, H, W, C) of bytes to logits (B, classes) in float32."""
        vectors = self.final_norm(self._encode(images, training)[0])
        return ops.cast(self.output_layer(vectors[:, 0]), "float32")

    def attention_weights(self, images):
        """Return attention maps over the patches, (B, 1 + H, rows, columns).

        First the rollout through all layers, then the heads of the last layer. The query is the
        class token. The weight on itself is left out, so a map may sum to less than 1.
        """
        _, weights = self._encode(images, training=False)
        maps = ops.concatenate([rollout(weights)[:, None], ops.cast(weights[-1], "float32")], 1)
        return ops.reshape(maps[:, :, 0, 1:], (-1, maps.shape[1], *self.grid))

    def _encode(self, images, training) -> tuple:
        vectors = self._embed(self.augmentation(images, training=training))
        vectors, weights = self.dropout(vectors, training=training), []
        for layer in self.encoder:
            vectors, output = layer(vectors, training=training)
            weights.append(output.weights)
        return vectors, weights

    def _embed(self, images):
        pixels = ops.cast(images, self.compute_dtype) / _MIDDLE - 1.0  # of bytes
        (rows, columns), side, channels = self.grid, self.patch, pixels.shape[-1]
        patches = ops.reshape(pixels, (-1, rows, side, columns, side, channels))
        patches = ops.transpose(patches, (0, 1, 3, 2, 4, 5))
        vectors = self.embedding(ops.reshape(patches, (-1, rows * columns, side * side * channels)))
        token = ops.cast(self.class_token, vectors.dtype)
        token = ops.broadcast_to(token, (ops.shape(vectors)[0], 1, self.units))
        return self.position(ops.concatenate([token, vectors], axis=1))


class VisionTransformerLayer(TransformerEncoderLayer):
    """A pre-norm layer with GELU; in training the share `skipped` of images skips a sub-layer.

    Difference to Huang et al. 2016: outputs are divided by the share that remains in training, not
    multiplied by it afterwards.
    """

    def __init__(self, *, attention: Attention, skipped: float, **kwargs) -> None:
        super().__init__(attention=attention, norm="pre", activation="gelu", **kwargs)
        # One draw per image.
        self.skips = [
            Dropout(skipped, noise_shape=(None, 1, 1), dtype=self.dtype_policy)
            for _ in self.norm_indices
        ]

    def add_residual(self, number, vectors, result, training):
        """Add the output of a sub-layer, or skip it."""
        result = self.skips[number](result, training=training)
        return super().add_residual(number, vectors, result, training)


class Augmentation(keras.layers.Layer):
    """Mirrors and shifts images at random in training.

    Each image is mirrored left to right with probability 1/2 (`flip`), and shifted down and to the
    right by whole pixels drawn from -`shift` to `shift`: a crop of the image with a black border.
    A Keras generator draws them, so that in a compiled epoch they follow from (seed, step).

    Images are (B, H, W, C), any type of numbers.
    """

    def __init__(self, *, flip: bool, shift: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.flip, self.shift = flip, shift
        self.seed_generator = keras.random.SeedGenerator() if flip or shift else None

    def call(self, images, training=False):
        """Mirror and shift images in training."""
        if not training:
            return images
        if self.flip:
            images = tf.where(self._draw(images, 0, 2) > 0, images[:, :, ::-1], images)
        for axis in (1, 2) if self.shift else ():
            images = self._shift(images, axis)
        return images

    def _draw(self, images, least: int, below: int):
        def draw(shape):
            return keras.random.randint(shape, least, below, "int32", seed=self.seed_generator)

        return draw_rows(draw, (tf.shape(images)[0], 1, 1, 1))

    def _shift(self, images, axis: int):
        size = images.shape[axis]
        start = self._draw(images, -self.shift, self.shift + 1)[:, :, 0, 0]  # (B, 1)
        places = tf.range(size)[None] - start  # (B, size), the original place of each line
        moved = tf.gather(images, tf.clip_by_value(places, 0, size - 1), axis=axis, batch_dims=1)
        inside = (places >= 0) & (places < size)
        inside = inside[:, :, None, None] if axis == 1 else inside[:, None, :, None]
        return tf.where(inside, moved, tf.zeros((), images.dtype))


def rollout(weights: Sequence):
    """Return how much of each vector after the last layer comes from each input vector.

    `R_0 = I`, `R_l = (W_l / 2 + I / 2) R_(l-1)`, with W_l the mean over the heads, and each row of
    the sum divided by its own sum: half of a vector passes through the residual.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928), section 3. Difference: weights below 0,
    which the paper's models don't have, count by their size.

    `weights` are (B, H, T, T) of each layer; rows of the result (B, T, T) sum to 1.
    """
    product = None
    for layer_weights in weights:
        mean = ops.abs(ops.mean(ops.cast(layer_weights, "float32"), axis=1))
        mixed = 0.5 * (mean + ops.eye(mean.shape[-1], dtype="float32"))
        mixed = mixed / ops.sum(mixed, axis=-1, keepdims=True)
        product = mixed if product is None else ops.matmul(mixed, product)
    return product
