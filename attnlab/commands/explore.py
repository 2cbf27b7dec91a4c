"""`attnlab explore`: trained runs in the browser."""

from __future__ import annotations

import contextlib
import socket
import webbrowser
from concurrent.futures import ThreadPoolExecutor

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.internals import import_tensorflow
from attnlab.tasks.kinds import kind_of

_PORT = 8800


@click.command("explore")
@click.argument("names", metavar="RUN [RUN]", nargs=-1, shell_complete=options.complete_run)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Port.  [default: {_PORT}, or a free one if it is in use]",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Let other machines use the page: whoever knows its address can run the model.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@options.runs_option
def command(
    names: tuple[str, ...],
    host: str,
    port: int | None,
    allow_remote: bool,
    no_browser: bool,
    runs: str | None,
) -> None:
    """Open a trained RUN in the browser, or two of one kind side by side.

    Type an input and see the output and where each head looks; move through the epochs of the
    training; switch heads off, hide words, set weights. RUN is a run folder, an MLflow run id or
    its first characters, or `latest`. Nothing is written. Ctrl-C ends it.
    """
    if not 1 <= len(names) <= 2:
        raise RequestError(f"RUN: expected one or two runs, got {len(names)}.")
    if not allow_remote and host not in ("127.0.0.1", "localhost"):
        raise RequestError(
            f"--host={host}: other machines could use the page; --allow-remote allows it."
        )
    folders = [options.find_trained(name, runs, "last") for name in names]
    kinds = {kind_of(folder.read_task()).name for folder in folders}
    if len(kinds) > 1:
        raise RequestError(f"RUN: expected two runs of one kind, got {' and '.join(kinds)}.")
    listening = _listening(host, port)
    import_tensorflow()
    from attnlab.explore.server import prepare

    with listening, ThreadPoolExecutor(1) as thread:
        address, serve = prepare(folders, thread, listening, is_remote=allow_remote)
        click.echo(f"explore: {address} (Ctrl-C stops it)")
        if not no_browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            serve()


def _listening(host: str, port: int | None) -> socket.socket:
    """Return a socket on the port; without one on `_PORT`, or on any that is free."""
    for number in (port,) if port else (_PORT, 0):
        try:
            return socket.create_server((host, number))
        except OSError as error:
            reason = error.strerror
    raise RequestError(f"--host={host} --port={port or _PORT}: can't be used: {reason}.")
