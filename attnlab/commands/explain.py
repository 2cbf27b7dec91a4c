"""`attnlab explain`: what a setting, a metric or a column of a table means."""

from __future__ import annotations

import click

from attnlab.config import settings


@click.command("explain")
@click.argument("words", metavar="[KEY]...", nargs=-1)
def command(words: tuple[str, ...]) -> None:
    """Explain a setting, a metric or a column of a table.

    KEY is a setting (trainer.epochs, or its last part epochs), an option (task=language) or a group
    (trainer), whose settings are explained, a group of options (attention), which are listed, or a
    metric or column such as skill, MASE, n or "item test". For a setting, its valid values and its
    default are printed, too. Without KEY, the keys of all settings are listed.
    """
    if settings.term(" ".join(words)):  # `item test`, without quotes
        words = (" ".join(words),)
    for word in words:
        key = word.partition("=")[0]
        click.echo("\n".join(settings.explained(word if key in settings.GROUPS else key)))
    if not words:
        click.echo("\n".join(dict.fromkeys(setting.key for setting in settings.settings())))
