"""`attnlab ui`: open the MLflow UI on this project's store."""

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

# MLflow's job execution starts seven processes that outlive the server, and is not needed here.
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
    """Serve the MLflow UI on this project's store, until Ctrl-C.

    Prints an address that opens the experiment of the newest run, with the most useful columns.
    """
    folder = runs_folder(runs).absolute()
    uri = absolute_uri(default_uri(folder))
    check_store(uri, folder)
    check_port(host, port)
    store = sqlite_path(uri)
    page = newest_page(store) if store else ""
    click.echo(f"MLflow UI at http://{host}:{port}{page} (Ctrl-C stops it)")
    return _serve(server_command(uri, folder, host, port))


def check_store(uri: str, runs: Path) -> None:
    """Raise `RequestError` if the UI can't show the store at a tracking URI.

    The URI may be a server, which has its own UI. The store may be missing, locked, from another
    version of MLflow, or no store at all.
    """
    if uri.startswith(("http://", "https://")):
        raise RequestError(f"MLFLOW_TRACKING_URI: {uri} is a server: open it in a browser.")
    store = sqlite_path(uri)
    if store is not None and not store.exists():
        advice = "Train a run first, or name the folder of your runs."
        if list_runs(runs):
            advice = "attnlab runs sync creates it from the run folders."
        raise RequestError(f"--runs: the MLflow store {str(store)!r} does not exist. {advice}")
    store_check.check_store(uri, writing=False)


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
            f"--port={port}: can't be used on {host} ({reason}). Name another port or host."
        ) from error


def server_command(uri: str, runs: Path, host: str, port: int) -> list[str]:
    """Return the command line of the MLflow server."""
    return [
        *python_command("mlflow", "ui", "--host", host, "--port", str(port)),
        *("--backend-store-uri", uri, "--registry-store-uri", uri),
        *("--artifacts-destination", (runs / "artifacts").as_uri()),
        *("--workers", "1", "--uvicorn-opts", "--log-level warning"),
    ]


def _serve(words: list[str]) -> int:
    """Run the server until it ends or this process gets a signal; returns 1 if it failed."""
    environment = {**_ENVIRONMENT, **child_environment()}
    # In an empty folder, because its child processes import modules from the working folder.
    with tempfile.TemporaryDirectory() as empty:
        # In its own session: otherwise Ctrl-C would reach it, too, and it would print a traceback.
        server = subprocess.Popen(words, env=environment, cwd=empty, start_new_session=True)
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
    """Stop the server and its child processes."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, number)
        else:
            server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_SECONDS_TO_END)
