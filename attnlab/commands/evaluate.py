"""`attnlab evaluate RUN`: test metrics of an epoch's weights, or of averaged weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from attnlab.commands.finding import find_trained, kind_of_run
from attnlab.commands.options import (
    epoch_options,
    form_options,
    key_values,
    run_argument,
    runs_option,
)
from attnlab.config import own_files
from attnlab.errors import RequestError
from attnlab.records.files import existing_file, json_text
from attnlab.records.run_directory import RunDirectory

_CHANGES = "a data file such as task.path=FILE"


@click.command("evaluate")
@run_argument
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@epoch_options
@click.option(
    "--part",
    help="Part of the data to score: test, validation, train, or an extra part of the run.  "
    "[default: test]",
)
@click.option(
    "--files",
    nargs=2,
    metavar="SOURCE TARGET",
    help="For translations: score these files instead; UTF-8, plain or .gz, one sentence per line.",
)
@click.option("--beam", type=click.IntRange(1, 100), help="For translations: the beam size.")
@form_options("table", "json")
@runs_option
def command(
    run: str,
    changes: tuple[str, ...],
    epoch: str | None,
    average: int | None,
    part: str | None,
    files: tuple[str, str] | None,
    beam: int | None,
    form: str,
    runs: str | None,
) -> None:
    """Score weights of RUN on its test part, next to the baselines.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    If you moved a data file of RUN, give the new path by its setting, such as task.path=FILE; its
    content must be the same. --files needs no corpus, but then baselines that need it are left out.
    """
    folder = find_trained(run, runs, None, epoch, average)
    files_now, others = own_files.parted(key_values(changes, _CHANGES), folder.status.read())
    if part and files:
        raise RequestError("--part, --files: give only one of them.")
    scored = part or (" and ".join(files) if files else "test")
    paths = files and [existing_file(path, "--files") for path in files]
    settings = _settings(folder, {"--files": paths, "--beam": beam, **others})
    from attnlab.runner import console
    from attnlab.runner.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average, files_now)
    if not files and not trained.load_data(folder):
        click.echo("attnlab: warning: the data has changed since this run was trained", err=True)
    report = trained.task.evaluate(trained.model, part or "test", **settings)
    result = {
        "task": trained.config.task.name,
        "attention": trained.config.attention.name,
        "seed": trained.config.seed,
        "part": scored,
        "epoch": int(trained.epoch) if trained.epoch.isdecimal() else trained.epoch,
        **report.scores(),
        "notes": report.notes,
    }
    if form == "json":
        click.echo(json_text(result))
        return
    console.print_table({**result, "test": report.metrics}, f"{scored}, epoch {trained.epoch}")
    console.print_notes(report.notes)


def _settings(run: RunDirectory, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `Task.evaluate`, without the part.

    Args:
        run: The run's folder.
        options: Options of the command line; None if not given.

    Raises:
        RequestError: The run's kind has no such option.
    """
    kind = kind_of_run(run)
    arguments = {word: value for word, value in options.items() if value is not None}
    for word in arguments:
        if word not in kind.scoring.evaluation:
            valid = ", ".join(["--part", *kind.scoring.evaluation])
            raise RequestError(f"{word}: not for a run of {kind.name}. Valid: {valid}.")
    return {kind.scoring.evaluation[word]: value for word, value in arguments.items()}
