"""What Keras doesn't promise to keep as it is; seen in 3.12 to 3.15."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import keras
from keras.src.backend.common import global_state

_WAITING = "uninitialized_variables"


def seed_states(model: keras.Model) -> list[keras.Variable]:
    """The states of a model's random generators, uint32 (2,): a seed, and a count of draws."""
    return [
        variable
        for variable in model.non_trainable_variables
        if variable.path.endswith("seed_generator_state")
    ]


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


def adam_moments(optimizer, variable) -> tuple[keras.Variable, keras.Variable]:
    """Where Adam keeps the means of a variable's gradients and of their squares."""
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index], optimizer._velocities[index]
