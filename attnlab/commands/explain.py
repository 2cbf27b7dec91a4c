"""`attnlab explain`: what a setting, a metric or a column of a table means."""

from __future__ import annotations

import click

from attnlab.config import settings


@click.command("explain")
@click.argument("words", metavar="[KEY]...", nargs=-1)
def command(words: tuple[str, ...]) -> None:
    """Explain a setting, a metric or a column of a table.

    KEY is a setting (trainer.epochs, or just epochs), an option (task=language), a group (trainer,
    attention), or a metric or column (MASE, n, "item test"). Without KEY, all settings are listed.
    """
    if settings.term(" ".join(words)):  # `item test`, without quotes
        words = (" ".join(words),)
    for word in words:
        key = word.partition("=")[0]
        click.echo("\n".join(settings.explained(word if key in settings.GROUPS else key)))
    if not words:
        click.echo("\n".join(dict.fromkeys(setting.key for setting in settings.settings())))
