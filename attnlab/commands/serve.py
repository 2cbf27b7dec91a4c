"""`attnlab serve RUN`: MLflow's model server on this machine."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import click

from attnlab.commands.finding import find_trained
from attnlab.commands.options import run_argument, runs_option
from attnlab.commands.servers import check_port, run_server
from attnlab.process import python_command

_HOST = "127.0.0.1"
_SECONDS_BETWEEN = 0.3


@click.command("serve")
@run_argument
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5001, show_default=True, help="Port."
)
@runs_option
def command(run: str, port: int, runs: str | None) -> int:
    """Serve the model of RUN by MLflow's model server on this machine, until Ctrl-C.

    RUN is a completed run: its folder, an MLflow run id or its first characters, or `latest`. Once
    the server answers, a line for curl is printed.
    """
    check_port(_HOST, port)
    folder = find_trained(run, runs, None, None)
    from attnlab.records.mlflow.registry import model_server, write_model

    with tempfile.TemporaryDirectory(prefix="attnlab-") as scratch:
        request = write_model(folder, Path(scratch, "model"))
        line = curl_line(port, request)
        words, more = model_server(Path(scratch, "model"), _HOST, port)

        check_port(_HOST, port)  # writing the model took a while

        def started(server: subprocess.Popen[bytes]) -> None:
            if wait_for(f"http://{_HOST}:{port}/ping", server):
                click.echo(f"serving {folder.name} at http://{_HOST}:{port} (Ctrl-C stops it)")
                click.echo(line)

        return run_server(python_command("uvicorn", *words), started, more)


def curl_line(port: int, request: object) -> str:
    """Return a command that sends a request to the server."""
    url, kind = f"http://{_HOST}:{port}/invocations", "Content-Type: application/json"
    return shlex.join(
        ["curl", "-s", "--noproxy", _HOST, url, "-H", kind, "-d", json.dumps(request)]
    )


def wait_for(url: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until a server answers; returns False if it ends before."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while server.poll() is None:
        try:
            with direct.open(url, timeout=5):
                return server.poll() is None
        except (urllib.error.URLError, OSError):
            time.sleep(_SECONDS_BETWEEN)
    return False
