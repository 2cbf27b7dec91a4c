"""Helper processes, which exchange messages with this process as lines of JSON through pipes.

Why processes and not threads: their imports don't collide with TensorFlow's, their Python code
doesn't slow training down, and if this process is killed they notice the closed pipe and finish.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from attnlab.process import child_environment, python_command, variable

_SECONDS_AT_EXIT = 2
Message = Mapping[str, Any]


class Listener(Protocol):
    """Receives the answers whose `run` is its `number`."""

    number: int

    def receive(self, answer: Message) -> None:
        """Receive an answer in another thread; it may have a `problem`, and the last has `done`."""


class HelperProcess:
    """A process that runs a module which reads and answers messages by `messages`.

    It gets this process's environment variables, and those of `environment` that are unset here.
    Raises `OSError` if it can't be started.
    """

    _current: dict[tuple[str, int], HelperProcess] = {}  # by module and number
    _lock = threading.RLock()

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self._listeners: dict[int, Listener] = {}
        self._owner, self._over = os.getpid(), False
        self._process = subprocess.Popen(
            python_command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if variable("ATTNLAB_DEBUG") == "1" else subprocess.DEVNULL,
            env={**environment, **child_environment()},
            start_new_session=True,  # so that Ctrl-C in the terminal doesn't reach it
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def current(
        cls, module: str, environment: Mapping[str, str] | None = None, number: int = 0
    ) -> HelperProcess:
        """Return this process's helper for a module, or start one.

        Several helpers of one module differ by `number`. A forked process gets its own helpers.
        """
        with cls._lock:
            helper = cls._current.get((module, number))
            ours = helper is not None and helper._owner == os.getpid() and not helper._over
            if helper is None or not ours or helper._process.poll() is not None:
                cls._current[module, number] = helper = cls(module, environment or {})
            return helper

    def add(self, listener: Listener) -> None:
        """Deliver answers to a listener, in another thread, until one has `done`."""
        with self._lock:
            self._listeners[listener.number] = listener
            if self._over:
                self._end()

    def send(self, message: Message) -> None:
        """Send a message; doesn't block, because only a few short messages are in the pipe."""
        with suppress(OSError, ValueError):  # the reading thread reports that the helper has ended
            self._stdin.write(json.dumps(message).encode() + b"\n")

    def abandon(self) -> None:
        """Kill a helper that hangs; later requests get a new one."""
        self._forget()
        self._process.kill()
        self._reader.join(timeout=1)

    @classmethod
    def close_all(cls) -> None:
        """Let all helpers finish their work and end, when this process ends."""
        helpers = [each for each in cls._current.values() if each._owner == os.getpid()]
        for helper in helpers:
            helper._forget()
            helper._stdin.close()
        for helper in helpers:
            with suppress(subprocess.TimeoutExpired):
                helper._process.wait(_SECONDS_AT_EXIT)
                helper._reader.join(timeout=1)

    def _forget(self) -> None:
        with self._lock:
            for key in [key for key, helper in self._current.items() if helper is self]:
                del self._current[key]

    def _read(self) -> None:
        with self._stdout as raw, os.fdopen(os.dup(raw.fileno()), "rb") as stream:
            for line in stream:
                answer = json.loads(line)
                with self._lock:
                    take = self._listeners.pop if "done" in answer else self._listeners.get
                    listener = take(answer["run"], None)
                if listener:
                    listener.receive(answer)
        self._stdin.close()
        self._process.wait()
        self._end()

    def _end(self) -> None:
        with self._lock:
            self._over = True
            listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            listener.receive({"problem": "its process ended", "done": True})


atexit.register(HelperProcess.close_all)


def messages() -> tuple[Iterator[dict[str, Any]], Callable[[Message], None]]:
    """Return, inside a helper, an iterator over messages and a function to answer.

    The iterator ends when the other process does. Standard output is for answers, so everything
    else that is printed goes to standard error. SIGINT and SIGTERM are ignored, because the helper
    ends with the other process.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)  # training has priority
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def answer(message: Message) -> None:
        with suppress(OSError):  # the other process is gone
            answers.write(json.dumps(message).encode() + b"\n")

    # A line without an end was cut off when the other process was killed.
    return (json.loads(line) for line in sys.stdin.buffer if line.endswith(b"\n")), answer
