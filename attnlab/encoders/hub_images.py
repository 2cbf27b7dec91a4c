"""Vision Transformers of keras-hub: their sizes, and their weights by this project's names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from attnlab.encoders.hub_preset import (
    OF_IMAGES,
    PresetFiles,
    digest_of,
    in_short,
    is_size,
    read_json,
    trained_backbone,
)
from attnlab.encoders.preset_forms import KERAS_HUB
from attnlab.errors import RequestError

KIND = "hub_images"
_SIZES = ("num_layers", "num_heads", "hidden_dim", "mlp_dim")
_MIDDLE = 127.5  # of bytes


class LayerWeights(NamedTuple):
    """The weights of a layer.

    Attributes:
        attention: the weights of `MultiHeadAttention`, by their names in that class.
        norms: gamma and beta of the norm before the attention, and of that before the network.
        feed_forward: kernel and bias of the first and of the second dense layer.
    """

    attention: dict[str, np.ndarray]
    norms: list[list[np.ndarray]]
    feed_forward: list[list[np.ndarray]]


class TrainedWeights(NamedTuple):
    """The weights of a Vision Transformer; biases that the preset lacks are 0.

    Attributes:
        embedding: kernel (P P C, W), ordered by a patch's rows, then columns, and bias (W,).
        class_token: (1, 1, W), or None.
        positions: (T, W), that of the class token first.
        layers: the weights of each layer.
        norm: gamma and beta of the norm after the last layer.
    """

    embedding: list[np.ndarray]
    class_token: np.ndarray | None
    positions: np.ndarray
    layers: list[LayerWeights]
    norm: list[np.ndarray]


class ImageSource:
    """A preset with a `ViTBackbone` of keras-hub; its weights are read by `trained`.

    Args:
        path: a preset's folder, or a handle of keras-hub.
        config: the arguments of the backbone.
        pixels: `scale` and `offset`, (C,) each: the network reads bytes b as b * scale + offset.
        digest: SHA-256 of its weights; None if they are at `path`.

    Attributes:
        attention: the mechanism of its layers, `name` and settings as in a configuration.
        shape: height, width and channels of the training images.
        patch: side length of a patch in pixels.
        has_class_token: whether it has a class token.

    Raises:
        RequestError: the arguments aren't those of such a backbone.
    """

    def __init__(
        self,
        path: str,
        *,
        config: Mapping[str, Any],
        pixels: Mapping[str, Any],
        digest: str | None = None,
    ) -> None:
        self.path, self.config, self._digest = path, dict(config), digest
        self.shape, self.patch = _shape(path, config), _patch(path, config)
        self.scale, self.offset = (
            _per_channel(path, pixels[name], self.shape[2]) for name in ("scale", "offset")
        )
        self.has_class_token = bool(config.get("use_class_token", True))
        self.attention = {
            "name": "multi_head",
            "heads": config["num_heads"],
            "units": None,
            "book": False,
            "dropout": config.get("attention_dropout", 0.0),
        }

    @classmethod
    def open(cls, path: str) -> ImageSource:
        """Open a preset in a folder, or download one by its handle.

        Raises:
            RequestError: keras-hub is missing, there is no such preset, one of its files is missing
                or damaged, or it isn't a Vision Transformer.
        """
        preset = PresetFiles(path)
        config = preset.arguments(OF_IMAGES, _SIZES)
        preset.weights()
        return cls(path, config=config, pixels=_pixels(preset))

    @classmethod
    def described(cls, content: Mapping[str, Any]) -> ImageSource:
        """Return a source from the result of `describe`, without the weights of the preset.

        Raises:
            RequestError: `content` isn't such a description.
        """
        try:
            if content["kind"] == KIND:
                digest = str(content["digest"])
                path, config = str(content["path"]), content["config"]
                return cls(path, config=config, pixels=content["pixels"], digest=digest)
        except (AttributeError, KeyError, TypeError) as error:
            raise _wrong(content) from error
        raise _wrong(content)

    @property
    def sizes(self) -> dict[str, Any]:
        """The settings of a `VisionTransformer` with the preset's layers.

        Difference: keras-hub applies `dropout_rate` also inside the feed-forward networks.
        """
        return {
            "patch": self.patch,
            "units": self.config["hidden_dim"],
            "feed_forward": self.config["mlp_dim"],
            "dropout": self.config.get("dropout_rate", 0.0),
            "epsilon": self.config.get("layer_norm_epsilon", 1e-6),
        }

    @property
    def layers(self) -> int:
        """The number of layers."""
        return self.config["num_layers"]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights."""
        return self._digest or digest_of(PresetFiles(self.path).weights())

    def trained(self) -> TrainedWeights:
        """Read the pretrained weights.

        Raises:
            RequestError: the weights can't be read, or don't fit `config.json`.
        """
        if self._digest is not None:
            raise RequestError(
                f"model.path: expected the weights of {self.path}, got only its description."
            )
        backbone = trained_backbone(self.path)
        patches, encoder = (
            backbone.get_layer(name) for name in ("vit_patching_and_embedding", "vit_encoder")
        )
        kernel, bias = _affine(patches.patch_embedding)
        return TrainedWeights(
            embedding=[kernel.reshape(-1, kernel.shape[-1]), bias],
            class_token=_array(patches.class_token) if self.has_class_token else None,
            positions=_array(patches.position_embedding.embeddings),
            layers=[_layer_weights(layer) for layer in encoder.encoder_layers],
            norm=_norm(encoder.layer_norm),
        )

    def describe(self) -> dict[str, Any]:
        """Return the argument of `described`; JSON-ready."""
        return {
            "kind": KIND,
            "path": self.path,
            "config": self.config,
            "pixels": {"scale": self.scale, "offset": self.offset},
            "digest": self.digest,
        }


