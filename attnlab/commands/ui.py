"""`attnlab ui`: the MLflow UI on this project's store."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import click

from attnlab.commands.options import runs_folder, runs_option
from attnlab.config.parsing import absolute_uri
from attnlab.errors import RequestError
from attnlab.process import child_environment, python_command
from attnlab.records.mlflow import store_check
from attnlab.records.mlflow.internals import newest_page
from attnlab.records.mlflow.settings import QUIET_ENVIRONMENT, default_uri, sqlite_path
from attnlab.records.run_directory import list_runs

# Jobs are seven more processes, which outlive the server; nobody submits any here.
_ENVIRONMENT = {
    **QUIET_ENVIRONMENT,
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONWARNINGS": "ignore",
}
_SECONDS_TO_END = 5


@click.command("ui")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port."
)
@runs_option
def command(host: str, port: int, runs: str | None) -> int:
    """Open the MLflow UI on this project's store, until Ctrl-C.

    The address is that of the runs of the newest run's task, with the columns that say most.
    """
    folder = runs_folder(runs).absolute()
    uri = absolute_uri(default_uri(folder))
    check_store(uri, folder)
    check_port(host, port)
    store = sqlite_path(uri)
    page = newest_page(store) if store else ""
    click.echo(f"MLflow UI at http://{host}:{port}{page} (Ctrl-C ends it)")
    return _serve(server_command(uri, folder, host, port))


def check_store(uri: str, runs: Path) -> None:
    """Raise `RequestError` where the UI can't show the store at a tracking URI.

    It is a server, which has a UI of its own, or it is missing, locked, of another version of
    MLflow, or no store.
    """
    if uri.startswith(("http://", "https://")):
        raise RequestError(f"MLFLOW_TRACKING_URI: {uri} is a server: open it in a browser.")
    store = sqlite_path(uri)
    if store is not None and not store.exists():
        advice = "train a run first, or name the folder of your runs."
        if list_runs(runs):
            advice = "attnlab runs sync makes it again from the run folders."
        raise RequestError(
            f"--runs: expected a folder with an MLflow store, but {str(store)!r} does not exist: "
            f"{advice}"
        )
    store_check.check_store(uri, writing=False)


def check_port(host: str, port: int) -> None:
    """Raise `RequestError` where no server could listen."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise RequestError(f"--host: expected an address of this machine, got {host!r}.") from error
    try:
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise RequestError(
            f"--port: expected a free port of {host}, got {port} ({reason})."
        ) from error


def server_command(uri: str, runs: Path, host: str, port: int) -> list[str]:
    """The command line of the MLflow server."""
    return [
        *python_command("mlflow", "ui", "--host", host, "--port", str(port)),
        *("--backend-store-uri", uri, "--registry-store-uri", uri),
        *("--artifacts-destination", (runs / "artifacts").as_uri()),
        *("--workers", "1", "--uvicorn-opts", "--log-level warning"),
    ]


def _serve(words: list[str]) -> int:
    """Run the server until it ends, or until this process is asked to end; 1 where it failed."""
    with tempfile.TemporaryDirectory() as empty:
        return _serve_in(empty, words)


def _serve_in(folder: str, words: list[str]) -> int:
    """Run the server in an empty folder: it starts others, which look for modules in theirs."""
    # In a session of its own, or a Ctrl-C would reach it too and be answered with a traceback.
    environment = {**_ENVIRONMENT, **child_environment()}
    server = subprocess.Popen(words, env=environment, cwd=folder, start_new_session=True)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        return min(abs(server.wait()), 1)
    except KeyboardInterrupt:
        return 0
    finally:
        _end(server)


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server and what it has started."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, number)
        else:
            server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_SECONDS_TO_END)
