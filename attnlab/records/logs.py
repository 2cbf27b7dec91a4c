"""The log of a run, run.log in its folder."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# How much the command line shows: -1 with `-q` (only errors and warnings), 1 with `-v` (the whole
# log).
verbosity = 0


# The open log files, and the set-up that lasts as long as one is open.
_files: list[_FileHandler] = []
_shared = ExitStack()
# The log files of the current run; stacked runs take turns in a process.
_here: ContextVar[tuple[_FileHandler, ...]] = ContextVar("here", default=())


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Append the body's log records and warnings to a file.

    The file gets records of the logger `attnlab` from INFO, and records of other loggers and
    Python's warnings from WARNING. Unless logging is configured already, warnings of `attnlab` and
    Python's go to standard error, with `-v` all records of `attnlab`.
    """
    file, root = _FileHandler(path, encoding="utf-8", delay=True), logging.getLogger()
    file.setFormatter(logging.Formatter(FORMAT))
    file.addFilter(lambda record: record.levelno >= logging.WARNING or _is_ours(record))
    file.addFilter(lambda record: not _here.get() or file in _here.get())
    if not _files:
        _set_up(root)
    _files.append(file)
    root.addHandler(file)
    before = _here.set((*_here.get(), file))
    try:
        yield
    finally:
        _here.reset(before)
        root.removeHandler(file)
        _files.remove(file)
        file.close()
        if not _files:
            _shared.close()


def _set_up(root: logging.Logger) -> None:
    ours = logging.getLogger("attnlab")
    if not root.handlers:  # warnings look like the command line's errors
        terminal = logging.StreamHandler(_shared.enter_context(standard_error()))
        terminal.setLevel(logging.DEBUG if verbosity > 0 else logging.WARNING)
        terminal.setFormatter(logging.Formatter("attnlab: %(message)s"))
        terminal.addFilter(lambda record: _is_ours(record) or record.name == "py.warnings")
        root.addHandler(terminal)
        _shared.callback(root.removeHandler, terminal)
    _shared.callback(ours.setLevel, ours.level)
    level = logging.DEBUG if verbosity > 0 else logging.INFO
    ours.setLevel(min(level, ours.getEffectiveLevel()))
    logging.captureWarnings(True)
    _shared.callback(logging.captureWarnings, False)


class _FileHandler(logging.FileHandler):
    """A log file whose failures, such as a full disk, don't disturb the run."""

    def emit(self, record: logging.LogRecord) -> None:  # noqa: D102
        with suppress(OSError):  # this opens the file
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: D102
        pass

    def close(self) -> None:  # noqa: D102
        with suppress(OSError):
            super().close()


def in_words(entries: Mapping[str, Any]) -> str:
    """List names and values as in a sentence, without empty ones: `train 661, test 354`."""
    words = {name.replace("_", " "): _word(value) for name, value in entries.items()}
    return ", ".join(f"{name} {word}" for name, word in words.items() if word not in ("", "()"))


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({in_words(value)})"
    if isinstance(value, (list, tuple)):
        return " ".join(map(_word, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextmanager
def standard_error() -> Iterator[IO[str]]:
    """Yield standard error, which works even while TensorFlow's import redirects descriptor 2."""
    is_descriptor_2 = False
    with suppress(OSError, ValueError, AttributeError):  # standard error is captured
        # Not rich's replacement.
        is_descriptor_2 = sys.stderr.fileno() == 2 and sys.stderr is sys.__stderr__
    if not is_descriptor_2:
        yield sys.stderr
        return
    encoding, errors = sys.stderr.encoding, sys.stderr.errors
    stream = os.fdopen(os.dup(2), "w", buffering=1, encoding=encoding, errors=errors)
    try:
        yield stream
    finally:
        with suppress(BrokenPipeError):  # the reader is gone
            stream.close()


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == "attnlab"
