"""`attnlab ui`: open the MLflow UI on this project's store."""

from __future__ import annotations

from pathlib import Path

import click

from attnlab.commands.options import runs_folder, runs_option
from attnlab.commands.servers import check_port, run_server
from attnlab.config.parsing import absolute_uri
from attnlab.errors import RequestError
from attnlab.process import python_command
from attnlab.records.mlflow import store_check
from attnlab.records.mlflow.internals import newest_page
from attnlab.records.mlflow.settings import default_uri, sqlite_path
from attnlab.records.run_directory import list_runs


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
    return run_server(server_command(uri, folder, host, port))


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


def server_command(uri: str, runs: Path, host: str, port: int) -> list[str]:
    """Return the command line of the MLflow server."""
    return [
        *python_command("mlflow", "ui", "--host", host, "--port", str(port)),
        *("--backend-store-uri", uri, "--registry-store-uri", uri),
        *("--artifacts-destination", (runs / "artifacts").as_uri()),
        *("--workers", "1", "--uvicorn-opts", "--log-level warning"),
    ]
