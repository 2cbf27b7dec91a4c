"""Parts of Transformer layers other than attention."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from attnlab.attention.dropout import Dropout
from attnlab.attention.functional import Tensor, require_choice, rms_normalize


class LayerNormalization(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` over the last axis, with its gradient written by hand.

    Weights and results are the same, with half the passes over memory, which determine the time of
    a norm. It has Keras's name because saved weights are found by class names.
    """

    def call(self, vectors: Tensor) -> Tensor:
        """Normalise (..., units)."""
        wide = tf.cast(vectors, tf.float32)
        beta = self.beta if self.center else tf.zeros_like(tf.convert_to_tensor(self.gamma))
        return tf.cast(_normalised(wide, self.gamma, beta, self.epsilon), self.compute_dtype)


def _normalised(vectors, gamma, beta, epsilon):
    """Return `gamma * (x - mean) / sqrt(variance + epsilon) + beta` over the last axis."""

    @tf.custom_gradient
    def norm(vectors, gamma, beta):
        centred = vectors - tf.reduce_mean(vectors, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        scale = tf.math.rsqrt(variance + epsilon)
        normal = centred * scale

        def gradient(upstream):
            product, slope = upstream * normal, upstream * gamma
            mean = tf.reduce_mean(slope, axis=-1, keepdims=True)
            share = tf.reduce_mean(product * gamma, axis=-1, keepdims=True)
            others = list(range(len(vectors.shape) - 1))
            return (
                (slope - mean - normal * share) * scale,
                tf.reduce_sum(product, axis=others),
                tf.reduce_sum(upstream, axis=others),
            )

        return normal * gamma + beta, gradient

    return norm(vectors, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta))


class RMSNormalization(keras.layers.Layer):
    """Divide vectors by their root mean square: `gamma * x / sqrt(mean(x^2) + epsilon)`.

    Source: Zhang and Sennrich 2019 (arXiv 1910.07467), equation 4. Difference: epsilon, as in every
    implementation.
    """

    def __init__(self, *, epsilon: float = 1e-6, **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, vectors_shape: tuple) -> None:
        """Create gamma (units,)."""
        self.gamma = self.add_weight(name="gamma", shape=vectors_shape[-1:], initializer="ones")

    def call(self, vectors: Tensor) -> Tensor:
        """Normalise (..., units)."""
        return tf.cast(rms_normalize(vectors, self.gamma, self.epsilon), self.compute_dtype)


def make_norm(kind: str | None = None, *, biases: bool = True, **kwargs: Any) -> keras.layers.Layer:
    """Return the norm `layer` or `rms`; without `biases` a layer norm has no beta.

    None is Keras's own layer norm, whose results differ from `layer` by rounding.
    """
    if kind == "rms":
        return RMSNormalization(**kwargs)
    classes = {None: keras.layers.LayerNormalization, "layer": LayerNormalization}
    return classes[kind](center=biases, **kwargs)


class FeedForward(keras.layers.Layer):
    """Transform each position separately: `max(0, x W_1 + b_1) W_2 + b_2`.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.3, Eq. 2. Difference: any activation,
    and `swiglu`: `(swish(x W_1) * x V) W_2` (Shazeer 2020, arXiv 2002.05202, Eq. 6), whose inner
    width is not reduced by a third as in that paper.

    Args:
        units: width of input and output (the paper's 512).
        inner: width of the hidden layer (the paper's 2048).
        activation: name of a Keras activation (the paper's is "relu"), or "swiglu".
        biases: whether to add biases.
        **kwargs: of every Keras layer.
    """

    def __init__(
        self,
        *,
        units: int,
        inner: int,
        activation: str = "relu",
        biases: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.inner = inner
        self.supports_masking = True
        common = {"use_bias": biases, "dtype": self.dtype_policy}
        gated = activation == "swiglu"
        activation = "silu" if gated else activation
        self.expand = keras.layers.Dense(inner, activation=activation, name="expand", **common)
        self.gate = keras.layers.Dense(inner, name="gate", **common) if gated else None
        self.contract = keras.layers.Dense(units, name="contract", **common)

    def build(self, vectors_shape: tuple) -> None:
        """Create W_1, b_1, W_2, b_2, and V and its bias."""
        self.expand.build(vectors_shape)
        if self.gate is not None:
            self.gate.build(vectors_shape)
        self.contract.build((*vectors_shape[:-1], self.inner))

    def call(self, vectors: Tensor) -> Tensor:
        """Transform (B, T, units) position by position."""
        hidden = self.expand(vectors)
        return self.contract(hidden if self.gate is None else hidden * self.gate(vectors))


class ResidualLayer(keras.layers.Layer):
    """Base of encoder and decoder layers: residuals, norms, dropout, feed-forward network.

    Args:
        units: width of the vectors.
        feed_forward: inner width of the feed-forward network.
        dropout: probability of dropping an output of a sub-layer while training.
        norm: "post" or "pre".
        activation: of the feed-forward network.
        epsilon: of the norms; as in the paper's code (Keras's own default is 1e-3).
        normalization: "layer" or "rms".
        biases: whether norms and the feed-forward network have biases.
        norm_indices: for each sub-layer the index of its norm.
        **kwargs: of every Keras layer.
    """

    def __init__(
        self,
        *,
        units: int,
        feed_forward: int,
        dropout: float = 0.0,
        norm: str = "post",
        activation: str = "relu",
        epsilon: float = 1e-6,
        normalization: str = "layer",
        biases: bool = True,
        norm_indices: tuple[int, ...] = (0, 1),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.norm = require_choice("norm", norm, ("pre", "post"))
        self.units, self.norm_indices = units, norm_indices
        self.supports_masking = True
        common: dict[str, Any] = {"biases": biases, "dtype": self.dtype_policy}
        self.feed_forward = FeedForward(
            name="feed_forward", units=units, inner=feed_forward, activation=activation, **common
        )
        self.norms = [
            make_norm(normalization, name=f"norm_{number}", epsilon=epsilon, **common)
            for number in sorted(set(norm_indices))
        ]
        self.dropouts = [Dropout(dropout, dtype=self.dtype_policy) for _ in norm_indices]

    def normalize_input(self, number: int, vectors: Tensor) -> Tensor:
        """Return the input of a sub-layer, normalised in a pre-norm layer."""
        return self.norms[self.norm_indices[number]](vectors) if self.norm == "pre" else vectors

    def add_residual(
        self, number: int, vectors: Tensor, result: Tensor, training: bool | None
    ) -> Tensor:
        """Apply dropout and the residual after a sub-layer, and the norm in a post-norm layer."""
        summed = vectors + self.dropouts[number](result, training=training)
        return self.norms[self.norm_indices[number]](summed) if self.norm == "post" else summed

    def build_common(self, vectors_shape: tuple) -> None:
        """Create the weights of the feed-forward network and the norms."""
        self.feed_forward.build(vectors_shape)
        for norm in self.norms:
            norm.build(vectors_shape)
