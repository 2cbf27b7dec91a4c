"""TensorFlow's SavedModel: the function as a graph, with its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.errors import plain_text
from attnlab.export.formats import Code, function_notes
from attnlab.tasks.exported import Arrays, Exported

FOLDER = "model"
SIGNATURE = "serving_default"
notes = function_notes


def check(exported: Exported, quantize: str | None) -> None:
    """Accept every model."""


def traced(exported: Exported) -> Any:
    """Return the function as TensorFlow's, with the shapes and types of its inputs."""
    names = [*exported.inputs]
    signature = [
        tf.TensorSpec(shape, kind, name) for name, (shape, kind) in exported.inputs.items()
    ]

    def function(*tensors: Any) -> Arrays:
        return exported.function(**dict(zip(names, tensors, strict=True)))

    return tf.function(function, input_signature=signature, autograph=False)


def write(exported: Exported, folder: Path, quantize: str | None) -> None:
    """Write the folder `model`; the weights are constants of the graph or its variables."""
    module = tf.Module()
    function = traced(exported)
    module.weights = [*function.get_concrete_function().variables]
    try:
        tf.saved_model.save(module, str(folder / FOLDER), function)
    except tf.errors.OpError as error:  # of the file system, such as a full disk
        raise OSError(plain_text(error)) from error


def outputs(exported: Exported, folder: Path) -> Arrays:
    """Return the outputs of the written model for the test items."""
    model = tf.saved_model.load(str(folder / FOLDER)).signatures[SIGNATURE]
    items = {
        name: tf.constant(np.asarray(exported.items[name], kind))
        for name, (_, kind) in exported.inputs.items()
    }
    return {name: value.numpy() for name, value in model(**items).items()}


def code(exported: Exported) -> Code:
    """Return the lines of an example."""
    return Code(
        ("import tensorflow as tf",),
        (
            f'model = tf.saved_model.load(str(here / "{FOLDER}")).signatures["{SIGNATURE}"]',
            "outputs = {name: value.numpy() for name, value in model(**inputs).items()}",
        ),
    )
