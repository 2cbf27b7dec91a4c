"""Find the kinds of task, and the kind of a task."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from attnlab import tasks
from attnlab.config.options import option_class
from attnlab.errors import RequestError
from attnlab.tasks.declaration import Kind, load

_ENTRY_POINTS = "attnlab.kinds"


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds: those in `kind.py` of the folders here, and entry points of packages.

    A `kind.py` may define several kinds, which share code. The value of an entry point in the
    group `attnlab.kinds` is the path of a `Kind`.
    """
    files = (path for folder in tasks.__path__ for path in Path(folder).glob("*/kind.py"))
    folders = sorted(path.parent.name for path in files)
    paths = [point.value for point in entry_points(group=_ENTRY_POINTS)]
    try:
        modules = [import_module(f"{tasks.__name__}.{name}.kind") for name in folders]
        values = (value for module in modules for value in vars(module).values())
        shipped = [value for value in values if isinstance(value, Kind)]
        return (*shipped, *(load(path) for path in paths))
    except (ImportError, AttributeError) as error:
        raise RequestError(f"A package's {_ENTRY_POINTS} can't be loaded: {error}.") from error


def kind_of(task: str) -> Kind:
    """Return the kind of a task, given the task's name; raises `RequestError` without one."""
    return option_class("task", task).kind  # type: ignore[attr-defined]


def known_kind(task: object) -> Kind | None:
    """Return the kind of a task, given its name; None if the task is unknown."""
    try:
        return kind_of(str(task))
    except RequestError:
        return None
