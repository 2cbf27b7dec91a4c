"""`attnlab study`: run named experiments, compare their runs and write a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import click
from rich.text import Text

from attnlab import __version__
from attnlab.commands.options import listed_runs, runs_folder, runs_option
from attnlab.config.arguments import key_of, quoted
from attnlab.errors import RequestError, SweepFailed, explained
from attnlab.records import files
from attnlab.records.sweep_runs import runs_of_last_command
from attnlab.studies import study as studies
from attnlab.studies.study import Study
from attnlab.terminal import plain_console, plain_table

Train = Callable[[list[str]], int]


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
    train: Train,
    name: str | None,
    overrides: tuple[str, ...],
    seeds: int | None,
    quick: bool,
    runs: str | None,
) -> int:
    """Run a study and write its report; without NAME, list the studies.

    A study is a grid of runs over seeds, their comparison, and published numbers. Runs that are
    completed already are not trained again; if a study is killed or interrupted, the same command
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
    failed = None
    place = [f"paths.runs={quoted(str(runs_folder(runs)))}"] if runs else []
    for sweep, words in study.sweeps(runs_folder(runs) / "sweeps").items():
        words = ["-m", *words, *place, f"sweep.name={sweep}"]
        click.echo(f"attnlab {shlex.join(words)}")
        try:
            train(words)
        except SweepFailed as error:
            failed = error
    if "sweep.dry_run" not in map(key_of, overrides):
        _report(study, runs, failed)
    return 0


def _list() -> int:
    """Print a table of the studies."""
    table = plain_table(
        ["study", "minutes", "question"], ["study", "question"], folded=["question"]
    )
    for name in studies.names():
        study, quick = studies.read(name), studies.read(name, quick=True)
        cost = " / ".join(f"{form.minutes:g}" if form.minutes else "-" for form in (study, quick))
        source = f" ({study.source})" if study.source else ""
        table.add_row(name, cost, Text(f"{study.question}{source}"))
    plain_console().print(table)
    click.echo("minutes: on 2 cores, whole study / --quick; - if not measured")
    return 0


def _report(study: Study, runs: str | None, failed: SweepFailed | None) -> None:
    """Write the report of the runs there are, and print the results.

    Raises:
        SweepFailed: Jobs failed.
        RequestError: A published number has no run.
    """
    listed = listed_runs(runs)
    # Not the runs of other seeds or of older versions of the study.
    ours = {entry.run.path for s in study.compared for entry in runs_of_last_command(listed, s)}
    entries = [entry for entry in listed if entry.run.path in ours]
    if failed and all(entry.status["state"] != "completed" for entry in entries):
        raise failed
    from attnlab.comparison.shown import comparison_figure
    from attnlab.report.results import result_sentence
    from attnlab.studies.page import study_page
    from attnlab.studies.results import results, table_csv
    from attnlab.views.png.figure import save

    outcome = results(study, entries)
    page = study_page(
        outcome,
        entries,
        made=f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        about=f"attnlab {__version__}, {len(entries)} runs of study {study.title}",
        announce=lambda text: click.echo(f"attnlab: {text}", err=True),
        runs=runs,
    )
    folder = runs_folder(runs) / "studies" / study.title
    with explained(f"--runs: expected a folder that can be written, got {str(folder)!r}"):
        folder.mkdir(parents=True, exist_ok=True)
        files.write_text(folder / "table.csv", table_csv(outcome))
        files.write_text(folder / "report.html", page)
        save(comparison_figure(outcome.main), folder / "comparison.png")
    for comparison in outcome.main.tasks:
        click.echo(result_sentence(comparison))
    for cell in outcome.cells:
        if cell.result or not study.is_part:
            click.echo(f"{cell.published.system} ({cell.published.label}): {cell.verdict}")
    click.echo(f"report: {folder / 'report.html'}")
    if failed:
        raise failed
    if outcome.missing and not study.is_part:
        raise RequestError(
            f"study {study.name}: published: no run has {outcome.missing[0].label}, so its number "
            "can't be compared."
        )
