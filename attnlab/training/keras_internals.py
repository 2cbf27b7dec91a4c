"""Private interfaces of Keras; seen in 3.12 to 3.15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from keras.src import backend
from keras.src.backend import config
from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers.base_optimizer import BaseOptimizer, clip_by_global_norm

_WAITING = "uninitialized_variables"


def set_home(folder: str) -> None:
    """Set the folder for Keras's downloads and settings."""
    config._KERAS_DIR = folder


def seed_states(model: keras.Model) -> list[keras.Variable]:
    """Return the states of a model's random generators, uint32 (2,): a seed and a draw count."""
    return [
        variable
        for variable in model.non_trainable_variables
        if variable.path.endswith("seed_generator_state")
    ]


def dropouts(model: keras.Model) -> list:
    """Return a model's dropout layers with a rate above 0 that may be a tensor."""
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, "rate_may_differ")]
    return [layer for layer in layers if layer.rate]


@contextmanager
def dropout_rates(layers: Sequence[Any], rates: Sequence[Any]) -> Iterator[None]:
    """Replace the rates of dropout layers while the body runs."""
    before = [layer.rate for layer in layers]
    for layer, rate in zip(layers, rates, strict=True):
        layer.rate = rate
    try:
        yield
    finally:
        for layer, rate in zip(layers, before, strict=True):
            layer.rate = rate


@contextmanager
def replaced_dropout(drawn: Callable[[Callable, Sequence], Any]) -> Iterator[None]:
    """Make Keras's own dropout draw by `attention.draws.drawn` while the body is traced."""
    before = backend.random.dropout

    def dropout(inputs, rate, noise_shape=None, seed=None):
        def factors(shape):
            return before(keras.ops.ones(shape, inputs.dtype), rate, noise_shape, seed)

        return inputs * drawn(factors, keras.ops.shape(inputs))

    backend.random.dropout = dropout
    try:
        yield
    finally:
        backend.random.dropout = before


@contextmanager
def shapes_alone() -> Iterator[None]:
    """Create variables with a shape but no value in the body, which take no memory.

    Otherwise Keras would initialise them when it next builds a model by shapes.
    """
    before = list(global_state.get_global_attribute(_WAITING, []))
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        global_state.set_global_attribute(_WAITING, before)


def shapes_are_all() -> bool:
    """Return whether variables get no values at present, as in `shapes_alone`."""
    return in_stateless_scope()


def index_of(optimizer, variable) -> int:
    """Return the index of a variable, of Keras or TensorFlow, among those of an optimizer."""
    return optimizer._get_variable_index(variable)


def adam_moments(optimizer, variable) -> tuple[keras.Variable, keras.Variable]:
    """Return the variables with Adam's means of a variable's gradients and of their squares."""
    index = index_of(optimizer, variable)
    return optimizer._momentums[index], optimizer._velocities[index]


@contextmanager
def substituted_values(
    variables: Sequence[keras.Variable], values: Sequence[Any]
) -> Iterator[keras.StatelessScope]:
    """Replace the values of variables in the body; the new ones may have leading axes."""
    with keras.StatelessScope() as scope:
        for variable, value in zip(variables, values, strict=True):
            scope.add_update(
                (variable, value)
            )  # as an argument of the scope, shapes would be checked
        yield scope


@contextmanager
def stored_in(variables: Sequence[keras.Variable], others: Sequence[Any]) -> Iterator[None]:
    """Let TensorFlow's variables hold the values of Keras's, also for code in a `StatelessScope`.

    What a loop over time steps assigns would get lost in a `StatelessScope`.
    """
    before = [variable._value for variable in variables]
    for variable, other in zip(variables, others, strict=True):
        variable._value, variable.assign = other, other.assign
    try:
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable._value = value
            del variable.assign


class _Functional:
    """An optimizer's backend-independent methods, in place of those for `tf.distribute`."""

    _var_key = BaseOptimizer._var_key
    assign = BaseOptimizer.assign
    assign_add = BaseOptimizer.assign_add
    assign_sub = BaseOptimizer.assign_sub
    _apply_weight_decay = BaseOptimizer._apply_weight_decay
    _backend_update_step = BaseOptimizer._backend_update_step

    def _clip_gradients(self, grads):
        """Clip gradients as Keras does, but don't compare settings, which may be tensors, to 0."""
        if self.global_clipnorm is not None:
            return clip_by_global_norm(grads, self.global_clipnorm)
        if self.clipvalue is not None:
            return [keras.ops.clip(grad, -self.clipvalue, self.clipvalue) for grad in grads]
        return grads


class OptimizerFunction:
    """An optimizer's formula as a pure function; Keras's own methods change variables.

    Weight decay and clipping bounds are arguments, too, if the optimizer has them.

    Args:
        optimizer: of Keras, or of a class whose `plain` names the equivalent class of Keras.
        variables: the trained variables.
        factors: a factor of the learning rate per variable; None: 1.
        not_decayed: the variables without weight decay.

    Attributes:
        optimizer: an equal optimizer, whose variables have the shapes of the states.
    """

    _OF_EACH_RUN = ("weight_decay", "global_clipnorm", "clipvalue")

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
        functional = type(kind.__name__, (_Functional, kind), {})
        self.optimizer = functional.from_config(optimizer.get_config())
        self.optimizer.exclude_from_weight_decay(var_list=list(not_decayed))
        self.optimizer.build(variables)
        self._settings = [n for n in self._OF_EACH_RUN if getattr(optimizer, n) is not None]

    def settings(self, optimizer: keras.Optimizer) -> np.ndarray:
        """Return the settings (n,) of an optimizer that otherwise equals this one."""
        return np.array([getattr(optimizer, name) for name in self._settings], np.float32)

    def __call__(self, states, rate, settings, gradients, values) -> tuple[list, list]:
        """Return the new values of the trained variables and the new states after a step."""
        optimizer, variables = self.optimizer, self._variables
        for name, value in zip(self._settings, keras.ops.unstack(settings), strict=True):
            setattr(optimizer, name, value)
        with substituted_values([*optimizer.variables, *variables], [*states, *values]) as scope:
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
