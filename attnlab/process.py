"""A process of this project: its module path, its output, and its environment variables.

`python -m` looks for modules in the working folder first, so a user's file random.py would run in
place of Python's own. A command removes that folder from its own path. `PYTHONSAFEPATH` does it for
its children, from Python 3.11 on.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def set_up() -> None:
    """Set `sys.path` and the streams of this process, and the environment of its children."""
    if not getattr(sys.flags, "safe_path", False):
        with suppress(OSError):  # the working folder is gone
            first = ("", os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])))
            if sys.path[:1] and sys.path[0] in first:
                del sys.path[0]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if package not in sys.path:
        sys.path.append(package)
    os.environ["PYTHONSAFEPATH"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def processors() -> int:
    """Return how many processors this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def variable(name: str) -> str | None:
    """Return an environment variable; None if it is unset or only white space."""
    value = os.environ.get(name, "")
    return value if value.strip() else None
