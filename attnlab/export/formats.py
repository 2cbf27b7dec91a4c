"""The formats of exported models."""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

from attnlab.errors import RequestError


class Format(NamedTuple):
    """A format of exported models.

    Attributes:
        about: one line of help.
        writer: path of the module with `check(exported)`, which raises `RequestError` if the
            format has no counterpart, `write(exported, folder)` and `outputs(exported, folder)`.
        runtime: the package that loads the model.
        needed: the packages that writing and checking imports.
    """

    about: str
    writer: str
    runtime: str
    needed: tuple[str, ...] = ()


_HERE = "attnlab.export"
FORMATS = {
    "saved_model": Format("TensorFlow's SavedModel", f"{_HERE}.saved_model", "tensorflow"),
    "onnx": Format(
        "ONNX, for all models except translators",
        f"{_HERE}.onnx_model",
        "onnxruntime",
        ("onnxruntime", "tf2onnx"),
    ),
    "ctranslate2": Format(
        "CTranslate2, for Transformers that translate",
        f"{_HERE}.ctranslate2_model",
        "ctranslate2",
        ("ctranslate2",),
    ),
}


def require_packages(name: str) -> None:
    """Raise `RequestError` if a package of a format is missing."""
    missing = [part for part in FORMATS[name].needed if importlib.util.find_spec(part) is None]
    if missing:
        raise RequestError(
            f"--format: {', '.join(missing)} is not installed: pip install 'attnlab[{name}]'."
        )
