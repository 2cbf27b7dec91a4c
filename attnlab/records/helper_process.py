"""Processes that work for this one; a message through a pipe is a line of JSON.

Why a process and no thread: what it imports cannot meet TensorFlow's imports half-way, its Python
work takes no time from training, and when this process is killed, it sees the pipe close and can
still put things in order.
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
    """What waits for answers; those with its `number` as their `run` are its own."""

    number: int

    def receive(self, answer: Message) -> None:
        """Take an answer, in another thread; with `problem` what went wrong, at last `done`."""


class HelperProcess:
    """A process that runs a module, whose messages are those of `messages`.

    `environment` is added to this process's own, unless that says otherwise. Raises `OSError` where
    it can't be started.
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
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout  # both pipes were asked for
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def current(
        cls, module: str, environment: Mapping[str, str] | None = None, number: int = 0
    ) -> HelperProcess:
        """The one that runs and is of this process (after a fork it isn't), or a new one.

        A module may run in several, which are told apart by numbers.
        """
        with cls._lock:
            helper = cls._current.get((module, number))
            ours = helper is not None and helper._owner == os.getpid() and not helper._over
            if helper is None or not ours or helper._process.poll() is not None:
                cls._current[module, number] = helper = cls(module, environment or {})
            return helper

    def add(self, listener: Listener) -> None:
        """Have a listener receive its answers, in another thread, up to one with `done`."""
        with self._lock:
            self._listeners[listener.number] = listener
            if self._over:
                self._end()

    def send(self, message: Message) -> None:
        """Send a message; at once, for never more than a few short ones are under way."""
        with suppress(OSError, ValueError):  # it has ended, which the reading thread reports
            self._stdin.write(json.dumps(message).encode() + b"\n")

    def abandon(self) -> None:
        """Kill the process, which hangs; what is to come gets another."""
        self._forget()
        self._process.kill()
        self._reader.join(timeout=1)

    @classmethod
    def close_all(cls) -> None:
        """At the end of this process: let the others end, after what they have still to do."""
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
    """In a helper: the messages until the other process is gone, and a function to answer.

    Standard output belongs to the answers: what else is printed goes to standard error. Signals
    that ask to end are left to the other process, whose end is the end of this one.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)  # where cores are few, the other process comes first
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def answer(message: Message) -> None:
        with suppress(OSError):  # nobody listens any more
            answers.write(json.dumps(message).encode() + b"\n")

    # A line that was cut off came from a killed process.
    return (json.loads(line) for line in sys.stdin.buffer if line.endswith(b"\n")), answer
