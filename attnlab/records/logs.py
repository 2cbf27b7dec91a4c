"""The run's own log, run.log in its folder."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# How much the command line shows: -1 with `-q`, where only errors and warnings are shown, 1 with
# `-v`, where the terminal has the log, too.
verbosity = 0


# The files that are open, and what they have in common as long as there is one.
_files: list[_FileHandler] = []
_shared = ExitStack()
# The files that what works here logs to, where it is known; runs may take turns in a process.
_here: ContextVar[tuple[_FileHandler, ...]] = ContextVar("here", default=())


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Append what the body logs and warns to a file; logging is as before after it.

    What goes there: records of the logger `attnlab` from INFO on, other loggers' and Python's
    warnings from WARNING on. Warnings keep appearing on the terminal; where nobody has set up
    logging, warnings of `attnlab` are shown on standard error, with `-v` all that it logs.
    """
    file, root = _FileHandler(path, encoding="utf-8", delay=True), logging.getLogger()
    file.setFormatter(logging.Formatter(FORMAT))
    file.addFilter(lambda record: record.levelno >= logging.WARNING or _is_ours(record.name))
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
    if not root.handlers:  # warnings of ours go to the user, like the command line's errors
        terminal = logging.StreamHandler(_shared.enter_context(standard_error()))
        terminal.setLevel(logging.DEBUG if verbosity > 0 else logging.WARNING)
        terminal.setFormatter(logging.Formatter("attnlab: %(message)s"))
        terminal.addFilter(lambda record: _is_ours(record.name))
        root.addHandler(terminal)
        _shared.callback(root.removeHandler, terminal)
    _shared.callback(ours.setLevel, ours.level)
    level = logging.DEBUG if verbosity > 0 else logging.INFO
    ours.setLevel(min(level, ours.getEffectiveLevel()))
    _shared.enter_context(_warnings_logged())


class _FileHandler(logging.FileHandler):
    """A log file whose failures, such as a full disk or no folder, don't disturb the run."""

    def emit(self, record: logging.LogRecord) -> None:  # noqa: D102
        with suppress(OSError):  # it is opened here
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: D102
        pass

    def close(self) -> None:  # noqa: D102
        with suppress(OSError):
            super().close()


def in_words(entries: Mapping[str, Any]) -> str:
    """Names and values as a person would list them, without empty ones: `train 661, test 354`."""
    known = {name.replace("_", " "): _word(each) for name, each in entries.items()}
    return ", ".join(f"{name} {word}" for name, word in known.items() if word not in ("", "()"))


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({in_words(value)})"
    if isinstance(value, (list, tuple)):
        return " ".join(map(_word, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextmanager
def standard_error() -> Iterator[IO[str]]:
    """Standard error, even while TensorFlow is imported, when file descriptor 2 is turned away."""
    own = False
    with suppress(OSError, ValueError, AttributeError):  # where somebody captures what is printed
        own = sys.stderr.fileno() == 2 and sys.stderr is sys.__stderr__  # not rich's, beside bars
    if not own:
        yield sys.stderr
        return
    encoding, errors = sys.stderr.encoding, sys.stderr.errors
    stream = os.fdopen(os.dup(2), "w", buffering=1, encoding=encoding, errors=errors)
    try:
        yield stream
    finally:
        with suppress(BrokenPipeError):  # the reader of what is left has gone
            stream.close()


def _is_ours(name: str) -> bool:
    return name == "attnlab" or name.startswith("attnlab.")


@contextmanager
def _warnings_logged() -> Iterator[None]:
    """Let the files have each Python warning before it is shown as always."""
    show = warnings.showwarning

    def show_and_log(
        message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any
    ) -> None:
        text = f"{filename}:{lineno}: {category.__name__}: {message}"
        record = logging.LogRecord(
            "py.warnings", logging.WARNING, filename, lineno, text, None, None
        )
        for file in _files:
            file.handle(record)
        show(message, category, filename, lineno, *rest)

    warnings.showwarning = show_and_log  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = show
