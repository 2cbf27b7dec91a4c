"""A model as a graph: TensorFlow's SavedModel, or ONNX, made of it by tf2onnx."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from attnlab.errors import RequestError
from attnlab.tasks.exported import Arrays, Exported

_OPSET = 18


def _traced(exported: Exported) -> Any:
    """Return the function as TensorFlow's, with the shapes and types of its inputs."""
    signature = [
        tf.TensorSpec(shape, exported.items[name].dtype, name)
        for name, shape in exported.inputs.items()
    ]

    def function(*tensors: Any) -> Arrays:
        return exported.function(**dict(zip(exported.inputs, tensors, strict=True)))

    return tf.function(function, input_signature=signature, autograph=False)


def write_saved_model(exported: Exported, folder: Path) -> Arrays:
    """Write the folder `model`, and return the outputs of the written model."""
    module, function, path = tf.Module(), _traced(exported), str(folder / "model")
    module.weights = [*function.get_concrete_function().variables]
    tf.saved_model.save(module, path, function)
    model = tf.saved_model.load(path).signatures["serving_default"]
    inputs = {name: tf.constant(exported.items[name]) for name in exported.inputs}
    return {name: value.numpy() for name, value in model(**inputs).items()}


def write_onnx(exported: Exported, folder: Path) -> Arrays:
    """Write `model.onnx`, and return the outputs of the written model.

    Raises:
        RequestError: the model decodes step by step.
    """
    if exported.loops:
        raise RequestError(
            "--format onnx: expected a model that writes no sequence step by step, got a "
            "translator: use --format saved_model, or ctranslate2 for a Transformer."
        )
    import onnxruntime
    import tf2onnx

    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    _add_erfc()
    function, path = _traced(exported), str(folder / "model.onnx")
    tf2onnx.convert.from_function(
        function, function.input_signature, opset=_OPSET, output_path=path
    )
    session = onnxruntime.InferenceSession(path)
    values = session.run(None, {name: exported.items[name] for name in exported.inputs})
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))


@functools.cache
def _add_erfc() -> None:
    """Teach tf2onnx `erfc(x) = 1 - erf(x)`, which the activation gelu has."""
    from tf2onnx.handler import tf_op

    @tf_op("Erfc")
    class Erfc:
        @classmethod
        def version_9(cls, ctx: Any, node: Any, **_: Any) -> None:
            shape, kind = ctx.get_shape(node.output[0]), ctx.get_dtype(node.output[0])
            ctx.remove_node(node.name)
            one = ctx.make_const(f"{node.name}_one", np.array(1, np.float32)).output[0]
            erf = ctx.make_node("Erf", node.input[:1]).output[0]
            same = {"name": node.name, "outputs": node.output, "shapes": [shape], "dtypes": [kind]}
            ctx.make_node("Sub", [one, erf], **same)
