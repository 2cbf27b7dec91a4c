"""Keras optimizers by name, with common names for their settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from attnlab.internals import adam_moments, functional_class, index_of
from attnlab.training.step import substitute_values


class _Fused:
    """Adam's update in one kernel per variable; Keras's own needs a dozen.

    Formula and state are those of Keras's class, so weights and checkpoints can be exchanged.
    Difference: if a batch reads a row of an embedding several times, the gradients are summed
    before they are squared, as for other variables; Keras sums their squares.
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


class Muon(keras.optimizers.AdamW):
    """Muon for matrices between layers, AdamW for embeddings, vectors and output layers.

    Let M be the mean of a matrix's gradients (Nesterov's, with decay `momentum`) and U S V' its
    singular value decomposition. The step is `rate * 0.2 sqrt(max(rows, columns)) * U V'`, so that
    learning rates for Adam can be used. Five Newton-Schulz iterations approximate U V', with
    singular values between about 0.7 and 1.2.

    Source: Jordan et al. 2024 (kellerjordan.github.io/posts/muon); the scale by Liu et al. 2025
    (arXiv 2502.16982), section 2.2. `keras.optimizers.Muon` of Keras 3.12 has another scale.
    """

    def __init__(self, *, momentum: float = 0.95, **settings) -> None:
        super().__init__(**settings)
        self.momentum = momentum

    def get_config(self) -> dict[str, Any]:
        """The settings."""
        return {**super().get_config(), "momentum": self.momentum}

    def build(self, variables):
        """Create the state for the variables."""
        if not self.built:
            super().build(variables)
            inner = (v for v in variables if len(v.shape) == 2 and not _BORDERS.search(v.path))
            self._matrices = {index_of(self, variable) for variable in inner}

    def update_step(self, gradient, variable, learning_rate):
        """Update one variable."""
        if index_of(self, variable) not in self._matrices:
            return super().update_step(gradient, variable, learning_rate)
        mean, _ = adam_moments(self, variable)
        gradient = ops.cast(gradient, variable.dtype)
        new = self.momentum * ops.convert_to_tensor(mean) + gradient
        self.assign(mean, new)
        scale = 0.2 * max(variable.shape) ** 0.5 * ops.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, scale * _orthogonal(gradient + self.momentum * new))


def _orthogonal(matrix):
    """Return a matrix with the same singular vectors and singular values of nearly 1."""
    wide = matrix.shape[0] <= matrix.shape[1]
    matrix = matrix if wide else ops.transpose(matrix)
    matrix = matrix / (ops.sqrt(ops.sum(ops.square(matrix))) + 1e-7)
    for _ in range(5):
        square = ops.matmul(matrix, ops.transpose(matrix))
        square = -4.7750 * square + 2.0315 * ops.matmul(square, square)
        matrix = 3.4445 * matrix + ops.matmul(square, matrix)
    return matrix if wide else ops.transpose(matrix)


class FusedAdam(_Fused, keras.optimizers.Adam):
    """`keras.optimizers.Adam`, faster."""

    plain = keras.optimizers.Adam


class FusedAdamW(_Fused, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW`, faster."""

    plain = keras.optimizers.AdamW


# Paths of variables at the input or output of a model.
_BORDERS = re.compile(
    "embedding|segments|/(position|vocabulary|head|highway|output|follows)/|(^|/)bias$"
)
_CLASSES = {
    "adam": FusedAdam,
    "adamw": FusedAdamW,
    "muon": Muon,
    "sgd": keras.optimizers.SGD,
    "rmsprop": keras.optimizers.RMSprop,
    "adadelta": keras.optimizers.Adadelta,
}
_CLIPPING = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue"}


def make_optimizer(name: str, settings: Mapping[str, Any]) -> keras.Optimizer:
    """Return a Keras optimizer.

    Args:
        name: adam, adamw, muon, sgd, rmsprop or adadelta.
        settings: the arguments of the Keras class, `clip_norm` (bound of the norm of all gradients
            together) and `clip_value` (bound of each element).
    """
    arguments = {_CLIPPING.get(key, key): value for key, value in settings.items()}
    if "learning_rate" in arguments:
        arguments["learning_rate"] = float(arguments["learning_rate"])  # Keras accepts no int
    return _CLASSES[name](**arguments)


class OptimizerFunction:
    """An optimizer's formula as a pure function; Keras's own methods change variables.

    Args:
        optimizer: of Keras, or of a class whose `plain` names the equivalent class of Keras.
        variables: the trained variables.
        factors: a factor of the learning rate per variable; None: 1.
        not_decayed: the variables without weight decay.

    Attributes:
        optimizer: an equal optimizer, whose variables have the shapes of the states.
    """

    def __init__(
        self,
        optimizer: keras.Optimizer,
        variables: Sequence[keras.Variable],
        factors: Sequence[float] | None = None,
        not_decayed: Sequence[keras.Variable] = (),
    ) -> None:
        self._variables = variables
        self._factors = None if factors is None or {*factors} == {1.0} else factors
        kind = getattr(optimizer, "plain", type(optimizer))
        self.optimizer = functional_class(kind).from_config(optimizer.get_config())
        self.optimizer.exclude_from_weight_decay(var_list=list(not_decayed))
        self.optimizer.build(variables)

    def __call__(self, states, rate, gradients, values) -> tuple[list, list]:
        """Return the new values of the trained variables and the new states after a step."""
        optimizer, variables = self.optimizer, self._variables
        with substitute_values([*optimizer.variables, *variables], [*states, *values]) as scope:
            optimizer.learning_rate = rate
            optimizer.apply(gradients, variables)
            new_values, new_states = (
                [keras.ops.cast(scope.get_current_value(v), v.dtype) for v in group]
                for group in (variables, optimizer.variables)
            )
        if self._factors is not None:
            # An update is the rate times a term that doesn't depend on the rate.
            new_values = [
                value + factor * (new - value)
                for value, new, factor in zip(values, new_values, self._factors, strict=True)
            ]
        return new_values, new_states


def in_place(optimizer: keras.Optimizer, variables: Sequence[keras.Variable]) -> Callable:
    """Return an update whose values are the variables themselves, and whose states are unused.

    It changes them with the optimizer's own kernels.
    """

    def update(states, rate, gradients, values):
        optimizer.learning_rate = rate
        optimizer.apply(gradients, variables)
        return values, states

    return update
