"""Arguments and options that several commands share, and the runs that they name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.comparison.selection import STATES, Chosen, Filters, choose_runs, none_fits
from attnlab.config.rules import did_you_mean
from attnlab.errors import RequestError, explained
from attnlab.records.run_directory import (
    OTHER_FOLDER,
    ListedRun,
    NoSuchRun,
    RunDirectory,
    default_runs_folder,
    find_run,
    list_runs,
    run_folders,
    shown_state,
)
from attnlab.tasks.kinds import kind_of, known_kind

if TYPE_CHECKING:
    from attnlab.views.records import Figure

PICTURES = (".png", ".pdf", ".svg")  # file formats of a figure
_Decorator = Callable[[Any], Any]
_Fits = Callable[[ListedRun], bool]


def complete_run(context: click.Context, _: click.Parameter | None, start: str) -> list[str]:
    """Complete the name of a run, for TAB; the newest run comes first."""
    folder = runs_folder(context.params.get("runs"))
    names = ["/".join(path.parts[-3:]) for path in run_folders(folder)]
    newest = sorted(names, key=lambda name: name.rpartition("/")[2], reverse=True)
    return [name for name in ("latest", *newest) if name.startswith(start)]


run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)
run_arguments = click.argument("names", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
runs_option = click.option(
    "--runs", metavar="DIR", help="Folder with all runs.  [default: $ATTNLAB_RUNS, else ./runs]"
)


def _all_of(*options: _Decorator) -> _Decorator:
    """Return a decorator that adds several options to a click command, in this order."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


# The command gets `epoch` and `average` as arguments; see `TrainedRun.load`.
epoch_options = _all_of(
    click.option(
        "--epoch",
        metavar="EPOCH",
        help="Weights to use: an epoch's number, best or last.  [default: best; with --average: "
        "last]",
    ),
    click.option(
        "--average",
        type=click.IntRange(min=1),
        metavar="K",
        help="Average the weights of the last K epochs up to --epoch.",
    ),
)


_CHOOSING = (
    click.option(
        *("--task", "tasks"),
        metavar="NAME",
        multiple=True,
        help="Only runs of this task; may be repeated.",
    ),
    click.option(
        *("--attention", "attentions"),
        metavar="NAME",
        multiple=True,
        help="Only runs with this mechanism; may be repeated.",
    ),
    click.option(
        "--where",
        metavar="KEY=VALUE",
        multiple=True,
        help="Only runs whose config has this value, such as model.units=64, or one of several: "
        "seed=0,1. May be repeated; then all conditions must hold.",
    ),
    click.option("--sweep", metavar="NAME", help="Only runs of this sweep."),
)
_STATE = (
    click.option(
        *("--state", "states"),
        type=click.Choice(STATES),
        multiple=True,
        help="Only runs in this state; may be repeated.",
    ),
    click.option("--failed", is_flag=True, help="Short for --state failed --state killed."),
)


