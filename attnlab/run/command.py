"""A command while it works: whether it was interrupted, and how many seconds each phase took.

Python loses a `KeyboardInterrupt` that is raised inside a callback from C, such as a weak
reference's, and TensorFlow has many of those. So the signal is stored as well, and long work calls
`check_for_interrupt` from time to time. `ATTNLAB_PROFILE=1` prints the seconds.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from greenlet import getcurrent

from attnlab.process import variable

_asked = threading.Event()


def listen_for_interrupts() -> None:
    """Make Ctrl-C and SIGTERM raise `KeyboardInterrupt` from now on, and store that they came.

    A Ctrl-C that this process was started to ignore stays ignored.
    """
    _asked.clear()
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _interrupt):
        signal.signal(signal.SIGINT, _interrupt)


@contextmanager
def interrupts() -> Iterator[None]:
    """Listen for interrupts in the body; afterwards the caller's signal handlers are back."""
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    listen_for_interrupts()
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def check_for_interrupt() -> None:
    """Raise `KeyboardInterrupt` if Ctrl-C or SIGTERM has come."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt


_OTHER = "other"
_seconds: dict[str, float] = {}
_phases = [_OTHER]  # phases in progress, the innermost last
_since = time.perf_counter()  # when the innermost phase started or resumed


@contextmanager
def spent(phase: str = _OTHER) -> Iterator[None]:
    """Add the seconds of the body, or of a decorated function, to a phase.

    Seconds of a nested phase count only for the nested one. Threads other than the main one and
    stacked runs are not counted, because their phases overlap.
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
    """Print the body's seconds by phase on standard error if `ATTNLAB_PROFILE` is 1."""
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
