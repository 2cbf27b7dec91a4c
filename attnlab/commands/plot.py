"""`attnlab plot`: a run's figures again, and figures that kinds of task have beside those."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from attnlab.commands.options import complete_run, run_argument, runs_option
from attnlab.commands.runs.finding import COMPLETED, find
from attnlab.errors import explained
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kinds

output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures; default the run's plots.",
)


class _RunOrWord(click.Group):
    """A group whose first word may also be a RUN; kinds of task bring words of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_words()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = _words().get(cmd_name)
        return load(path) if path else super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        runs = [CompletionItem(name) for name in complete_run(ctx, None, incomplete)]
        return super().shell_complete(ctx, incomplete) + runs

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # TAB may offer a word or a RUN
            return super().parse_args(ctx, args)
        words = [*self.list_commands(ctx), *self.get_help_option_names(ctx)]
        return super().parse_args(ctx, args if args and args[0] in words else ["run", *args])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for number, words in enumerate(("RUN [OPTIONS]", *(f"{word} ..." for word in _words()))):
            prefix = "Usage: " if number == 0 else "       "
            formatter.write_usage(ctx.command_path, words, prefix)


def _words() -> dict[str, str]:
    """Word -> path of its command, of all kinds."""
    verbs = [(verb, entry.command) for kind in kinds() for verb, entry in kind.verbs.items()]
    return {verb.removeprefix("plot "): path for verb, path in verbs if verb.startswith("plot ")}


@click.group("plot", cls=_RunOrWord, add_help_option=True)
def command() -> None:
    """Draw the figures of a run, and others.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """


@command.command("run", short_help='The figures of a RUN; the word "run" may be left out.')
@run_argument
@output_option
@runs_option
def run_figures(run: str, output: Path | None, runs: str | None) -> None:
    """Draw the figures of RUN from its folder; the word "run" may be left out.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find(run, runs, COMPLETED)
    found.status.require_completed()
    from attnlab.figures.run import draw_run

    with writing(output or found.plots):
        drawn = draw_run(found, output)
    say(drawn)


def writing(folder: Path) -> AbstractContextManager[None]:
    """Turn a folder that can't be written into a sentence that names it."""
    return explained(f"--output: expected a folder that can be written, got {str(folder)!r}")


def say(paths: list[Path]) -> None:
    """Print the files that were drawn."""
    for path in paths:
        click.echo(path)
