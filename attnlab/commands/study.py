"""`attnlab study`: run named experiments, compare their runs and write a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from attnlab import __version__
from attnlab.commands.options import listed_runs, runs_folder, runs_option
from attnlab.config.arguments import key_of, quoted
from attnlab.errors import RequestError, SweepFailed, explained
from attnlab.records import files
from attnlab.records.run_directory import ListedRun
from attnlab.records.sweep_runs import runs_of_last_command
from attnlab.studies import study as studies
from attnlab.studies.study import Study
from attnlab.terminal import plain_console, plain_table

if TYPE_CHECKING:
    from attnlab.studies.results import Results

Train = Callable[[list[str]], int]
# Settings that a study sets itself, and what to do instead.
_OWN = {"paths.runs": "use --runs FOLDER", "sweep.name": "a study names its own sweeps"}


def complete_study(context: click.Context, _: click.Parameter | None, start: str) -> list[str]:
    """Complete the name of a study, for TAB."""
    return [name for name in studies.names() if name.startswith(start)]


@click.command("study")
@click.argument("name", required=False, shell_complete=complete_study)
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
    if "=" in name:
        raise RequestError(f"NAME: {name!r} is a setting. Write the study's name before it.")
    for word in overrides:
        if key_of(word) in _OWN:
            raise RequestError(f"{word}: not with a study: {_OWN[key_of(word)]}.")
    study = studies.read(name, quick)
    if seeds and any(key_of(word) == "seed" for word in overrides):
        raise RequestError("--seeds: leave out seed=..., or leave out --seeds.")
    study = replace(study, seeds=seeds or study.seeds, added=overrides)
    if any(_is_dry_run(word) for word in overrides):
        _run(study, runs, train)
        return 0
    return _end(study, runs, _run(study, runs, train))


def _end(study: Study, runs: str | None, failed: SweepFailed | None) -> int:
    """Write the report of the runs there are; raises what failed."""
    entries = _entries(study, runs)
    if failed and all(entry.status["state"] != "completed" for entry in entries):
        raise failed
    found = _report(study, entries, runs, is_part=failed is not None)
    if failed:
        raise failed
    if found.missing and not study.is_part:
        raise RequestError(
            f"study {study.name}: published: no run has {found.missing[0].label}, so its number "
            "can't be compared."
        )
    return 0


def _list() -> int:
    """Print a table of the studies."""
    header = ["study", "minutes", "question"]
    table = plain_table(header, ["study", "question"], folded=["question"])
    for name in studies.names():
        study, quick = studies.read(name), studies.read(name, quick=True)
        cost = " / ".join(f"{each.minutes or '-'}" for each in (study, quick))
        source = f" ({study.source})" if study.source else ""
        table.add_row(name, cost, Text(f"{study.question}{source}"))
    plain_console().print(table)
    click.echo("minutes: on 2 cores, whole study / --quick; - if not measured")
    return 0


def _run(study: Study, runs: str | None, train: Train) -> SweepFailed | None:
    """Run the missing runs, each grid as a sweep; returns the last failure, if any."""
    failed = None
    place = [f"paths.runs={quoted(str(runs_folder(runs)))}"] if runs else []
    for sweep, words in study.sweeps(runs_folder(runs) / "sweeps").items():
        words = ["-m", *words, *place, f"sweep.name={sweep}"]
        click.echo(f"attnlab {shlex.join(words)}")
        try:
            train(words)
        except SweepFailed as error:
            failed = error
    return failed


def _entries(study: Study, runs: str | None) -> list[ListedRun]:
    """List the study's runs, the oldest first, without those of other seeds or older versions."""
    listed = listed_runs(runs)
    found = {
        run.run.path for sweep in study.compared for run in runs_of_last_command(listed, sweep)
    }
    return [entry for entry in listed if entry.run.path in found]


def _report(study: Study, entries: Sequence[ListedRun], runs: str | None, is_part: bool) -> Results:
    from attnlab.comparison.shown import comparison_figure
    from attnlab.report.results import result_sentence
    from attnlab.studies.page import study_page
    from attnlab.studies.results import results, table_csv
    from attnlab.views.png.figure import save

    found = results(study, entries, is_part)
    folder: Path = runs_folder(runs) / "studies" / study.title
    made = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    about = f"attnlab {__version__}, {len(entries)} runs of study {study.title}"
    page = study_page(found, entries, made=made, about=about, announce=_tell, runs=runs)
    with explained(f"--runs: expected a folder that can be written, got {str(folder)!r}"):
        folder.mkdir(parents=True, exist_ok=True)
        files.write_text(folder / "table.csv", table_csv(found))
        files.write_text(folder / "report.html", page)
        save(comparison_figure(found.main), folder / "comparison.png")
    for comparison in found.main.tasks:
        click.echo(result_sentence(comparison))
    for cell in found.cells:
        if cell.result or not study.is_part:
            click.echo(f"{cell.published.system} ({cell.published.label}): {cell.verdict}")
    for sentence in found.about_verdicts:
        click.echo(sentence)
    click.echo(f"report: {folder / 'report.html'}")
    return found


def _is_dry_run(word: str) -> bool:
    truths = ("true", "yes", "y", "on", "1")
    return key_of(word) == "sweep.dry_run" and word.partition("=")[2].lower() in truths


def _tell(text: str) -> None:
    click.echo(f"attnlab: {text}", err=True)
