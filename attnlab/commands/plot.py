"""`attnlab plot`: draw a run's figures again, maps of its vocabularies, positional encodings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from attnlab.commands.finding import COMPLETED, find, find_trained
from attnlab.commands.options import complete_run, run_argument, runs_option
from attnlab.errors import RequestError, explained
from attnlab.tasks.declaration import Kind, VocabularyMap, load
from attnlab.tasks.kinds import kinds

_RUN = 'RUN is a run folder, an MLflow run id or its first characters, or "latest".'
_output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures.  [default: the run's folder plots]",
)


class _RunOrWord(click.Group):
    """A click group whose first word may also be a RUN; kinds of task add subcommands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        maps = [kind.vocabulary_map.name for kind in kinds() if kind.vocabulary_map]
        return [*super().list_commands(ctx), *maps]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for kind in kinds():
            if kind.vocabulary_map and kind.vocabulary_map.name == cmd_name:
                return _map_command(kind, kind.vocabulary_map)
        return super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        runs = [CompletionItem(name) for name in complete_run(ctx, None, incomplete)]
        return super().shell_complete(ctx, incomplete) + runs

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # TAB offers subcommands and runs
            return super().parse_args(ctx, args)
        words = [*self.list_commands(ctx), *self.get_help_option_names(ctx)]
        return super().parse_args(ctx, args if args and args[0] in words else ["run", *args])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        words = [f"{word} ..." for word in self.list_commands(ctx) if word != "run"]
        for number, each in enumerate(("RUN [OPTIONS]", *words)):
            prefix = "Usage: " if number == 0 else "       "
            formatter.write_usage(ctx.command_path, each, prefix)


@click.group("plot", cls=_RunOrWord, add_help_option=True)
def command() -> None:
    """Draw the figures of a run, or other figures.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """


@command.command("run", short_help='Draw the figures of RUN; the word "run" is optional.')
@run_argument
@_output_option
@runs_option
def run_figures(run: str, output: Path | None, runs: str | None) -> None:
    """Draw the figures of RUN again; the word "run" is optional.

    RUN is a run folder, an MLflow run id or its first characters, or "latest".
    """
    found = find(run, runs, COMPLETED)
    found.status.require_completed()
    from attnlab.runner.follow import draw_run

    with _writing(output or found.plots):
        drawn = draw_run(found, output)
    _say(drawn)


def _map_command(kind: Kind, declared: VocabularyMap) -> click.Command:
    """Build the subcommand that draws the vocabularies of a kind's runs."""
    text = f"{declared.help}\n\n{_RUN}"

    @click.command(declared.name, context_settings={"show_default": True}, help=text)
    @run_argument
    @click.option(
        "--words",
        default=150,
        type=click.IntRange(3, 2000),
        help="Number of most frequent words to draw.",
    )
    @click.option("--epoch", default="best", help="Weights: an epoch's number, best or last.")
    @_output_option
    @runs_option
    def draw(run: str, words: int, epoch: str, output: Path | None, runs: str | None) -> None:
        fits: Callable[[str], bool] = load(declared.fits) if declared.fits else lambda task: True
        folder = find_trained(run, runs, kind, epoch, prefers=fits)
        if not fits(task := folder.read_task()):
            raise RequestError(f"RUN: {folder.path}: runs of {task} have no vocabulary.")
        from attnlab.runner.loading import TrainedRun
        from attnlab.views.png.figure import save

        figures = load(kind.views).vocabulary(TrainedRun.load(folder, epoch), words)
        plots = output or folder.plots
        with _writing(plots):
            _say([save(figure, plots / name) for name, figure in figures.items()])

    return draw


@command.command(
    "positional-encoding",
    short_help="Draw the sinusoidal positional encoding.",
    context_settings={"show_default": True},
)
@click.option("--length", default=100, type=click.IntRange(2, 2000), help="Number of positions.")
@click.option("--units", default=128, type=click.IntRange(2, 4096), help="Width of the vectors.")
@click.option(
    "--output",
    default="positional-encoding",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures.",
)
def positional_encoding(length: int, units: int, output: Path) -> None:
    """Draw the sinusoidal positional encoding: matrix, waves, rotating circles, distances.

    P(k, 2i) = sin(k / 10000^(2i/units)), P(k, 2i+1) = cos(k / 10000^(2i/units)).
    """
    from attnlab.layers.sinusoids import sinusoidal
    from attnlab.views.png.figure import save
    from attnlab.views.positions import positional_figures

    figures = positional_figures(sinusoidal(length, units))
    with _writing(output):
        _say([save(figure, output / name) for name, figure in figures.items()])


def _writing(folder: Path) -> AbstractContextManager[None]:
    """Turn the error of a folder that can't be written into a `RequestError` that names it."""
    return explained(f"--output: {folder} can't be written")


def _say(paths: list[Path]) -> None:
    """Print the paths of the files that were drawn."""
    from attnlab.views.png.style import font_warning

    for path in paths:
        click.echo(path)
    if warning := font_warning():
        click.echo(f"attnlab: warning: {warning}", err=True)
