"""`attnlab evaluate RUN`: test metrics of an epoch's weights, or of averaged weights."""

from __future__ import annotations

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.records.files import existing_file, json_text
from attnlab.tasks.kinds import kind_of


@click.command("evaluate")
@options.run_argument
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@options.epoch_options
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
@options.json_option
@options.runs_option
def command(
    run: str,
    changes: tuple[str, ...],
    epoch: str | None,
    average: int | None,
    part: str | None,
    files: tuple[str, str] | None,
    beam: int | None,
    as_json: bool,
    runs: str | None,
) -> None:
    """Score weights of RUN on its test part, next to the baselines.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    If you moved a data file of RUN, give the new path by its setting, such as task.path=FILE; its
    content must be the same. --files works without the data; then some baselines are left out.
    """
    folder = options.find_trained(run, runs, epoch, average)
    moved = options.key_values(changes, "a data file such as task.path=FILE")
    if part and files:
        raise RequestError("--part, --files: give only one of them.")
    paths = [existing_file(path, "--files") for path in files or ()]
    kind, settings = kind_of(folder.read_task()), {}
    for option, value in {"--files": paths or None, "--beam": beam}.items():
        if value is None:
            continue
        if option not in kind.scoring.evaluation:
            valid = ", ".join(["--part", *kind.scoring.evaluation])
            raise RequestError(f"{option}: not for a run of {kind.name}. Valid: {valid}.")
        settings[kind.scoring.evaluation[option]] = value
    from attnlab.runner.console import print_table
    from attnlab.runner.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average, moved)
    if not files:
        trained.load_data(folder)
    report = trained.task.evaluate(trained.model, part or "test", **settings)
    scored = part or " and ".join(files or ["test"])
    result = {
        "task": trained.config.task.name,
        "attention": trained.config.attention.name,
        "seed": trained.config.seed,
        "part": scored,
        "epoch": int(trained.epoch) if trained.epoch.isdecimal() else trained.epoch,
        **report.scores(),
        "notes": report.notes,
    }
    if as_json:
        click.echo(json_text(result))
        return
    print_table({**result, "test": report.metrics}, f"{scored}, epoch {trained.epoch}")
