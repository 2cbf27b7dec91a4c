"""`attnlab study`: run named experiments, compare their runs and write a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

import click
from rich.text import Text

from attnlab.commands.options import listed_runs, runs_folder, runs_option
from attnlab.config.options import key_of
from attnlab.errors import RequestError, SweepFailed
from attnlab.records.sweep_runs import runs_of_last_command
from attnlab.studies import study as studies
from attnlab.terminal import plain_console, plain_table

Training = Callable[[list[str]], Callable[[], object]]


@click.command("study")
@click.argument(
    "name",
    required=False,
    shell_complete=lambda *words: [n for n in studies.names() if n.startswith(words[-1])],
)
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--seeds",
    type=click.IntRange(min=2),
    help="Number of seeds.  [default: set by the study]",
)
@click.option(
    "--quick", is_flag=True, help="Run the short form, which takes minutes; the report says so."
)
@runs_option
@click.pass_obj
def command(
    training: Training,
    name: str | None,
    overrides: tuple[str, ...],
    seeds: int | None,
    quick: bool,
    runs: str | None,
) -> int:
    """Run a study and write its report; without NAME, list the studies.

    A study is a grid of runs over seeds, their comparison, and published numbers. Runs that are
    completed already are not trained again; if a study is killed, the same command
    continues it. KEY=VALUE applies to all runs of the study. The report is in runs/studies/NAME:
    report.html, table.csv, comparison.png.
    """
    if name is None:
        return _list()
    study = studies.read(name, quick)
    for word in overrides:
        if key_of(word) in ("seed", "paths.runs", "sweep.name"):
            raise RequestError(f"{word}: not with a study, which has --seeds and --runs instead.")
    study = replace(study, seeds=seeds or study.seeds, added=[*overrides])
    folder, failed = runs_folder(runs), None
    for words in study.commands(folder if runs else None):
        click.echo(shlex.join(["attnlab", *words]))
        try:
            training(words)()
        except SweepFailed as error:
            failed = error
    if "sweep.dry_run" in map(key_of, overrides):
        return 0
    listed = listed_runs(runs)
    # Not the runs of other seeds or of older versions of the study.
    paths = {entry.run.path for s in study.compared for entry in runs_of_last_command(listed, s)}
    entries = [entry for entry in listed if entry.run.path in paths]
    if failed and all(entry.status["state"] != "completed" for entry in entries):
        raise failed
    from attnlab.report.results import result_sentence
    from attnlab.studies.results import results, write_report

    outcome, place = results(study, entries), folder / "studies" / study.title
    write_report(
        outcome,
        entries,
        place,
        runs=folder if runs else None,
        announce=lambda text: click.echo(f"attnlab: {text}", err=True),
    )
    for comparison in outcome.main.tasks:
        click.echo(result_sentence(comparison))
    for cell in outcome.report_cells:
        click.echo(f"{cell.published.system} ({cell.published.label}): {cell.verdict}")
    click.echo(f"report: {place / 'report.html'}")
    if failed:
        raise failed
    return 0


def _list() -> int:
    """Print a table of the studies."""
    table = plain_table(
        ["study", "minutes", "question"], ["study", "question"], folded=["question"]
    )
    for name in studies.names():
        study = studies.read(name)
        cost = f"{study.minutes:g}" if study.minutes else "-"
        source = f" ({study.source})" if study.source else ""
        table.add_row(name, cost, Text(f"{study.question}{source}"))
    plain_console().print(table)
    click.echo("minutes: of the whole study on 2 cores; - if not measured")
    return 0
