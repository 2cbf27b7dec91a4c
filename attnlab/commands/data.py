"""`attnlab data`: list data, count what is in them, download them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from attnlab.commands.options import form_options
from attnlab.config.options import option_content
from attnlab.config.parsing import read_value
from attnlab.config.rules import check_rule, did_you_mean, read_rule
from attnlab.errors import RequestError
from attnlab.process import variable
from attnlab.tasks.catalog import Catalog, Row, Sheet, Stored
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kinds
from attnlab.terminal import plain_console, plain_table

_WIDTH = 80  # columns of a table that doesn't go to a terminal

_data_option = click.option(
    "--data",
    metavar="DIR",
    help="Folder for downloads.  [default: $ATTNLAB_DATA, else ~/.cache/attnlab]",
)
_settings_argument = click.argument("settings", metavar="[SETTING=VALUE]...", nargs=-1)


@click.group("data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, count and download data: texts, images and series, for every kind of task."""
    if context.invoked_subcommand is None:
        context.invoke(list_command)


@command.command("list")
@click.argument("name", required=False)
@_settings_argument
@click.option("--path", help="The same as path=PATH.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="Seed of the split into train, validation and test.",
)
@form_options("table", "json")
@_data_option
def list_command(
    name: str | None,
    settings: tuple[str, ...],
    path: str | None,
    seed: int,
    form: str,
    data: str | None,
) -> None:
    """List all data, or count what is in NAME.

    SETTING=VALUE is a setting of NAME; in a run it is data.SETTING or task.SETTING.
    """
    cache = _cache(data)
    if name is None:
        return _list_all(cache, form)
    catalog, stored = _made(
        name, [*settings, *([f"path={json.dumps(path, ensure_ascii=False)}"] if path else [])]
    )
    from attnlab.run.console import screen

    row = _row(catalog, stored, cache)
    with screen() as shown:
        row |= catalog.count(stored, cache, seed, shown.working)
    if form == "json":
        return click.echo(json.dumps(row, indent=2))
    return _show(row, catalog.sheet(row))


@command.command("fetch")
@click.argument("name")
@_settings_argument
@_data_option
def fetch_command(name: str, settings: tuple[str, ...], data: str | None) -> None:
    """Download NAME into the cache, unless it is there already."""
    from attnlab.run.console import screen

    (_, stored), cache = _made(name, settings), _cache(data)
    if not stored.fetchable:
        there = [each for each in _catalogs() if _made(each)[1].fetchable]
        raise RequestError(
            f"NAME: {name} can't be downloaded. Data to download: {', '.join(there)}."
        )
    with screen() as shown:
        stored.open(cache, shown.working)
    for line in (f"{name} is in {stored.location(cache)}", stored.origin, stored.license):
        click.echo(line)


def _cache(data: str | None) -> Path:
    """Return the folder that `--data` names, or the default folder of downloads."""
    return Path(data or variable("ATTNLAB_DATA") or "~/.cache/attnlab").expanduser()


def _catalogs() -> dict[str, Catalog]:
    """Map the name of each data set to the catalog of its kind."""
    found = [load(kind.data.catalog) for kind in kinds() if kind.data.catalog]
    return {name: catalog for catalog in found for name in catalog.names()}


def _made(name: str, words: Sequence[str] = ()) -> tuple[Catalog, Stored]:
    """Find data by name, with its catalog; `words` are `SETTING=VALUE`, values as in YAML.

    Raises:
        RequestError: No data or setting has this name, or a value breaks its rule.
    """
    catalogs = _catalogs()
    if name not in catalogs:
        hint = did_you_mean(name, [*catalogs])
        raise RequestError(f"NAME: expected one of {', '.join(catalogs)}, got {name}.{hint}")
    catalog = catalogs[name]
    content = option_content(catalog.group, name) or {}
    settings = catalog.settings or [k for k in content if k not in ("name", "rules", "_target_")]
    given = {}
    for word in words:
        key, equals, value = word.removeprefix(f"{catalog.group}.").partition("=")
        if not equals or key not in settings:
            raise RequestError(
                f"{word}: expected SETTING=VALUE with a setting of {name}: {', '.join(settings)}."
            )
        given[key] = read_value(f"{catalog.group}.{key}", value)
    for key, value in given.items():
        where = f"{catalog.group}.{key}"
        check_rule(where, value, read_rule(where, content.get("rules", {}).get(key, {})))
    return catalog, catalog.make(name, given)


def _list_all(cache: Path, form: str) -> None:
    """Print a table with a row for each data set."""
    made = map(_made, _catalogs())
    rows = [(catalog.about(stored), _row(catalog, stored, cache)) for catalog, stored in made]
    if form == "json":
        return click.echo(json.dumps([row for _, row in rows], indent=2, ensure_ascii=False))
    table = Table(box=None, padding=(0, 2, 1, 0), pad_edge=False)
    for heading in ("data", "what", "where", "from and licence"):
        # No minimum width: rich would cut a letter off the lines of other columns.
        table.add_column(heading, overflow="fold", no_wrap=heading in ("data", "what"))
    for about, row in rows:
        where, terms = Text(_home(row["where"])), Text(f"{row['origin']}\n{row['license']}")
        table.add_row(row["name"], "-".join(about.values()), where, terms)
    console = plain_console(width=_WIDTH)
    console.print(table)
    return console.print("attnlab data list NAME counts what is in NAME.")


def _row(catalog: Catalog, stored: Stored, cache: Path) -> dict[str, Any]:
    """Describe data: what it is, and where it is or how to get it."""
    where = f"give {stored.needs}" if stored.needs else "part of attnlab"
    if stored.fetchable:
        where = f"not downloaded: attnlab data fetch {stored.name}"
    return {
        "name": stored.name,
        **catalog.about(stored),
        "where": str(stored.location(cache) or where),
        "origin": stored.origin,
        "license": stored.license,
    }


def _show(row: Row, sheet: Sheet) -> None:
    """Print where data comes from, and what is in it."""
    console = plain_console(width=_WIDTH)
    console.print(f"{row['name']}, {sheet.what}: {row['origin']}")
    console.print(f"licence: {row['license']}")
    console.print(f"where: {_home(row['where'])}", soft_wrap=True)
    for line in [*(f"note: {note}" for note in row.get("notes", [])), *sheet.above]:
        console.print(line)
    if sheet.rows:
        table = plain_table(sheet.header, sheet.header[:1])
        for cells in sheet.rows:
            table.add_row(*cells)
        console.print(table)
    for line in sheet.below:
        console.print(_home(line), soft_wrap=True)


def _home(text: str) -> str:
    """Write the home folder as `~`."""
    return text.replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
