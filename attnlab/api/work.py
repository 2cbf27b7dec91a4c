"""The worker's side of `functions`: arguments and results are plain data."""

from __future__ import annotations

import io
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnlab.api.wording import in_python
from attnlab.commands.compare import compared
from attnlab.commands.finding import ANY, WITH_WEIGHTS, find
from attnlab.commands.options import listed_runs
from attnlab.commands.runs.table import row
from attnlab.compare.selection import Filters
from attnlab.config.arguments import VERBOSITY
from attnlab.errors import RequestError
from attnlab.records.environment import TYPED
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import shown_state
from attnlab.tasks.kinds import known_kind


def train(words: list[str], lists: list[str], as_sweep: str) -> Path:
    """Make one run from the words of a command; returns its folder.

    Args:
        words: of the command.
        lists: keys that were given several values.
        as_sweep: the call that makes a run for each value, for the message.
    """
    from attnlab import cli
    from attnlab.config import composing
    from attnlab.run import runner
    from attnlab.run.command import spent
    from attnlab.sweeps.composer import configuration

    words = [word for word in words if word not in VERBOSITY]  # nothing is printed anyway
    if {"-m", "--multirun"} & {*words}:
        settings = ", ".join(f'"{word}"' for word in words if word not in ("-m", "--multirun"))
        raise RequestError(
            "-m: expected one run; use attnlab.sweep for several runs, as in "
            f"attnlab.sweep({settings})"
        )
    _refuse_lists(words, lists, as_sweep)
    os.environ[TYPED] = shlex.join(["attnlab", *words])
    with spent("composing"):
        config = configuration(words)
    if config is not None:
        return runner.run(config, finish=False)
    results: list[Path] = []

    @spent()
    def job(cfg: Any) -> int:
        results.append(runner.run(composing.from_hydra(cfg), finish=False))
        return cli.DONE

    with suppress(SystemExit):  # raised by flags such as --cfg
        cli.train(words, job)
    if not results:
        raise RequestError(f"{words[0]}: expected settings, got a word that only shows something.")
    return results[0]


def _refuse_lists(words: list[str], lists: list[str], as_sweep: str) -> None:
    """Raise `RequestError` if a setting that takes one value is a list."""
    from attnlab.config.composing import known_rules
    from attnlab.config.sections import GROUPS

    rules = known_rules(words) if lists else {}
    for key in lists:
        rule = rules.get(key)
        one_word = rule and (rule.choices is not None or rule.type not in (None, "list"))
        if key in GROUPS or one_word:
            raise RequestError(
                f"{key}: attnlab.run makes one run, with one value. For a run of each value: "
                f"{as_sweep}"
            )


def resume(folder: Path, changes: dict[str, str]) -> Path:
    """Continue a run, or train it longer; returns its folder."""
    from attnlab.run.resume import resume as resume_run

    return resume_run(RunDirectory.open(folder), changes)


def finish() -> None:
    """Wait for figures and MLflow copies of all runs."""
    from attnlab.run.runner import wait_for_finishes

    wait_for_finishes()


def sweep(words: list[str]) -> list[dict[str, Any]]:
    """Run a sweep from the words of a command; returns the `rows` of its runs."""
    from attnlab import cli
    from attnlab.sweeps.plugin import AttnlabSweeper

    os.environ[TYPED] = shlex.join(["attnlab", "-m", *words])
    cli.train(["-m", *words])
    folder = AttnlabSweeper.folder
    assert folder  # of a sweep that raised no error
    return rows(Filters(sweep=folder.name), str(folder.parents[1]))


def rows(filters: Filters, runs: str | None) -> list[dict[str, Any]]:
    """Return the matching runs as `attnlab runs` shows them, the oldest first."""
    return [row(each) for each in filters.apply(listed_runs(runs))]


def find_folder(run: str, runs: str | None) -> Path:
    """Return the folder of the run that a text names."""
    return find(run, runs, WITH_WEIGHTS, ANY).path


def compare(filters: Filters, runs: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as text, Markdown, rows of numbers, warnings and a PNG figure."""
    from attnlab.compare import formats
    from attnlab.compare.shown import comparison_figure
    from attnlab.views.png.figure import draw

    found, text, png = compared(filters, runs, **options), io.StringIO(), io.BytesIO()
    formats.print_comparisons(found, text)
    draw(comparison_figure(found)).savefig(png, format="png")
    return {
        "text": text.getvalue().rstrip(),
        "markdown": formats.markdown(found),
        "rows": formats.numbers(found),
        "warnings": [
            in_python(text)
            for text in [*(each for task in found.tasks for each in task.warnings), *found.left_out]
        ],
        "png": png.getvalue(),
    }


def summary(folder: Path) -> str:
    """Return a run's result with its baselines as text, or its state if it isn't completed."""
    from attnlab.run.console import print_result

    run, text = RunDirectory.open(folder), io.StringIO()
    state = shown_state(run.status.read())
    if state != "completed":
        return f"{run.name}: {state}"
    print_result(run.read_metrics(), folder, text)
    return in_python(text.getvalue().rstrip())


def predictions(folder: Path) -> dict[str, Any]:
    """Return the columns of predictions.csv; for an unknown task the types are guessed."""
    run = RunDirectory(folder)
    kind = known_kind(run.read_task())
    return run.read_predictions(kind.scoring.text_columns if kind else ())


def predict(folder: Path, epoch: str, inputs: Any, settings: dict[str, Any]) -> Any:
    """Return a model's predictions for inputs, with the weights of an epoch."""
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(RunDirectory.open(folder), epoch)
    known = trained.task.kind.predictions
    for name in settings.keys() - {*known.settings}:
        raise RequestError(f"{name}: expected of a {known.item} {', '.join(known.settings)} alone.")
    found = trained.task.serve(trained.model, inputs, **settings)
    return found.tolist() if found.dtype == object else found
