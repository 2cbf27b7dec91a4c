"""A process of this project: its environment variables, module path, warnings and output.

`python -m` and `python -c` look for modules in the working folder first, so a user's file random.py
would run in place of Python's own. `PYTHONSAFEPATH` prevents that from Python 3.11 on. For
Python 3.10 a command cleans its own path before it imports anything.
"""

from __future__ import annotations

import codecs
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

_SAFE, _WARNINGS = "PYTHONSAFEPATH", "PYTHONWARNINGS"
# Until the path is clean only `sys` is imported, because it is built into Python.
_CLEAN = "import sys; sys.path[:] = sys.argv.pop(1).split('\\n'); "
_RUN = "import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
# Python's default filters, which `-W error` replaces.
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def set_up() -> None:
    """Set `sys.path`, warnings and streams of this process, and the environment of its children."""
    sys.path[:] = search_path()
    set_up_children()
    _forgive_warnings()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="attnlab")


def set_up_children() -> None:
    """Set the environment variables with which Python starts in child processes."""
    environment = child_environment()
    os.environ.pop(_WARNINGS, None)
    os.environ.update(environment)


def search_path() -> list[str]:
    """Return `sys.path` without the working folder, or script folder, that Python puts first."""
    places = list(sys.path)
    if places[:1] and places[0] in _put_first() and places[0] not in places[1:]:
        del places[0]
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = [place for place in places if place]
    return found if own in found else [*found, own]


def _put_first() -> list[str]:
    """Return the folders that Python may have put at the start of the path."""
    if getattr(sys.flags, "safe_path", False):
        return []
    with suppress(OSError):  # the working folder is gone
        return [os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0]))]
    return []


def python_command(module: str, *arguments: str) -> list[str]:
    """Return a command that runs a module, and never imports from the working folder."""
    return safe_command([sys.executable, "-m", module, *arguments])


def safe_command(command: Sequence[str]) -> list[str]:
    """Change a Python command with `-m` or `-c` so that it cleans its module path first."""
    at = next(place for place, word in enumerate(command) if word in ("-m", "-c"))
    flag, what = command[at : at + 2]
    code = _CLEAN + (what if flag == "-c" else _RUN.format(module=what))
    return [*command[:at], "-c", code, "\n".join(search_path()), *command[at + 2 :]]


def child_environment() -> dict[str, str]:
    """Return the environment for child processes."""
    found = {**os.environ, _SAFE: "1"}
    asked = [part for part in found.pop(_WARNINGS, "").split(",") if not _is_error(part)]
    return found | ({_WARNINGS: ",".join(asked)} if any(asked) else {})


def _forgive_warnings() -> None:
    """Show warnings that `-W error` would raise, because no warning may end a run."""
    sys.warnoptions[:] = [option for option in sys.warnoptions if not _is_error(option)]
    if any(action == "error" for action, *_ in warnings.filters):
        warnings.resetwarnings()
        for category in _IGNORED:
            warnings.simplefilter("ignore", category)


def _is_error(option: str) -> bool:
    """Return whether an option of `-W` raises errors; Python accepts prefixes of `error`."""
    action = option.partition(":")[0].strip()
    return bool(action) and "error".startswith(action)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that a stream can't encode by JSON escapes.

    So printed JSON stays valid, and file names stay readable.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


codecs.register_error("attnlab", _escaped)


def processors() -> int:
    """Return how many processors this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def variable(name: str) -> str | None:
    """Return an environment variable; None if it is unset or only white space."""
    value = os.environ.get(name, "")
    return value if value.strip() else None