def _as_filters(*options: _Decorator) -> _Decorator:
    """Add options that filter runs; the command gets them as the argument `filters`."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*arguments: Any, **values: Any) -> Any:
            names = [field.name for field in fields(Filters) if field.name in values]
            filters = Filters(**{name: values.pop(name) for name in names})
            return function(*arguments, filters=filters, **values)

        return _all_of(*options)(wrapped)

    return decorate


filter_options = _as_filters(*_CHOOSING, *_STATE)

# Options that choose and group runs. The command gets `filters`, `everything` and the fields of
# `comparison.comparison.Options` as arguments.
choice_options = _all_of(
    click.option(
        "--by",
        metavar="KEYS",
        default="attention",
        show_default=True,
        help="Group runs by these config keys, separated by commas: attention.score,model.cell.",
    ),
    click.option(
        "--within",
        metavar="KEYS",
        help="Make a separate comparison for each value of these config keys.",
    ),
    _as_filters(*_CHOOSING),
    click.option(
        *("--all", "everything"),
        is_flag=True,
        help="Use all runs, including those of studies.  [default: without filters, those of the "
        "newest sweep or of the newest run's task]",
    ),
    click.option(
        "--metric",
        metavar="PATH",
        help="A test metric, or a path into metrics.json such as extra.compositions.bleu.  "
        "[default: the task's main one]",
    ),
    click.option(
        "--reference",
        metavar="GROUP",
        help="Compare the other groups with this one.  [default: attention none, else the group "
        "with most seeds]",
    ),
    click.option(
        "--geometric",
        is_flag=True,
        help="Average logarithms: geometric means, and ratios to the reference.",
    ),
)


def runs_folder(runs: str | Path | None) -> Path:
    """Return the folder that `--runs` names, or the default folder of runs."""
    return Path(runs).expanduser() if runs else default_runs_folder()


def listed_runs(runs: str | Path | None) -> list[ListedRun]:
    """List all runs of the folder that `--runs` names, the oldest first; it must exist."""
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {str(runs)!r}.")
    return list_runs(folder)


def chosen_runs(filters: Filters, runs: str | Path | None, everything: bool) -> Chosen:
    """Choose runs of a folder by `filters` alone, or unless `everything` as `choose_runs` does.

    Raises:
        RequestError: The folder has no runs, or none fits.
    """
    listed = listed_runs(runs)
    if not listed:
        raise RequestError(
            f"--runs: there are no runs in {str(runs_folder(runs))!r}. Train some first, for "
            "example: attnlab -m attention=none,bahdanau seed=0,1,2,3,4"
        )
    chosen = Chosen(filters.apply(listed), []) if everything else choose_runs(listed, filters)
    if not chosen.runs:
        raise RequestError(none_fits(listed))
    return chosen


def is_completed(entry: ListedRun) -> bool:
    """Return whether a run is completed."""
    return shown_state(entry.status) == "completed"


def is_interrupted(entry: ListedRun) -> bool:
    """Return whether `attnlab resume` can continue a run."""
    state = shown_state(entry.status)
    has_checkpoint = any(entry.run.checkpoint.glob("step_*.ckpt"))
    return state == "killed" or (state == "failed" and has_checkpoint)


def has_weights(entry: ListedRun) -> bool:
    """Return whether a run has saved weights."""
    return entry.status["state"] != "damaged" and bool(entry.run.weights_epochs())


def find(run: str, runs: str | Path | None, what: str = "a run", *fits: _Fits) -> RunDirectory:
    """Find the run that RUN names: by its folder or its MLflow id, or the `latest` that fits.

    Args:
        run: What the user typed.
        runs: The folder of runs.
        what: What fits, such as `a completed run`.
        *fits: Whether a run fits; the newest run that fits the first condition, else the second.

    Raises:
        RequestError: The run doesn't exist or is damaged.
    """
    folder = runs_folder(runs)
    if run != "latest":
        try:
            return find_run(run, folder)
        except NoSuchRun as error:
            raise NoSuchRun(f"{error}{did_you_mean(run, ['latest'])}") from error
    listed = list_runs(folder)
    for condition in fits or (lambda entry: True,):
        if entry := next(filter(condition, reversed(listed)), None):
            click.echo(f"attnlab: latest is {entry.run.name}", err=True)
            return RunDirectory.open(entry.run.path)
    raise RequestError(
        f"RUN: latest: expected {what}, but there is none among the {len(listed)} runs in "
        f"{str(folder)!r}. Train one first. Another folder of runs: {OTHER_FOLDER}."
    )


def find_trained(
    run: str,
    runs: str | Path | None,
    epoch: str | None,
    average: int | None = None,
    reads: Callable[[str], bool] = lambda task: known_kind(task) is not None,
) -> RunDirectory:
    """Find the run that RUN names, for a command that loads the weights of `epoch` and `average`.

    Args:
        run: See `find`.
        runs: See `find`.
        epoch: See `TrainedRun.load`. Only a completed run has a best epoch.
        average: See `TrainedRun.load`.
        reads: Whether the command can use runs of a task, given its name.

    Raises:
        RequestError: The run doesn't exist, is damaged, or is of another task.
    """
    needs_best = (epoch or ("last" if average else "best")) == "best"

    def fits(entry: ListedRun) -> bool:
        is_trained = has_weights(entry) and (is_completed(entry) or not needs_best)
        return is_trained and reads(str(entry.status["task"]))

    what = f"a {'completed ' * needs_best}run with saved weights that this command can use"
    folder = find(run, runs, what, fits)
    if not reads(task := folder.read_task()):
        command = kind_of(task).predictions.command
        raise RequestError(
            f"RUN: expected a run that this command can use, got {folder.path} of task={task}: use "
            f"attnlab {command}."
        )
    return folder


def key_values(words: Iterable[str], expected: str) -> dict[str, str]:
    """Parse words KEY=VALUE; any other word raises a `RequestError` that names `expected`."""
    parts = {word: word.partition("=") for word in words}
    for word, (key, equals, _) in parts.items():
        if not equals or not key:
            raise RequestError(f"{word}: expected {expected}.")
    return {key: value for key, _, value in parts.values()}


def keys(text: str | None, option: str) -> tuple[str, ...]:
    """Split an option's config keys at the commas; without the option there are none."""
    if text is None:
        return ()
    names = tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))
    if not names:
        raise RequestError(f"{option}: expected config keys such as attention, got {text!r}.")
    return names


def check_figure(path: Path | None, option: str) -> None:
    """Raise `RequestError` if an option's file doesn't end with one of `PICTURES`."""
    if path and path.suffix.lower() not in PICTURES:
        formats = ", ".join(PICTURES)
        raise RequestError(f"{option}: expected a file that ends with {formats}, got {path}.")


def save_figure(figure: Figure, path: Path, option: str) -> None:
    """Write a figure to an option's file, and print its path on standard error.

    Raises:
        RequestError: The file can't be written.
    """
    from attnlab.views.png.figure import save
    from attnlab.views.png.style import font_warning

    with explained(f"{option}: {path} can't be written"):
        save(figure, path)
    if warning := font_warning():
        click.echo(f"attnlab: warning: {warning}", err=True)
    click.echo(f"attnlab: {option}: the picture is in {path.absolute()}", err=True)
