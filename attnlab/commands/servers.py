"""Run servers of MLflow as child processes that end with the command."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from types import MappingProxyType

from attnlab.errors import RequestError
from attnlab.process import child_environment
from attnlab.records.mlflow.settings import QUIET_ENVIRONMENT

# MLflow's job execution starts seven processes that outlive the server, and is not needed here.
_ENVIRONMENT = {
    **QUIET_ENVIRONMENT,
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONWARNINGS": "ignore",
}
_SECONDS_TO_END = 5


def check_port(host: str, port: int) -> None:
    """Raise `RequestError` if a server can't listen on this address."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise RequestError(
            f"--host={host}: unknown host. Name this machine, as in --host=localhost."
        ) from error
    try:
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise RequestError(
            f"--port={port}: can't be used on {host} ({reason}). Name another port."
        ) from error


def run_server(
    words: list[str],
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Run a server until it ends or this process gets a signal; returns 1 if it failed.

    Args:
        words: its command line.
        started: called once the process runs; may wait until the server answers.
        variables: further environment variables.
    """
    environment = {**_ENVIRONMENT, **child_environment(), **variables}
    # In an empty folder, because its child processes import modules from the working folder.
    with tempfile.TemporaryDirectory() as empty:
        # In its own session: otherwise Ctrl-C would reach it, too, and it would print a traceback.
        server = subprocess.Popen(words, env=environment, cwd=empty, start_new_session=True)
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.default_int_handler)
        try:
            if started is not None:
                started(server)
            return min(abs(server.wait()), 1)
        except KeyboardInterrupt:
            return 0
        finally:
            _end(server)


def _end(server: subprocess.Popen[bytes]) -> None:
    """Stop the server and its child processes."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, number)
        else:
            server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_SECONDS_TO_END)
