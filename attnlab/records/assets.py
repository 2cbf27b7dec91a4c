"""What a run saves of its task, so that its model can be used without its data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from attnlab.errors import RequestError

Found = TypeVar("Found")


def read_assets(
    path: Path,
    read: Callable[[Mapping[str, Any]], tuple[Any, Found]],
    *,
    expected: Any,
    what: str = "the settings",
) -> Found:
    """Read a file that a task saved as JSON.

    Args:
        path: the file.
        read: gives the settings in the file's content, and what else the task needs of it.
        expected: the task's own settings.
        what: what these are, for the error.

    Raises:
        RequestError: the file is missing, damaged, or of other settings.
    """
    try:
        saved, found = read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: expected what a run saves, but: {error!r}") from error
    if saved != expected:
        raise RequestError(f"{path}: expected {what} {expected}, got {saved}")
    return found
