"""`attnlab data`: list data, download them."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from attnlab.config.options import option_class, option_content, options
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError
from attnlab.tasks.data.corpus import Corpus
from attnlab.tasks.kinds import kinds, load
from attnlab.terminal import plain_console

_WIDTH = 80  # columns of a table that doesn't go to a terminal


@click.group("data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and download data: texts, images and series, for every kind of task."""
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@command.command("list")
def list_command() -> None:
    """List all data."""
    table = Table(box=None, padding=(0, 2, 1, 0), pad_edge=False)
    for heading in ("data", "what", "where", "from and licence"):
        # No minimum width: rich would cut a letter off the lines of other columns.
        table.add_column(heading, overflow="fold", no_wrap=heading in ("data", "what"))
    for name in _names():
        corpus = make_data_set(name)
        where = f"give {corpus.needs}" if corpus.needs else "needs no file"
        if corpus.published:
            where = f"not downloaded: attnlab data fetch {name}"
        place = str(corpus.location(_cache()) or where)
        place = place.replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
        lines = Text(f"{corpus.origin}\n{corpus.license}")
        table.add_row(name, f"{corpus.noun}s", Text(place), lines)
    plain_console(width=_WIDTH).print(table)


@command.command("fetch")
@click.argument("name")
def fetch_command(name: str) -> None:
    """Download NAME into $ATTNLAB_DATA or ~/.cache/attnlab."""
    from attnlab.runner.console import screen

    corpus, cache = make_data_set(name), _cache()
    if not corpus.published:
        raise RequestError(f"NAME: {name} can't be downloaded; attnlab data list says where it is.")
    with screen() as shown:
        corpus.find(cache, shown.working)
    for line in (f"{name} is in {corpus.location(cache)}", corpus.origin, corpus.license):
        click.echo(line)


def _cache() -> Path:
    """Return the folder of downloads."""
    return Path(os.environ.get("ATTNLAB_DATA") or "~/.cache/attnlab").expanduser()


def _names() -> list[str]:
    """Return the names of all data sets."""
    return [*sorted(options("data")), *(name for kind in kinds() for name in kind.corpora)]


def make_data_set(name: str) -> Corpus:
    """Make a data set with its default settings; raises `RequestError` if there is none."""
    if name not in _names():
        hint = did_you_mean(name, _names())
        raise RequestError(f"NAME: expected one of {', '.join(_names())}, got {name}.{hint}")
    paths = {name: path for kind in kinds() for name, path in kind.corpora.items()}
    make = load(paths[name]) if name in paths else option_class("data", name)
    content = option_content("task" if name in paths else "data", name) or {}
    return make(**{key: content[key] for key in inspect.signature(make).parameters})
