"""The process that does the work of the Python API, so that the caller's process isn't changed.

It stays alive with TensorFlow and compiled programs, so that a second run takes about a second.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from attnlab.api.wording import in_python
from attnlab.config.options import CONFIG_DIR
from attnlab.config.own_files import failure
from attnlab.errors import RequestError, RunFailed, SweepFailed, explained
from attnlab.process import (
    child_environment,
    safe_command,
    search_path,
    set_up,
    set_up_children,
    variable,
)
from attnlab.records.status import this_process
from attnlab.run.command import listen_for_interrupts, profiled

_START = "import json; from attnlab.api.worker import serve; serve(*json.loads(sys.argv.pop()))"
_MARK = b"\0attnlab\0"  # precedes an answer, which shares a pipe with printed text
# Errors that callers get; subclasses are converted, because they exist only in the worker.
_SHOWN = RequestError, RunFailed, SweepFailed, KeyboardInterrupt
_SECONDS_TO_STOP = 20.0
# Jupyter sets these; with them, text for a pipe would have terminal colours.
_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE")


class Worker:
    """The only worker of this process; it handles one request at a time."""

    _current: Worker | None = None
    _lock = threading.RLock()
    # `$ATTNLAB_CONFIG_DIR` with the folders of earlier calls, whose runs later calls may use.
    _config_dirs: str | None = None

    def __init__(self) -> None:
        self._owner, self._modules = this_process(), dict[str, int]()
        # The caller's own modules come last in the path, so they replace no others.
        own = [place for place in map(os.path.abspath, sys.path) if place not in search_path()]
        is_terminal = bool(sys.stderr and sys.stderr.isatty())
        self._process = subprocess.Popen(
            safe_command([sys.executable, "-c", _START, json.dumps([self._owner, own])]),
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if is_terminal else subprocess.STDOUT,
            start_new_session=True,  # this process passes Ctrl-C on
        )
        self._printed: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @classmethod
    def call(cls, name: str, *arguments: Any) -> Any:
        """Call a function of `work` in the worker, and show what it prints.

        Raises:
            RequestError, RunFailed, SweepFailed: raised by the function; `RunFailed` also for
                other errors, and if the worker has died.
            KeyboardInterrupt: interrupted, after the worker has saved the run's state.
        """
        with cls._lock:
            worker = cls._current
            if worker is None or not worker._is_usable():
                cls.end()
                cls._current = worker = cls()
            return worker._ask(name, arguments)

    @classmethod
    def finish(cls) -> None:
        """Wait until the worker's runs have their figures and their copies in MLflow."""
        if cls._current and cls._current._is_usable():
            cls.call("finish")

    @classmethod
    def end(cls) -> None:
        """End the worker, if there is one: a next call begins another."""
        worker, cls._current = cls._current, None
        if worker and worker._owner["pid"] == os.getpid():
            assert worker._process.stdin
            with suppress(OSError, subprocess.TimeoutExpired):
                worker._process.stdin.close()
                worker._process.wait(_SECONDS_TO_STOP)
            worker._process.kill()

    def _is_usable(self) -> bool:
        """Return whether it is alive, belongs to this process, and has current user modules."""
        ours = self._owner["pid"] == os.getpid() and self._process.poll() is None
        return ours and all(_changed(path) == when for path, when in self._modules.items())

    def _ask(self, name: str, arguments: tuple[Any, ...]) -> Any:
        with explained("working folder: it does not exist any more"):
            folder = os.getcwd()
        environment = dict(os.environ)
        if Worker._config_dirs and not variable(CONFIG_DIR):
            environment[CONFIG_DIR] = Worker._config_dirs
        request = pickle.dumps((name, arguments, folder, environment))
        assert self._process.stdin
        try:
            with suppress(OSError):  # the worker has ended, which is reported below
                self._process.stdin.write(request)
                self._process.stdin.flush()
        except KeyboardInterrupt:  # the worker would wait for the rest of the request
            self._process.kill()
            self._process.wait()
            raise
        interrupts, mark = 0, b""
        while not mark:
            try:
                text, mark, answer = self._printed.get().partition(_MARK)
                if not text + mark:
                    code = self._process.wait()
                    raise RunFailed(f"the process that did the work has ended, exit code {code}")
                print(text.decode(errors="replace"), end="", file=_progress(), flush=True)
            except KeyboardInterrupt:
                interrupts += 1
                self._process.send_signal(signal.SIGKILL if interrupts > 1 else signal.SIGINT)
        content, self._modules, Worker._config_dirs = pickle.loads(base64.b64decode(answer))
        if interrupts and not isinstance(content, KeyboardInterrupt):
            raise KeyboardInterrupt
        if isinstance(content, BaseException):
            raise content
        return content

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as stream, suppress(OSError):
            for line in stream:
                self._printed.put(line)
        self._printed.put(b"")


def _progress() -> TextIO:
    """Return the stream for progress: in a notebook standard output, else standard error."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return sys.stdout if getattr(shell, "kernel", None) else sys.stderr


atexit.register(Worker.end)


def _changed(path: str) -> int:
    """Return a file's modification time in nanoseconds since 1970; 0 if it is gone."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


def serve(owner: dict[str, Any], places: list[str]) -> NoReturn:
    """Handle requests from standard input until it ends; a worker's main function.

    `places` are the folders of the caller's own modules.
    """
    set_up()
    sys.path += places
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    for number in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    from attnlab.sweeps.worker import end_with

    end_with(owner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError):
        while True:
            answer = _answer(*pickle.load(requests))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sys.stderr.flush()
            given = answer, _own_modules(), variable(CONFIG_DIR)
            content = base64.b64encode(pickle.dumps(given))
            answers.write(_MARK + content + b"\n")
            answers.flush()
    atexit._run_exitfuncs()
    os._exit(0)


@profiled()
def _answer(name: str, arguments: tuple[Any, ...], folder: str, environment: dict[str, str]) -> Any:
    """Return the result of a function of `work`, or the error that it raised."""
    from attnlab.api import work

    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update({k: v for k, v in environment.items() if k not in _COLOURS})
        set_up_children()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        listen_for_interrupts()
        return getattr(work, name)(*arguments)
    except _SHOWN as error:
        kind = next(each for each in _SHOWN if isinstance(error, each))
        return kind(in_python(str(error)))
    except BaseException as error:
        if environment.get("ATTNLAB_DEBUG") == "1":
            traceback.print_exc()
        return RunFailed(failure(error))


def _own_modules() -> dict[str, int]:
    """Return the loaded modules in the user's folders: file to modification time."""
    from attnlab.config.options import own_folders

    folders = own_folders()
    files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    own = [file for file in files if file and any(f in Path(file).parents for f in folders)]
    return {file: _changed(file) for file in own}
