"""The formats of exported models; `exporting` writes, checks and describes one."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """A format of exported models.

    Attributes:
        about: one line of help.
        writer: path of a function from `Exported` and a folder to the outputs of the written model.
            It raises `RequestError` if the format has no counterpart of the model.
        needed: the packages that it imports; the last one loads the model.
    """

    about: str
    writer: str
    needed: tuple[str, ...]


FORMATS = {
    "saved_model": Format(
        "TensorFlow's SavedModel", "attnlab.export.graphs:write_saved_model", ("tensorflow",)
    ),
    "onnx": Format(
        "ONNX, for all models except translators",
        "attnlab.export.graphs:write_onnx",
        ("tf2onnx", "onnxruntime"),
    ),
    "ctranslate2": Format(
        "CTranslate2, for Transformers that translate",
        "attnlab.export.ctranslate2_model:write",
        ("ctranslate2",),
    ),
}
