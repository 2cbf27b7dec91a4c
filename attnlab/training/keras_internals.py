"""What Keras doesn't promise to keep as it is; seen in 3.12 to 3.15."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from keras.src.backend import config
from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers.base_optimizer import BaseOptimizer, clip_by_global_norm

_WAITING = "uninitialized_variables"


def set_home(folder: str) -> None:
    """Set the folder of Keras's downloads, which is also that of its settings."""
    config._KERAS_DIR = folder


def seed_states(model: keras.Model) -> list[keras.Variable]:
    """The states of a model's random generators, uint32 (2,): a seed, and a count of draws."""
    return [
        variable
        for variable in model.non_trainable_variables
        if variable.path.endswith("seed_generator_state")
    ]


def dropouts(model: keras.Model) -> list:
    """Its dropout layers that do something, and whose `rate` may be a tensor."""
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, "rate_may_differ")]
    return [layer for layer in layers if layer.rate]


@contextmanager
def dropout_rates(layers: Sequence[Any], rates: Sequence[Any]) -> Iterator[None]:
    """Let dropout layers have other rates."""
    before = [layer.rate for layer in layers]
    for layer, rate in zip(layers, rates, strict=True):
        layer.rate = rate
    try:
        yield
    finally:
        for layer, rate in zip(layers, before, strict=True):
            layer.rate = rate


@contextmanager
def shapes_alone() -> Iterator[None]:
    """Make variables that have a shape and no value: they take no memory, now or later.

    Keras would have made up their values when it next builds a model by its shapes.
    """
    before = list(global_state.get_global_attribute(_WAITING, []))
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        global_state.set_global_attribute(_WAITING, before)


def shapes_are_all() -> bool:
    """Whether variables have no values now, as under `shapes_alone`."""
    return in_stateless_scope()


def index_of(optimizer, variable) -> int:
    """The place of a variable, or of TensorFlow's one inside it, among those of an optimizer."""
    return optimizer._get_variable_index(variable)


def adam_moments(optimizer, variable) -> tuple[keras.Variable, keras.Variable]:
    """Where Adam keeps the means of a variable's gradients and of their squares."""
    index = index_of(optimizer, variable)
    return optimizer._momentums[index], optimizer._velocities[index]


@contextmanager
def substituted_values(
    variables: Sequence[keras.Variable], values: Sequence[Any]
) -> Iterator[keras.StatelessScope]:
    """Let variables have other values, which may have leading axes of their own."""
    with keras.StatelessScope() as scope:
        for variable, value in zip(variables, values, strict=True):
            scope.add_update((variable, value))  # as an argument their shapes would be checked
        yield scope


class _Functional:
    """What TensorFlow's optimizers do to variables by `tf.distribute`, as for other backends."""

    _var_key = BaseOptimizer._var_key
    assign = BaseOptimizer.assign
    assign_add = BaseOptimizer.assign_add
    assign_sub = BaseOptimizer.assign_sub
    _apply_weight_decay = BaseOptimizer._apply_weight_decay
    _backend_update_step = BaseOptimizer._backend_update_step

    def _clip_gradients(self, grads):
        """As Keras's, which asks whether a setting is above 0: of a tensor that isn't known."""
        if self.global_clipnorm is not None:
            return clip_by_global_norm(grads, self.global_clipnorm)
        if self.clipvalue is not None:
            return [keras.ops.clip(grad, -self.clipvalue, self.clipvalue) for grad in grads]
        return grads


class OptimizerFunction:
    """An optimizer's formula as a function; with TensorFlow, Keras's own only change variables.

    Weight decay and the bounds of clipping are arguments, too, for those that have them.

    Args:
        optimizer: of Keras, or of a class that does by other means what its `plain` one does.
        variables: those that it trains.
        factors: of each variable, by what its learning rate is multiplied; None: by 1.
    """

    _OF_EACH_RUN = ("weight_decay", "global_clipnorm", "clipvalue")

    def __init__(
        self,
        optimizer: keras.Optimizer,
        variables: Sequence[keras.Variable],
        factors: Sequence[float] | None = None,
    ) -> None:
        self._factors = None if factors is None or {*factors} == {1.0} else factors
        kind = getattr(optimizer, "plain", type(optimizer))
        own = type(kind.__name__, (_Functional, kind), {})
        self.optimizer, self._variables = own.from_config(optimizer.get_config()), variables
        self.optimizer.build(variables)
        known = [name for name in self._OF_EACH_RUN if getattr(optimizer, name) is not None]
        self._settings = known

    def settings(self, optimizer: keras.Optimizer) -> np.ndarray:
        """The values (n,) of another optimizer that differs from this one in nothing else."""
        return np.array([getattr(optimizer, name) for name in self._settings], np.float32)

    def __call__(self, states, rate, settings, gradients, values) -> tuple[list, list]:
        """New values of the trained variables, and new states, after a step of a rate."""
        optimizer, variables = self.optimizer, self._variables
        for name, value in zip(self._settings, keras.ops.unstack(settings), strict=True):
            setattr(optimizer, name, value)
        with substituted_values([*optimizer.variables, *variables], [*states, *values]) as scope:
            optimizer.learning_rate = rate
            optimizer.apply(gradients, variables)
            new = [
                [keras.ops.cast(scope.get_current_value(v), v.dtype) for v in of]
                for of in (variables, optimizer.variables)
            ]
        if self._factors is not None:
            # What an optimizer takes off is its rate times something that has no rate in it.
            new[0] = [
                value + factor * (own - value)
                for value, own, factor in zip(values, new[0], self._factors, strict=True)
            ]
        return new[0], new[1]
