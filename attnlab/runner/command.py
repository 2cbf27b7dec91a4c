"""Whether a command was interrupted.

Python loses a `KeyboardInterrupt` that is raised inside a callback from C, such as a weak
reference's, and TensorFlow has many of those. So the signal is stored as well, and long work calls
`check_for_interrupt` from time to time.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
