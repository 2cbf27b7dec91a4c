"""`attnlab data`: list data, download them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from attnlab.commands.options import key_values
from attnlab.config.options import option_class, option_content, options
from attnlab.config.rules import check_rule, did_you_mean, read_rule
from attnlab.config.sections import read_value
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
    for name in _groups():
        corpus = make_data_set(name)
        where = f"give {corpus.needs}" if corpus.needs else "part of attnlab"
        if corpus.published:
            where = f"not downloaded: attnlab data fetch {name}"
        place = str(corpus.location(_cache()) or where)
        place = place.replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
        lines = Text(f"{corpus.origin}\n{corpus.license}")
        table.add_row(name, f"{corpus.noun}s", Text(place), lines)
    plain_console(width=_WIDTH).print(table)


@command.command("fetch")
@click.argument("name")
@click.argument("settings", metavar="[SETTING=VALUE]...", nargs=-1)
def fetch_command(name: str, settings: tuple[str, ...]) -> None:
    """Download NAME into $ATTNLAB_DATA or ~/.cache/attnlab, unless it is there already.

    SETTING=VALUE is a setting of NAME; in a run it is data.SETTING or task.SETTING.
    """
    from attnlab.runner.console import screen

    corpus, cache = make_data_set(name, settings), _cache()
    if not corpus.published:
        raise RequestError(f"NAME: {name} can't be downloaded; attnlab data list says where it is.")
    with screen() as shown:
        corpus.find(cache, shown.working)
    for line in (f"{name} is in {corpus.location(cache)}", corpus.origin, corpus.license):
        click.echo(line)


def _cache() -> Path:
    """Return the folder of downloads."""
    return Path(os.environ.get("ATTNLAB_DATA") or "~/.cache/attnlab").expanduser()


def _groups() -> dict[str, str]:
    """Map the name of each data set to the config group that has its settings."""
    corpora = dict.fromkeys(sorted(options("data")), "data")
    return corpora | {name: "task" for kind in kinds() for name in kind.corpora}


def make_data_set(name: str, words: Sequence[str] = ()) -> Corpus:
    """Make a data set; `words` are `SETTING=VALUE`, values as in YAML.

    Raises:
        RequestError: no data or setting has this name, or a value breaks its rule.
    """
    groups = _groups()
    if name not in groups:
        hint = did_you_mean(name, [*groups])
        raise RequestError(f"NAME: expected one of {', '.join(groups)}, got {name}.{hint}")
    group, content = groups[name], option_content(groups[name], name) or {}
    paths = {name: path for kind in kinds() for name, path in kind.corpora.items()}
    made_by = load(paths[name]) if group == "task" else option_class("data", name)
    settings = {key: content[key] for key in inspect.signature(made_by).parameters}
    expected = f"SETTING=VALUE with a setting of {name}: {', '.join(settings)}"
    for word, value in key_values(words, expected).items():
        key = word.removeprefix(f"{group}.")
        if key not in settings:
            raise RequestError(f"{word}={value}: expected {expected}.")
        where = f"{group}.{key}"
        settings[key] = read_value(where, value)
        check_rule(where, settings[key], read_rule(where, content.get("rules", {}).get(key, {})))
    return made_by(**settings)
