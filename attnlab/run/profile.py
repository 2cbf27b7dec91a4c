"""The seconds of a command by phase, printed with `ATTNLAB_PROFILE=1`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from greenlet import getcurrent

from attnlab.process.variables import variable

_OTHER = "other"
_seconds: dict[str, float] = {}
_phases = [_OTHER]  # those under way, the innermost at the end
_since = time.perf_counter()  # when the innermost one began, or went on


@contextmanager
def spent(phase: str = _OTHER) -> Iterator[None]:
    """Count the body's seconds, or a function's, to a phase; those of a phase inside are its own.

    Other threads than the main one, and runs that train together, are not counted, since their
    phases overlap.
    """
    overlaps = threading.current_thread() is not threading.main_thread()
    if overlaps or getcurrent().parent is not None:
        yield
        return
    _count_seconds()
    _phases.append(phase)
    try:
        yield
    finally:
        _count_seconds()
        _phases.pop()


@contextmanager
def profiled() -> Iterator[None]:
    """Print phase, seconds and share of the body on standard error, if asked for."""
    _count_seconds()
    _seconds.clear()
    try:
        yield
    finally:
        _count_seconds()
        if variable("ATTNLAB_PROFILE") == "1":
            _print_phases()


def _count_seconds() -> None:
    global _since
    now = time.perf_counter()
    _seconds[_phases[-1]] = _seconds.get(_phases[-1], 0.0) + now - _since
    _since = now


def _print_phases() -> None:
    total = sum(_seconds.values())
    found = sorted(_seconds.items(), key=lambda each: (each[0] == _OTHER, -each[1]))
    for phase, seconds in [*found, ("in all", total)]:
        print(f"attnlab: {phase:<14}{seconds:8.2f} s{seconds / total:7.1%}", file=sys.stderr)
