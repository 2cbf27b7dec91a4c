"""`attnlab runs sync`: logs run folders that MLflow lacks again."""

from __future__ import annotations

import click


@click.command("sync")
def sync() -> None:
    """Log run folders that MLflow lacks."""
