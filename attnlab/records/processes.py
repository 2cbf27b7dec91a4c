"""Whether the process that owns a run still lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """What `is_running` needs to recognise this process: host, pid, and its start on Linux."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "pid_started": _start(pid)}


def is_running(owner: Mapping[str, Any]) -> bool:
    """Whether the process recorded by `this_process` lives, as far as can be known from here.

    A process on another host counts as living. The start time tells the owner from a later process
    with the same number.

    Args:
        owner: A mapping with the entries of `this_process`.
    """
    pid = owner.get("pid")
    if not isinstance(pid, int) or owner.get("host") != socket.gethostname() or os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return owner.get("pid_started") in (None, _start(pid))


def _start(pid: int) -> str | None:
    """When the process began, in the kernel's ticks since boot; None where that isn't known.

    A zombie has no start: nobody has asked for its exit status yet, but it has ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None
