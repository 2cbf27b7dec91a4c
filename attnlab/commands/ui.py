"""`attnlab ui`: the MLflow UI on this project's store."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import click

from attnlab.errors import RequestError
from attnlab.records.run_directory import default_runs_folder
from attnlab.records.tracker import QUIET_ENVIRONMENT, default_uri


@click.command("ui")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port."
)
@click.option(
    "--runs",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of all runs; default $ATTNLAB_RUNS or ./runs.",
)
def command(host: str, port: int, folder: Path | None) -> None:
    """Open the MLflow UI on this project's store, until Ctrl-C."""
    runs = (folder or default_runs_folder()).absolute()
    uri = default_uri(runs)
    check_store(uri)
    check_port(host, port)
    click.echo(f"MLflow UI at http://{host}:{port} (Ctrl-C ends it)")
    click.get_text_stream("stdout").flush()
    _become(server_command(uri, runs, host, port))


def check_store(uri: str) -> None:
    """Check that the UI can show the store at a tracking URI.

    Raises:
        RequestError: It is a server, which has a UI of its own, or an SQLite file that is missing.
    """
    if uri.startswith(("http://", "https://")):
        raise RequestError(f"MLFLOW_TRACKING_URI: {uri} is a server: open it in a browser")
    store = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not store.exists():
        raise RequestError(
            f"--runs: a folder with an MLflow store expected, but {str(store)!r} does not exist: "
            "train a run first, or name the folder of your runs"
        )


def check_port(host: str, port: int) -> None:
    """Check that a server could listen there.

    Raises:
        RequestError: The port is taken, or the address is none of this machine's.
    """
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise RequestError(
            f"--port: a free port of {host} expected, got {port} ({error.strerror or error})"
        ) from error


def server_command(uri: str, runs: Path, host: str, port: int) -> list[str]:
    """The command line of the MLflow server."""
    options = {
        "--backend-store-uri": uri,
        "--artifacts-destination": (runs / "artifacts").as_uri(),
        "--host": host,
        "--port": str(port),
        "--workers": "1",
    }
    words = [word for option in options.items() for word in option]
    return [sys.executable, "-m", "mlflow", "ui", *words]


def _become(words: list[str]) -> None:
    """Let another program take the place of this one, so that signals go to it."""
    environment = {**QUIET_ENVIRONMENT, **os.environ}
    if os.name != "nt":
        os.execve(words[0], words, environment)
    sys.exit(subprocess.call(words, env=environment))
