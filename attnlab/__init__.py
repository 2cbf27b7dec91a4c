"""attnlab: see, train and fairly compare attention mechanisms.

`attnlab.run`, `sweep`, `load`, `runs` and `compare` are the command line's work from Python.
"""

import importlib
import types
from typing import Any

from attnlab.errors import RequestError, RunFailed, SweepFailed

__version__ = "0.1.0"
__all__ = ["RequestError", "RunFailed", "SweepFailed", "compare", "load", "run", "runs", "sweep"]


def __getattr__(name: str) -> Any:
    """The functions, for which nothing waits that only asks for a part of this package."""
    if name not in __all__:
        raise AttributeError(f"module 'attnlab' has no attribute {name!r}")
    if name in ("compare", "run"):
        return importlib.import_module(f"attnlab.{name}")
    return _function(name)


class CallablePackage(types.ModuleType):
    """A package that is a function, too: Python keeps one thing under the name `attnlab.run`."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Do what the function of this name in `attnlab.api.functions` does."""
        return _function(self.__name__.rpartition(".")[2])(*arguments, **settings)


def _function(name: str) -> Any:
    return getattr(importlib.import_module("attnlab.api.functions"), name)
