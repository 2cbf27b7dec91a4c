"""`attnlab env`: versions and machine as plain text, to paste into a bug report."""

from __future__ import annotations

import click

from attnlab.records.environment import environment


@click.command("env")
def command() -> None:
    """Print versions and machine as text, to paste into a bug report.

    The text has the versions of attnlab, Python and the libraries, the operating system, processor,
    cores and GPU. It has no name of a user or computer, and no path.
    """
    entries = {k: v for k, v in environment().items() if k not in ("user", "command")}
    for name, value in {**entries.pop("packages"), **entries}.items():
        click.echo(f"{name:<16} {value}")
