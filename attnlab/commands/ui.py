"""`attnlab ui`: serve the MLflow UI on this project's store, in this process."""

from __future__ import annotations

import socket

import click

from attnlab.commands.options import runs_folder, runs_option
from attnlab.config.sections import absolute_uri
from attnlab.errors import RequestError, explained
from attnlab.records.mlflow import connect, default_uri, newest_page, serve, sqlite_path


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
        raise RequestError(
            f"--runs: the MLflow store {str(store)!r} does not exist. Train a run first, or name "
            "the folder of your runs; attnlab runs sync makes a lost store again."
        )
    with explained(f"--host={host} --port={port}: can't be used"):
        socket.create_server((host, port)).close()
    page = newest_page(connect(uri, folder))
    click.echo(f"MLflow UI at http://{host}:{port}{page} (Ctrl-C stops it)")
    serve(uri, folder, host, port)
