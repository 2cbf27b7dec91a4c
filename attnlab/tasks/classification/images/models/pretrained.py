"""A pretrained Vision Transformer with a new output layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from attnlab.attention.base import Attention
from attnlab.attention.dropout import Dropout
from attnlab.encoders.hub_images import ImageSource, LayerWeights
from attnlab.encoders.tuning import FineTuned
from attnlab.errors import RequestError
from attnlab.tasks.classification.images.models.vision_transformer import (
    VisionTransformer,
    VisionTransformerLayer,
)


class PretrainedVisionTransformer(FineTuned, VisionTransformer):
    """Maps images (B, H, W, C) of bytes to logits of classes (B, classes).

    A `VisionTransformer` with the layers of a preset, which scales pixels like the preset. Grey
    images repeat their channel for each channel of the preset.

    Source: Dosovitskiy et al. 2021 (arXiv 2010.11929), section 3.2: the positions are interpolated
    in 2-D for images of another size, except that of the class token. Differences: the output layer
    is initialized at random, not at zero; biases that a preset lacks are trained from 0.

    Args:
        source: the preset.
        attention: a `MultiHeadAttention` for each layer, with the preset's heads.
        classes: the number of classes.
        pool: what the output layer reads: "class_token", or "mean" over the patches.
        dropout: dropout rate of the output layer's input.
        **kwargs: those of `FineTuned`, and `flip` and `shift` of `VisionTransformer`: images are
            changed in training even if the encoder is frozen.

    Raises:
        RequestError: the preset has no class token for the output layer; in `build`: it has another
            number of channels, or its patches don't divide height or width.
    """

    def __init__(
        self,
        *,
        source: ImageSource,
        attention: Sequence[Attention],
        classes: int,
        pool: str = "class_token",
        dropout: float = 0.1,
        **kwargs,
    ) -> None:
        if pool == "class_token" and not source.has_class_token:
            raise RequestError(
                f"model.pool: expected mean, since {source.path} has no class token, got {pool}."
            )
        given = {"attention": attention, "classes": classes, "pool": pool, **source.sizes}
        super().__init__(source=source, **given, **kwargs)
        self._own = int(source.has_class_token)
        self.output_dropout = Dropout(dropout)

    def build(self, images_shape) -> None:
        """Create the weights for images of shape (B, H, W, C)."""
        *size, channels = images_shape
        check_images(self.source, size[1], size[2], channels)
        super().build((*size, self.source.shape[2]))
        for weight in self.trainable_variables if self.frozen else ():
            weight.trainable = weight.path not in self.depths

    @property
    def depths(self) -> Mapping[str, int]:
        """The number of the layer of each of the encoder's variables, by path; see `Encoder`."""
        last = len(self.encoder)
        parts = [(0, self.embedding), (0, self.position), (last, self.final_norm)]
        parts += enumerate(self.encoder, start=1)
        found = {weight.path: depth for depth, part in parts for weight in part.weights}
        return {**found, self.class_token.path: 0} if self._own else found

    def take_trained(self) -> None:
        """Assign the pretrained weights to the encoder; see `FineTuned`."""
        trained, (height, width, _) = self.source.trained(), self.source.shape
        _assign([self.embedding.kernel, self.embedding.bias], trained.embedding)
        if self._own:
            self.class_token.assign(trained.class_token)
        grid = height // self.patch, width // self.patch
        own, places = np.split(trained.positions, [self._own])
        self.position.table.assign(np.concatenate([own, resized(places, grid, self.grid)]))
        for layer, values in zip(self.encoder, trained.layers, strict=True):
            _fill_layer(layer, values)
        _assign([self.final_norm.gamma, self.final_norm.beta], trained.norm)

    def _read(self, images, training):
        return self.output_dropout(super()._read(images, training), training=training)

    def _through_layers(self, vectors, training) -> tuple:
        return super()._through_layers(vectors, training and not self.frozen)

    def _pixels(self, images):
        pixels = ops.cast(images, self.compute_dtype)
        scale, offset = (
            ops.cast(np.array(each), self.compute_dtype)
            for each in (self.source.scale, self.source.offset)
        )
        return pixels * scale + offset  # one channel becomes as many as there are scales


def resized(table: np.ndarray, grid: tuple[int, int], other: tuple[int, int]) -> np.ndarray:
    """Resize a grid of vectors to another number of rows and columns.

    Interpolation is bilinear, and the vectors of the corners don't change, as in the code of
    Dosovitskiy et al. 2021.

    Args:
        table: (rows * columns, width), row by row.
        grid: its rows and columns.
        other: the rows and columns of the result.

    Returns:
        (rows * columns, width) of the new grid.
    """
    if grid == other:
        return table
    rows, columns = (_between(*sizes) for sizes in zip(grid, other, strict=True))
    found = np.einsum("ar,bc,rcw->abw", rows, columns, table.reshape(*grid, -1))
    return found.reshape(-1, table.shape[-1]).astype(table.dtype)


def _between(count: int, wanted: int) -> np.ndarray:
    """Return the weights (wanted, count) of linear interpolation from `count` to `wanted`."""
    at = np.linspace(0, count - 1, wanted) if wanted > 1 else np.array([(count - 1) / 2])
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(count)))


def check_images(source: ImageSource, height: int, width: int, channels: int) -> None:
    """Raise `RequestError` if a preset can't read images of a size."""
    if channels not in (1, source.shape[2]):
        raise RequestError(
            f"model.path: expected a preset for images of {channels} channels, got {source.path}, "
            f"which is for {source.shape[2]} (data.grey=true makes grey ones of your own images)."
        )
    if height % source.patch or width % source.patch:
        raise RequestError(
            f"model.path: expected images of a multiple of {source.patch} pixels to a side, the "
            f"patches of {source.path}, got {height} x {width} (of your own images data.size is "
            f"the size; {source.shape[0]} is that of the preset)."
        )


def build_pretrained(
    attention: Callable[..., Attention],
    shape: tuple[int, int, int],
    *,
    source: ImageSource,
    path: str | None = None,
    **settings,
) -> PretrainedVisionTransformer:
    """Build a pretrained Vision Transformer with drawn weights, for images (H, W, C).

    `attention` returns one mechanism and is called for each layer; `path` is ignored, since
    `source` knows it.

    Raises:
        RequestError: the settings or the images don't fit the preset.
    """
    layers = [attention() for _ in range(source.layers)]
    model = PretrainedVisionTransformer(source=source, attention=layers, **settings)
    model.build((None, *shape))
    return model


def _fill_layer(layer: VisionTransformerLayer, values: LayerWeights) -> None:
    for name, value in values.attention.items():
        getattr(layer.attention, name).assign(value)
    for norm, own in zip(layer.norms, values.norms, strict=True):
        _assign([norm.gamma, norm.beta], own)
    network = layer.feed_forward
    for part, own in zip((network.expand, network.contract), values.feed_forward, strict=True):
        _assign([part.kernel, part.bias], own)


def _assign(weights: Sequence[keras.Variable], values: Sequence[np.ndarray]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.assign(value)
