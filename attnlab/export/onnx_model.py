"""ONNX: the function as a graph of ONNX's operations, made by tf2onnx."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from attnlab.errors import RequestError
from attnlab.export.formats import Code
from attnlab.export.saved_model import traced
from attnlab.tasks.exported import Arrays, Exported

FILE = "model.onnx"
_OPSET = 18


def check(exported: Exported, quantize: str | None) -> None:
    """Raise `RequestError` for a model that decodes step by step."""
    if not exported.fixed:
        raise RequestError(
            "--format onnx: expected a model with outputs of a fixed shape, got one that writes a "
            "sequence step by step: use --format saved_model, or ctranslate2 for a Transformer."
        )


def write(exported: Exported, folder: Path, quantize: str | None) -> None:
    """Write `model.onnx`."""
    import tf2onnx

    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    function = traced(exported)
    model, _ = tf2onnx.convert.from_function(
        function, input_signature=function.input_signature, opset=_OPSET
    )
    (folder / FILE).write_bytes(model.SerializeToString())


def outputs(exported: Exported, folder: Path) -> Arrays:
    """Return the outputs of onnxruntime for the test items."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / FILE))
    items = {
        name: np.asarray(exported.items[name], kind) for name, (_, kind) in exported.inputs.items()
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, items), strict=True))


def code(exported: Exported) -> Code:
    """Return the lines of an example."""
    return Code(
        ("import onnxruntime",),
        (
            f'session = onnxruntime.InferenceSession(str(here / "{FILE}"))',
            "names = [output.name for output in session.get_outputs()]",
            "outputs = dict(zip(names, session.run(None, inputs)))",
        ),
    )
