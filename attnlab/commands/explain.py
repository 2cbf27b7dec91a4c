"""`attnlab explain`: what a setting, a metric or a column of a table means."""

from __future__ import annotations

import shutil
import sys
import textwrap

import click

from attnlab.config import glossary, settings


def _keys(context: click.Context, _: click.Parameter, start: str) -> list[str]:
    """Complete a setting or a metric, for TAB."""
    known = [*(each.key for each in settings.settings()), *glossary.terms()]
    return [word for word in known if word.startswith(start)]


def _wrapped(line: str) -> str:
    """Wrap a line to the terminal's width; in a pipe or a file it stays one line."""
    if not sys.stdout.isatty():
        return line
    indent = line[: len(line) - len(line.lstrip())]
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)


@click.command("explain")
@click.argument("words", metavar="[KEY]...", nargs=-1, shell_complete=_keys)
@click.option("--markdown", is_flag=True, help="Print all settings as Markdown tables.")
def command(words: tuple[str, ...], markdown: bool) -> None:
    """Explain a setting, a metric or a column of a table.

    KEY is a setting (trainer.epochs, or its last part epochs), an option (task=language) or a group
    (trainer), whose settings are explained, a group of options (attention), which are listed, or a
    metric or column such as skill, MASE, n or "DM p". For a setting, its valid values and its
    default are printed, too. Without KEY, the keys of all settings are listed.
    """
    if markdown:
        return click.echo(settings.markdown(), nl=False)
    if len(words) > 1 and glossary.explained(" ".join(words)):  # `DM p`, without quotes
        words = (" ".join(words),)
    for word in words:
        key = word.partition("=")[0]
        asked = word if key in settings.GROUPS else key
        click.echo("\n".join(map(_wrapped, settings.explained(asked))))
    if not words:
        click.echo("\n".join(dict.fromkeys(each.key for each in settings.settings())))
    return None
