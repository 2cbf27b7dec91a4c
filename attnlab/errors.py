"""The errors that end a command with one clear sentence instead of a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class RequestError(ValueError):
    """The request was wrong: a config value, an argument, a file. Exit code 2.

    The text names the key or file, what was expected and what was given.
    """


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an `OSError` into a `RequestError` that says what is wrong and the system's reason."""
    try:
        yield
    except OSError as error:
        raise RequestError(f"{what} ({error.strerror or error}).") from error


class RunBusy(RequestError):
    """Another process that lives writes the folder, so this one leaves it alone."""


class CannotGoOn(RequestError):
    """A run can't go on, now or later: its data have changed, or what it has is gone."""


class RunFailed(RuntimeError):
    """The run itself failed, for example on a loss that is not finite. Exit code 1."""


class Pruned(Exception):
    """A search gave the run up. What it has is kept; it is neither done nor failed."""


class SweepFailed(RuntimeError):
    """Jobs of a sweep failed; each has said why. Exit code 1."""


# What Keras puts around the text of an error in a layer, and TensorFlow and Keras into it.
_AROUND = (
    re.compile(r"Exception encountered when calling .*?\n\n(.*)\n\nArguments received", re.DOTALL),
    re.compile(r"Could not automatically infer .*Error encountered:\n\n(.*)", re.DOTALL),
)
_WITHIN = re.compile(r"\x1b\[\d*m|\{\{\w+ [^}]*\}\} ?|\[Op:\w+\]( name: ?)?")


def plain_text(error: BaseException) -> str:
    """What an error says, in one line and without what Keras and TensorFlow add to it."""
    text = _WITHIN.sub("", str(error))
    while found := next(filter(None, (pattern.match(text) for pattern in _AROUND)), None):
        text = found[1]
    return " ".join(text.split())
