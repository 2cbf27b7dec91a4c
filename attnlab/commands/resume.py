"""`attnlab resume RUN`: continue a killed run, or train a finished one longer."""

from __future__ import annotations

import click

from attnlab.commands import options


@click.command("resume")
@options.run_argument
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@options.runs_option
def command(run: str, changes: tuple[str, ...], runs: str | None) -> None:
    """Continue RUN in its folder and its MLflow run.

    On a CPU, the final weights have the same bits as those of a run that was never killed.
    For a finished run, the result is printed again; with a larger trainer.epochs it is trained
    longer. If you moved a data file of RUN, give the new path by its setting, such as
    task.path=FILE; its content must be the same. trainer.devices may change, too, and no other
    setting. -q prints only the run folder, -v prints details.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`: the newest run that
    was killed or that failed with a checkpoint, else the newest completed run.
    """
    folder = options.find(
        run, runs, "a run to continue", options.is_interrupted, options.is_completed
    )
    from attnlab.runner.resume import resume

    resume(folder, options.key_values(changes, "trainer.epochs=N"))
