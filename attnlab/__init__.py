"""attnlab: see, train and fairly compare attention mechanisms.

`attnlab.run`, `sweep`, `load`, `runs` and `compare` do from Python what the command line does;
`help(attnlab.run)` shows an example.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from attnlab.errors import RequestError, RunFailed, SweepFailed

__version__ = "0.1.0"
__all__ = ["RequestError", "RunFailed", "SweepFailed", "compare", "load", "run", "runs", "sweep"]


class _Function:
    """A function of this package, imported at its first use.

    Two functions have the names of subpackages. Importing a subpackage normally sets it as an
    attribute of its package. Here the function stays, and gets the subpackage's modules as
    attributes, so that `import attnlab.compare.shown` still works.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, package: Any, owner: type | None = None) -> Any:
        function = getattr(importlib.import_module("attnlab.api"), self._name)
        if subpackage := sys.modules.get(f"{__name__}.{self._name}"):
            function.__dict__ = vars(subpackage)
        return function

    def __set__(self, package: Any, subpackage: types.ModuleType) -> None:
        if not isinstance(subpackage, types.ModuleType):
            raise AttributeError(f"attnlab.{self._name} can't be set")


class _Package(types.ModuleType):
    compare, load = _Function(), _Function()
    run, runs, sweep = _Function(), _Function(), _Function()

    def __dir__(self) -> list[str]:
        return [*__all__, "__version__"]


sys.modules[__name__].__class__ = _Package
