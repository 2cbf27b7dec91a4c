"""The formats of exported models."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attnlab.errors import RequestError
from attnlab.tasks.declaration import load

if TYPE_CHECKING:
    from attnlab.tasks.exported import Arrays, Exported


class Code(NamedTuple):
    """The lines of an example that are specific to a format.

    They know `here`, the folder, and the arrays `inputs`.

    Attributes:
        imports: lines that import the format's library.
        lines: lines that set `outputs`, arrays by name.
    """

    imports: Sequence[str]
    lines: Sequence[str]


@dataclass(frozen=True)
class Format:
    """A format of exported models.

    Attributes:
        about: one line of help.
        writer: path of the module with `check(exported, quantize)`, which raises `RequestError` if
            the format has no counterpart, `write(exported, folder, quantize)`,
            `outputs(exported, folder)`, `code(exported)` and `notes(exported, quantize)`.
        packages: the packages that an example imports, by their names on PyPI.
        needed: the packages that writing and checking imports.
        extra: the extra that installs them; "" if attnlab needs them anyway.
        quantizes: whether `--quantize` is possible.
        greedy: whether its outputs are compared with `Transformer.own`.
    """

    about: str
    writer: str
    packages: tuple[str, ...]
    needed: tuple[str, ...] = ()
    extra: str = ""
    quantizes: bool = False
    greedy: bool = False

    def require(self) -> None:
        """Raise `RequestError` if a package is missing."""
        missing = [name for name in self.needed if importlib.util.find_spec(name) is None]
        if missing:
            raise RequestError(
                f"--format: {', '.join(missing)} is not installed: "
                f"pip install 'attnlab[{self.extra}]'."
            )


FORMATS = {
    "saved_model": Format(
        "TensorFlow's SavedModel",
        "attnlab.export.saved_model",
        packages=("tensorflow",),
    ),
    "onnx": Format(
        "ONNX, for models whose outputs have a fixed shape",
        "attnlab.export.onnx_model",
        packages=("onnxruntime",),
        needed=("onnxruntime", "tf2onnx"),
        extra="onnx",
    ),
    "ctranslate2": Format(
        "CTranslate2, for Transformers that translate or continue texts",
        "attnlab.export.ctranslate2_model",
        packages=("ctranslate2",),
        needed=("ctranslate2",),
        extra="ctranslate2",
        quantizes=True,
        greedy=True,
    ),
}


class Writer:
    """The functions of a format's module."""

    def __init__(self, name: str) -> None:
        writer = FORMATS[name].writer
        self._functions = {
            each: load(f"{writer}:{each}")
            for each in ("check", "write", "outputs", "code", "notes")
        }

    def check(self, exported: Exported, quantize: str | None) -> None:
        """Raise `RequestError` if the format can't have this model."""
        self._functions["check"](exported, quantize)

    def write(self, exported: Exported, folder: Path, quantize: str | None) -> None:
        """Write the model into a folder."""
        self._functions["write"](exported, folder, quantize)

    def outputs(self, exported: Exported, folder: Path) -> Arrays:
        """Return the outputs of the written model for the test items."""
        found: Arrays = self._functions["outputs"](exported, folder)
        return found

    def code(self, exported: Exported) -> Any:
        """Return the `Code` of an example."""
        return self._functions["code"](exported)

    def notes(self, exported: Exported, quantize: str | None) -> Sequence[str]:
        """Return the form of the model's inputs and outputs, one sentence each."""
        found: Sequence[str] = self._functions["notes"](exported, quantize)
        return found


def function_notes(exported: Exported, quantize: str | None) -> list[str]:
    """Return `notes` of a format that has `Exported.function`."""

    def sizes(shape: Sequence[int | None]) -> str:
        return ", ".join("any" if size is None else str(size) for size in shape)

    inputs = [
        f"Input `{name}`: {kind} ({sizes(shape)})."
        for name, (shape, kind) in exported.inputs.items()
    ]
    return [*inputs, *exported.function_notes]
