"""A helper process that is sent messages and never waited for.

Why a process and no thread: what it imports cannot meet TensorFlow's imports half-way, its Python
work takes no time from training, and when the training process is killed, the helper sees the pipe
close and can still put things in order.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

Message = dict[str, Any]


class BackgroundProcess:
    """A Python module running as a process of its own; messages go both ways as lines of JSON.

    Sending never blocks, even when the process hangs. The process ends when `close` is called or
    when this process ends, however that happens.

    Args:
        module: The module to run, which calls `serve`.
        environment: Its environment variables.
        on_message: Called with each message from the process, in a thread of its own.
        on_end: Called in that thread when no more messages can come.

    Raises:
        OSError: The process can't be started.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str],
        on_message: Callable[[Message], None],
        on_end: Callable[[], None],
    ):
        debugging = os.environ.get("ATTNLAB_DEBUG") == "1"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if debugging else subprocess.DEVNULL,
            env=_importing_this_package(environment),
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
            bufsize=0,
        )
        self._owner = os.getpid()
        self._outbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._write, daemon=True),
            threading.Thread(target=self._read, args=(on_message, on_end), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether the process runs and belongs to this one (after a fork it doesn't)."""
        return self._owner == os.getpid() and self._process.poll() is None

    def send(self, message: Message) -> None:
        """Put a message on its way; at once, whether or not the process is listening."""
        self._outbox.put(message)

    def close(self, timeout: float, kill: bool) -> None:
        """Send no more, and wait for the process to finish what it was sent.

        Args:
            timeout: For how many seconds to wait.
            kill: Whether to kill it after that, or to leave it to itself.
        """
        if self._owner != os.getpid():
            return
        self._outbox.put(None)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            if not kill:
                return
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(timeout=1)

    def _write(self) -> None:
        pipe = _pipe(self._process.stdin)
        with pipe:
            while (message := self._outbox.get()) is not None:
                try:
                    pipe.write(json.dumps(message).encode() + b"\n")
                except OSError:
                    return  # it has died, which the reading thread reports

    def _read(self, on_message: Callable[[Message], None], on_end: Callable[[], None]) -> None:
        with _pipe(self._process.stdout) as raw, os.fdopen(os.dup(raw.fileno()), "rb") as stream:
            for line in stream:
                on_message(json.loads(line))
        on_end()


class Handler(Protocol):
    """What `serve` calls in the helper process."""

    def handle(self, message: Message) -> None:
        """Do what the message says; must not raise."""

    def idle(self) -> None:
        """Nothing waits to be handled; must not raise."""

    def orphaned(self) -> None:
        """The other process closed the pipe or was killed; must not raise."""


def serve(make_handler: Callable[[Callable[[Message], None]], Handler]) -> None:
    """Handle the messages of the process that started this one until it is gone; never returns.

    Standard output belongs to the messages: what else is printed goes to standard error. Signals
    that ask to end are left to the other process, whose end is the end of this one.

    Args:
        make_handler: Gets the function that sends a message back, returns the handler.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)  # where cores are few, the other process comes first
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox,), daemon=True).start()
    handler = make_handler(lambda message: _answer(answers, message))
    while line := inbox.get():
        handler.handle(json.loads(line))
        if inbox.empty():
            handler.idle()
    handler.orphaned()
    os._exit(0)  # nothing is left to do, and library exit hooks must not hold up the other process


def _receive(inbox: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        if line.endswith(b"\n"):  # a line that was cut off came from a killed process
            inbox.put(line)
    inbox.put(b"")


def _answer(stream: IO[bytes], message: Message) -> None:
    try:
        stream.write(json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # nobody listens any more


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # both pipes were asked for
    return stream


def _importing_this_package(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment whose `python -m` finds this package and not the working folder."""
    root = str(Path(__file__).resolve().parents[3])
    paths = [root, environment.get("PYTHONPATH", "")]
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONSAFEPATH": "1",
    }
