"""`attnlab resume RUN`: go on with a run that was interrupted, or train a finished one longer."""

from __future__ import annotations

import click

from attnlab.commands.finding import COMPLETED, INTERRUPTED, LONGER, find
from attnlab.commands.options import key_values, run_argument, runs_option


@click.command("resume")
@run_argument
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@runs_option
def command(run: str, changes: tuple[str, ...], runs: str | None) -> None:
    """Go on with RUN in its folder and its MLflow run.

    On a CPU the result has the bits of a run that was never interrupted. A finished run is shown
    again; with a larger trainer.epochs it is trained longer. If you moved a file of RUN, name it by
    its setting, as in task.path=FILE: its data must be the same. No other setting may change. -q
    prints only the run folder, -v details, too.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`: the newest run that
    was interrupted, or failed with a checkpoint, else the newest completed one; with trainer.epochs
    the newest of all these.
    """
    wanted = key_values(changes, "trainer.epochs=N")
    folder = find(run, runs, *((LONGER,) if wanted else (INTERRUPTED, COMPLETED)))
    from attnlab.run.resume import resume

    resume(folder, wanted)
