"""Errors and interrupts that end a command with one clear sentence instead of a traceback."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class RequestError(ValueError):
    """The request was wrong: a config value, an argument, a file. Exit code 2.

    The text names the key or file, what is wrong and what to do.
    """


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an `OSError` of the body into a `RequestError`: `what`, and the system's reason."""
    try:
        yield
    except OSError as error:
        raise RequestError(f"{what} ({error.strerror or error}).") from error


class RunBusy(RequestError):
    """Another running process is writing the folder."""


class CannotResume(RequestError):
    """A run can never be resumed: its data have changed, or its files are gone."""


class RunFailed(RuntimeError):
    """The run failed, for example on a loss that is not finite; or the command. Exit code 1."""


class Pruned(Exception):
    """A search stopped the run early; its folder stays, and it is neither completed nor failed."""


class SweepFailed(RuntimeError):
    """Jobs of a sweep failed and have printed their errors. Exit code 1."""


# Text that Keras adds around the message of an error in a layer, and text added within it.
_AROUND = (
    re.compile(r"Exception encountered when calling .*?\n\n(.*)\n\nArguments received", re.DOTALL),
    re.compile(r"Could not automatically infer .*Error encountered:\n\n(.*)", re.DOTALL),
)
_WITHIN = re.compile(r"\x1b\[\d*m|\{\{\w+ [^}]*\}\} ?|\[Op:\w+\]( name: ?)?")


def plain_text(error: BaseException) -> str:
    """Return an error's message in one line, without the additions of Keras and TensorFlow."""
    text = _WITHIN.sub("", str(error))
    while match := next(filter(None, (pattern.match(text) for pattern in _AROUND)), None):
        text = match[1]
    return " ".join(text.split())


# Python loses a `KeyboardInterrupt` that is raised inside a callback from C, such as a weak
# reference's, and TensorFlow has many of those. So the signal is stored as well, and long work
# calls `check_for_interrupt` from time to time.
_interrupted = threading.Event()


def listen_for_interrupts() -> None:
    """Make Ctrl-C and SIGTERM raise `KeyboardInterrupt` from now on, and store that they came.

    A Ctrl-C that this process was started to ignore stays ignored.
    """
    _interrupted.clear()
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
    if _interrupted.is_set():
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _interrupted.set()
    raise KeyboardInterrupt
