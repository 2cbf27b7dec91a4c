"""Ctrl-C and SIGTERM, remembered.

Python loses a `KeyboardInterrupt` that is raised inside a callback from C, such as that of a weak
reference, of which TensorFlow has many. So the request is noted as well, and long work asks now and
then whether there was one.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_asked = threading.Event()


def listen() -> None:
    """From now on, turn Ctrl-C and SIGTERM into `KeyboardInterrupt` and remember them.

    A Ctrl-C that this process was started to ignore stays ignored.
    """
    _asked.clear()
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _interrupt):
        signal.signal(signal.SIGINT, _interrupt)


def check() -> None:
    """Raise `KeyboardInterrupt` if one was asked for."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt
