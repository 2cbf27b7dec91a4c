"""`attnlab plot`: draw a run's figures again, maps of its vocabularies, positional encodings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnlab.commands import options
from attnlab.errors import RequestError, explained
from attnlab.tasks.kinds import Kind, kinds, known_kind, load

if TYPE_CHECKING:
    from attnlab.views.records import Figure

_POSITIONS = "positional-encoding"
_WORDS = 150  # most frequent words in a map of a vocabulary
_HELP = """\
Draw the figures of RUN again, or another FIGURE.

RUN is a run folder, an MLflow run id or its first characters, or "latest". FIGURE is one of these:

positional-encoding: Draw the sinusoidal positional encoding and its distances, without RUN.
"""


def _maps() -> dict[str, Kind]:
    """Map the names of maps of vocabularies to the kinds of tasks whose runs have them."""
    return {kind.vocabulary_map.name: kind for kind in kinds() if kind.vocabulary_map}


_FIGURES = [f"{f.name}: {f.help}" for f in (kind.vocabulary_map for kind in kinds()) if f]


@click.command("plot", help="\n\n".join([_HELP, *_FIGURES]))
@click.argument("names", metavar="[FIGURE] [RUN]", nargs=-1, shell_complete=options.complete_run)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the figures.  [default: the run's folder plots, or positional-encoding]",
)
@options.runs_option
def command(names: tuple[str, ...], output: Path | None, runs: str | None) -> None:
    """Draw the figures of a run, a map of its vocabulary, or the positional encoding."""
    maps = _maps()
    name, run = (names[0], names[1:]) if names[:1] and names[0] in maps else ("", names)
    if len(run) != 1:
        raise RequestError(
            f"RUN: expected RUN, {_POSITIONS}, or one of {', '.join(maps)} with RUN, got "
            f"{' '.join(names) or 'none'}."
        )
    figures: dict[str, Figure] = {}
    if run[0] == _POSITIONS:
        from attnlab.layers.positional_encoding import sinusoidal
        from attnlab.views.positions import positional_figures

        output, figures = output or Path(_POSITIONS), positional_figures(sinusoidal(100, 128))
    elif name:
        kind, fits = maps[name], maps[name].vocabulary_map.fits  # type: ignore[union-attr]

        def reads(task: str) -> bool:
            return known_kind(task) is kind and (fits is None or load(fits)(task))

        folder = options.find_trained(run[0], runs, "best", reads=reads)
        from attnlab.runner.loading import TrainedRun

        output = output or folder.plots
        figures = load(maps[name].views).vocabulary(TrainedRun.load(folder), _WORDS)
    else:
        folder = options.find(run[0], runs, "a completed run", options.is_completed)
        folder.status.require_completed()
        output = output or folder.plots
    from attnlab.runner.follow import draw_run
    from attnlab.views.png.figure import save
    from attnlab.views.png.style import font_warning

    with explained(f"--output: {output} can't be written"):
        paths = [save(figure, output / stem) for stem, figure in figures.items()]
        for path in paths or draw_run(folder, output):
            click.echo(path)
    if warning := font_warning():
        click.echo(f"attnlab: warning: {warning}", err=True)
