"""Keras optimizers by name, with one vocabulary for their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from attnlab.training.keras_internals import adam_moments


class _Fused:
    """Adam's update in one kernel for each variable, where Keras's takes a dozen.

    The same formula and the same state as Keras's class, so weights and checkpoints can be
    exchanged. Difference: where a row of an embedding is read several times, its gradients are
    summed before they are squared, as everywhere else; Keras sums their squares.
    """

    def apply(self, grads, trainable_variables=None):
        """Update all variables."""
        step = tf.cast(self.iterations + 1, tf.float32)
        self._powers = tf.pow(self.beta_1, step), tf.pow(self.beta_2, step)
        super().apply(grads, trainable_variables)

    def update_step(self, gradient, variable, learning_rate):
        """Update one variable."""
        if self.amsgrad:
            return super().update_step(gradient, variable, learning_rate)
        mean, square = adam_moments(self, variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.value.handle,
            v=square.value.handle,
            beta1_power=tf.cast(self._powers[0], variable.dtype),
            beta2_power=tf.cast(self._powers[1], variable.dtype),
            lr=tf.cast(learning_rate, variable.dtype),
            beta1=tf.constant(self.beta_1, variable.dtype),
            beta2=tf.constant(self.beta_2, variable.dtype),
            epsilon=tf.constant(self.epsilon, variable.dtype),
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


class FusedAdam(_Fused, keras.optimizers.Adam):
    """`keras.optimizers.Adam`, faster."""


class FusedAdamW(_Fused, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW`, faster."""


_CLASSES = {
    "adam": FusedAdam,
    "adamw": FusedAdamW,
    "sgd": keras.optimizers.SGD,
    "rmsprop": keras.optimizers.RMSprop,
    "adadelta": keras.optimizers.Adadelta,
}
_CLIPPING = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue"}


def make_optimizer(name: str, settings: Mapping[str, Any]) -> keras.Optimizer:
    """The Keras optimizer `name`.

    Args:
        name: adam, adamw, sgd, rmsprop or adadelta.
        settings: the arguments of the Keras class, and `clip_norm` (the norm of all gradients
            together is cut to it) and `clip_value` (each element is).
    """
    arguments = {_CLIPPING.get(key, key): value for key, value in settings.items()}
    return _CLASSES[name](**arguments)
