"""TensorFlow's SavedModel: the function as a graph, with its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from attnlab.tasks.exported import Arrays, Exported

FOLDER = "model"


def check(exported: Exported) -> None:
    """Accept every model."""


def traced(exported: Exported) -> Any:
    """Return the function as TensorFlow's, with the shapes and types of its inputs."""
    signature = [
        tf.TensorSpec(shape, exported.items[name].dtype, name)
        for name, shape in exported.inputs.items()
    ]

    def function(*tensors: Any) -> Arrays:
        return exported.function(**dict(zip(exported.inputs, tensors, strict=True)))

    return tf.function(function, input_signature=signature, autograph=False)


def write(exported: Exported, folder: Path) -> None:
    """Write the folder `model`; the weights are constants of the graph or its variables."""
    module, function = tf.Module(), traced(exported)
    module.weights = [*function.get_concrete_function().variables]
    tf.saved_model.save(module, str(folder / FOLDER), function)


def outputs(exported: Exported, folder: Path) -> Arrays:
    """Return the outputs of the written model for the test items."""
    model = tf.saved_model.load(str(folder / FOLDER)).signatures["serving_default"]
    inputs = {name: tf.constant(exported.items[name]) for name in exported.inputs}
    return {name: value.numpy() for name, value in model(**inputs).items()}