def _wrong(content: Any) -> RequestError:
    return RequestError(
        "model.path: expected the description of a preset of keras-hub that reads images, got "
        f"{content}."
    )


def _shape(path: str, config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return height, width and channels of a preset's images."""
    given = config.get("image_shape")
    if not isinstance(given, list) or len(given) != 3 or not all(map(is_size, given)):
        raise RequestError(
            f"model.path: expected images of a height, a width and channels (image_shape) in "
            f"{path}, got {given}."
        )
    return given[0], given[1], given[2]


def _patch(path: str, config: Mapping[str, Any]) -> int:
    """Return the side length of a preset's patches in pixels."""
    given = config.get("patch_size")
    sides = given if isinstance(given, list) else [given]
    side = sides[0] if sides else None
    if not isinstance(side, int) or side < 1 or any(other != side for other in sides):
        raise RequestError(
            f"model.path: expected square patches (patch_size) in {path}, got {given}."
        )
    return side


def _pixels(preset: PresetFiles) -> dict[str, Any]:
    """Return scale and offset of pixels; -1 to 1 if a preset's folder has no such file.

    Early presets have a mean and a variance of the scaled pixels instead of an offset.

    Raises:
        RequestError: the file is damaged, or can't be downloaded.
    """
    form = preset.form
    if preset.lacks(form.pixels):
        return {"scale": 1 / _MIDDLE, "offset": -1.0}
    file = preset.file(form.pixels)
    config = read_json(file).get("config") if form is KERAS_HUB else read_json(file)
    if not isinstance(config, Mapping):
        raise RequestError(f'model.path: expected "config" in {file}, got an object without.')
    try:
        if form is not KERAS_HUB:
            config = _by_our_names(config)
        scale = 1.0 if config.get("scale") is None else config["scale"]
        if "mean" in config and "variance" in config:
            deviations = [math.sqrt(each) for each in config["variance"]]
            means = zip(config["mean"], deviations, strict=True)
            return {
                "scale": [scale / each for each in deviations],
                "offset": [-mean / each for mean, each in means],
            }
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise RequestError(
            f"model.path: expected the scale, mean and variance of pixels in {file}, got "
            f"{in_short(error)}."
        ) from error
    return {"scale": scale, "offset": 0.0 if config.get("offset") is None else config["offset"]}


def _by_our_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the settings of pixels in Transformers to those of keras-hub."""
    scale = content.get("rescale_factor", 1 / 255) if content.get("do_rescale", True) else 1.0
    if not content.get("do_normalize", True):
        return {"scale": scale}
    means, deviations = (content.get(f"image_{name}", (0.5, 0.5, 0.5)) for name in ("mean", "std"))
    return {"scale": scale, "mean": means, "variance": [each**2 for each in deviations]}


def _per_channel(path: str, given: Any, channels: int) -> list[float]:
    """Return a number per channel, from one number or one per channel."""
    try:
        return np.broadcast_to(np.asarray(given, np.float64), (channels,)).tolist()
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"model.path: expected a number for each of {channels} channels in {path}, got {given}."
        ) from error


def _layer_weights(layer: Any) -> LayerWeights:
    """Return the weights of a Transformer layer of keras-hub."""
    look, network = layer.mha, layer.mlp
    attention: dict[str, np.ndarray] = {}
    for name in ("query", "key", "value"):
        kernel, bias = _affine(getattr(look, f"{name}_dense"), outputs=2)  # (W, H, K)
        attention[f"{name}_kernel"] = kernel.reshape(kernel.shape[0], -1)
        attention[f"{name}_bias"] = bias.reshape(-1)
    kernel, attention["output_bias"] = _affine(look.output_dense)  # (H, K, W)
    attention["output_kernel"] = kernel.reshape(-1, kernel.shape[-1])
    return LayerWeights(
        attention=attention,
        norms=[_norm(layer.layer_norm_1), _norm(layer.layer_norm_2)],
        feed_forward=[_affine(network.dense_1), _affine(network.dense_2)],
    )


def _norm(layer: Any) -> list[np.ndarray]:
    return [_array(layer.gamma), _array(layer.beta)]


def _affine(layer: Any, outputs: int = 1) -> list[np.ndarray]:
    """Return kernel and bias of a dense layer whose output has `outputs` axes."""
    kernel = _array(layer.kernel)
    bias = np.zeros(kernel.shape[-outputs:], np.float32)
    return [kernel, bias if layer.bias is None else _array(layer.bias)]


def _array(weight: Any) -> np.ndarray:
    """Return the values of a weight as float32."""
    import keras

    return np.asarray(keras.ops.convert_to_numpy(weight), np.float32)
