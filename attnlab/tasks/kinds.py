"""Which kinds of task there are, and of which kind a task is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from attnlab import tasks
from attnlab.config.options import option_class
from attnlab.errors import RequestError
from attnlab.tasks.declaration import Kind, load

_ENTRY_POINTS = "attnlab.kinds"


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds: folders of `attnlab/tasks` with a `kind.py`, and entry points of packages.

    An entry point of the group `attnlab.kinds` has the path of a `Kind` as its value.
    """
    files = (path for folder in tasks.__path__ for path in Path(folder).glob("*/kind.py"))
    folders = sorted(path.parent.name for path in files)
    paths = [f"{tasks.__name__}.{name}.kind:KIND" for name in folders]
    paths += [point.value for point in entry_points(group=_ENTRY_POINTS)]
    try:
        return tuple(load(path) for path in paths)
    except (ImportError, AttributeError) as error:
        raise RequestError(f"A package's {_ENTRY_POINTS} can't be loaded: {error}.") from error


def kind_of(task: str) -> Kind:
    """The kind of a task by the task's name.

    Raises:
        RequestError: there is no such task here.
    """
    return option_class("task", task).kind  # type: ignore[attr-defined]


def known_kind(task: object) -> Kind | None:
    """The kind of a task by its name; None where the task isn't known here."""
    try:
        return kind_of(str(task))
    except RequestError:
        return None
