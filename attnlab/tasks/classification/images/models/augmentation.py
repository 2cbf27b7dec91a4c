"""Random changes of training images: mirrored, and shifted by some pixels."""

from __future__ import annotations

import keras
import tensorflow as tf

from attnlab.attention.draws import drawn


class Augmentation(keras.layers.Layer):
    """Mirrors and shifts images at random in training.

    Each image is mirrored left to right with probability 1/2 (`flip`), and shifted down and to the
    right by whole pixels drawn from -`shift` to `shift`: a crop of the image with a black border.
    A Keras generator draws them, so that in a compiled epoch they follow from (seed, step).

    Args:
        flip: whether to mirror.
        shift: most pixels in each direction; 0: no shift.
        **kwargs: those of every Keras layer.

    Call arguments:
        images: (B, H, W, C), any type of numbers.
        training: whether to change the images.

    Returns:
        (B, H, W, C).
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
            images = self._shifted(images, axis)
        return images

    def _draw(self, images, least: int, below: int):
        """Draw a whole number for each image, (B, 1, 1, 1)."""

        def draw(shape):
            return keras.random.randint(shape, least, below, "int32", seed=self.seed_generator)

        return drawn(draw, (tf.shape(images)[0], 1, 1, 1))

    def _shifted(self, images, axis: int):
        """Shift images along an axis, with black pixels at the border."""
        size = images.shape[axis]
        start = self._draw(images, -self.shift, self.shift + 1)[:, :, 0, 0]  # (B, 1)
        places = tf.range(size)[None] - start  # (B, size), the original place of each line
        moved = tf.gather(images, tf.clip_by_value(places, 0, size - 1), axis=axis, batch_dims=1)
        inside = (places >= 0) & (places < size)
        inside = inside[:, :, None, None] if axis == 1 else inside[:, None, :, None]
        return tf.where(inside, moved, tf.zeros((), images.dtype))
