"""What Keras doesn't promise to keep as it is; seen in 3.12 to 3.15."""

from __future__ import annotations

import keras


def seed_states(model: keras.Model) -> list[keras.Variable]:
    """The states of a model's random generators, uint32 (2,): a seed, and a count of draws."""
    return [
        variable
        for variable in model.non_trainable_variables
        if variable.path.endswith("seed_generator_state")
    ]


def adam_moments(optimizer, variable) -> tuple[keras.Variable, keras.Variable]:
    """Where Adam keeps the means of a variable's gradients and of their squares."""
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index], optimizer._velocities[index]
