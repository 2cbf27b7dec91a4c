"""Private interfaces of Keras; seen in 3.12 to 3.15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
from keras.src import backend
from keras.src.backend import config
from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers.base_optimizer import BaseOptimizer

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
        functional = type(kind.__name__, (_Functional, kind), {})
        self.optimizer = functional.from_config(optimizer.get_config())
        self.optimizer.exclude_from_weight_decay(var_list=list(not_decayed))
        self.optimizer.build(variables)

    def __call__(self, states, rate, gradients, values) -> tuple[list, list]:
        """Return the new values of the trained variables and the new states after a step."""
        optimizer, variables = self.optimizer, self._variables
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
