"""`attnlab ui`: serve the MLflow UI on this project's store, in this process."""

from __future__ import annotations

import os
import socket

import click

from attnlab.commands.options import runs_folder, runs_option
from attnlab.config.parsing import absolute_uri
from attnlab.errors import RequestError
from attnlab.records.mlflow import connect, default_uri, newest_page, serve, sqlite_path
from attnlab.records.run_directory import list_runs


@click.command("ui")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port."
)
@runs_option
def command(host: str, port: int, runs: str | None) -> None:
    """Serve the MLflow UI on this project's store, until Ctrl-C.

    Prints an address that opens the experiment of the newest run, with the most useful columns.
    """
    folder = runs_folder(runs).absolute()
    uri = absolute_uri(default_uri(folder))
    if uri.startswith(("http://", "https://")):
        raise RequestError(f"MLFLOW_TRACKING_URI: {uri} is a server: open it in a browser.")
    store = sqlite_path(uri)
    if store is not None and not store.exists():
        advice = "Train a run first, or name the folder of your runs."
        if list_runs(folder):
            advice = "attnlab runs sync creates it from the run folders."
        raise RequestError(f"--runs: the MLflow store {str(store)!r} does not exist. {advice}")
    _check_port(host, port)
    page = newest_page(connect(uri, folder))
    click.echo(f"MLflow UI at http://{host}:{port}{page} (Ctrl-C stops it)")
    serve(uri, folder, host, port)


def _check_port(host: str, port: int) -> None:
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
