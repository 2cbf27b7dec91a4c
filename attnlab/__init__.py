"""attnlab: see, train and fairly compare attention mechanisms.

`attnlab.run`, `sweep`, `load`, `runs` and `compare` do from Python what the command line does;
`help(attnlab.run)` shows an example.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from attnlab.errors import RequestError, RunFailed, SweepFailed

# Before any import of TensorFlow, also of child processes: it and CUDA log only fatal errors.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
__version__ = "0.1.0"
_FUNCTIONS = ("compare", "load", "run", "runs", "sweep")
__all__ = ["RequestError", "RunFailed", "SweepFailed", *_FUNCTIONS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import a function at its first use, so that the command line starts without its modules."""
    if name in _FUNCTIONS:
        return getattr(importlib.import_module("attnlab.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
