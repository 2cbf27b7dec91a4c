"""ONNX: the function as a graph of ONNX's operations, made by tf2onnx."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import RequestError
from attnlab.export.saved_model import traced
from attnlab.tasks.exported import Arrays, Exported

FILE = "model.onnx"
_OPSET = 18


def check(exported: Exported) -> None:
    """Raise `RequestError` for a model that decodes step by step."""
    if exported.loops:
        raise RequestError(
            "--format onnx: expected a model that writes no sequence step by step, got a "
            "translator: use --format saved_model, or ctranslate2 for a Transformer."
        )


def write(exported: Exported, folder: Path) -> None:
    """Write `model.onnx`."""
    import tf2onnx

    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    _add_erfc()
    function = traced(exported)
    tf2onnx.convert.from_function(
        function, function.input_signature, opset=_OPSET, output_path=str(folder / FILE)
    )


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


def outputs(exported: Exported, folder: Path) -> Arrays:
    """Return the outputs of onnxruntime for the test items."""
    import onnxruntime

    inputs = {name: exported.items[name] for name in exported.inputs}
    session = onnxruntime.InferenceSession(str(folder / FILE))
    values = session.run(None, inputs)
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))
