"""Arguments that several verbs share, those that choose runs among them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from attnlab.compare.selection import STATES, Chosen, Filters, choose_runs, none_fits
from attnlab.errors import RequestError, explained
from attnlab.records.run_directory import (
    ListedRun,
    default_runs_folder,
    list_runs,
    run_folders,
)

if TYPE_CHECKING:
    from attnlab.views.records import Figure

_Command = TypeVar("_Command", bound=Callable[..., Any])
_OPTIONS = {
    "tasks": click.option(
        "--task", "tasks", metavar="NAME", multiple=True, help="Runs of this task; may be repeated."
    ),
    "attentions": click.option(
        *("--attention", "attentions"),
        metavar="NAME",
        multiple=True,
        help="Runs with this mechanism; may be repeated.",
    ),
    "where": click.option(
        "--where",
        metavar="KEY=VALUE",
        multiple=True,
        help="Runs whose config has this value, as model.units=64 or seed=0,1 (either); "
        "may be repeated, and all must fit.",
    ),
    "states": click.option(
        "--state", "states", type=click.Choice(STATES), multiple=True, help="Runs in this state."
    ),
    "failed": click.option(
        "--failed", is_flag=True, help="Runs that came to no end: --state failed --state killed."
    ),
    "sweep": click.option("--sweep", metavar="NAME", help="Runs of this sweep."),
    "since": click.option(
        "--since",
        metavar="AGE",
        help="Runs that began at most this long ago, as 90m, 12h, 2d or 1w, or since 2026-01-31.",
    ),
}


def complete_run(context: click.Context, _: click.Parameter | None, start: str) -> list[str]:
    """For TAB: the runs that begin like this, the newest first."""
    folder = runs_folder(context.params.get("runs"))
    names = ["/".join(path.parts[-3:]) for path in run_folders(folder)]
    newest = sorted(names, key=lambda name: name.rpartition("/")[2], reverse=True)
    return [name for name in ("latest", *newest) if name.startswith(start)]


run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)
runs_option = click.option(
    "--runs",
    metavar="DIR",
    default=None,
    help="Folder of all runs.  [default: $ATTNLAB_RUNS, else ./runs]",
)

_EPOCH = (
    click.option(
        "--epoch",
        metavar="EPOCH",
        help="A number, best, last, or average: the mean of the last ones' weights.  [default: "
        "best; with --average: last]",
    ),
    click.option(
        "--average",
        type=click.IntRange(min=1),
        metavar="K",
        help="The mean of K epochs' weights: up to --epoch, or with --epoch best the best.  "
        "[default of --epoch average: 5]",
    ),
)


def epoch_options(function: _Command) -> _Command:
    """Give a click command `epoch` and `average`, as `TrainedRun.load` takes them."""
    for option in reversed(_EPOCH):
        function = option(function)
    return function


def runs_folder(runs: str | Path | None) -> Path:
    """The folder of all runs that `--runs` names, or the default one."""
    try:
        return Path(runs).expanduser() if runs else default_runs_folder()
    except RuntimeError as error:
        raise RequestError(f"--runs: expected a folder, got {runs}: {error}") from error


def listed_runs(runs: str | None) -> list[ListedRun]:
    """All runs of the folder that `--runs` names, which must exist, the oldest first."""
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    return list_runs(folder)


def key_values(words: Iterable[str], expected: str) -> dict[str, str]:
    """What words KEY=VALUE say; raises `RequestError`, which says what is `expected`."""
    parts = {word: word.partition("=") for word in words}
    for word, (key, equals, _) in parts.items():
        if not equals or not key:
            raise RequestError(f"{word}: expected {expected}.")
    return {key: value for key, _, value in parts.values()}


def form_options(*forms: str) -> Callable[[_Command], _Command]:
    """Give a click command `form`: one of `forms`, by default the first, and --json for short."""

    def decorate(function: _Command) -> _Command:
        @functools.wraps(function)
        def wrapped(*arguments: Any, form: str, as_json: bool, **options: Any) -> Any:
            source = click.get_current_context().get_parameter_source("form")
            given = source is not ParameterSource.DEFAULT
            if as_json and given and form != "json":
                raise RequestError(f"--json, --format {form}: expected one of them.")
            return function(*arguments, form="json" if as_json else form, **options)

        short = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
        choice = click.Choice(forms)
        named = click.option("--format", "form", type=choice, default=forms[0], show_default=True)
        return named(short(wrapped))  # type: ignore[return-value]

    return decorate


def filter_options(*names: str) -> Callable[[_Command], _Command]:
    """Give a click command these fields of `Filters`, or all, as the argument `filters`."""
    chosen = names or tuple(_OPTIONS)

    def decorate(function: _Command) -> _Command:
        @functools.wraps(function)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            given = {name: options.pop(name) for name in chosen}
            return function(*arguments, filters=Filters(**given), **options)

        for name in reversed(chosen):
            wrapped = _OPTIONS[name](wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


_CHOICE = (
    click.option(
        "--by",
        metavar="KEYS",
        default="attention",
        show_default=True,
        help="Config keys that make the groups, with commas between: attention.score,model.cell.",
    ),
    click.option(
        "--within",
        metavar="KEYS",
        help="Config keys: runs are compared with those of equal values alone, a table for each.",
    ),
    filter_options("tasks", "attentions", "where", "sweep", "since"),
    click.option(
        *("--all", "everything"),
        is_flag=True,
        help="All runs.  [default: without filters those of the newest sweep, or of the newest "
        "run's task; none of studies]",
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
        help="The group that others are held against.  [default: attention none, else the group "
        "of most seeds]",
    ),
    click.option(
        "--geometric",
        is_flag=True,
        help="Average logarithms: geometric means, ratios to the reference.",
    ),
)
PICTURES = (".png", ".pdf", ".svg")  # a figure may be
FORMATS = ("table", "md", "csv", "latex", "json")


def choice_options(function: _Command) -> _Command:
    """Give a click command `filters`, `everything` and the fields of `compare.grouping.Choice`."""
    for option in reversed(_CHOICE):
        function = option(function)
    return function


def chosen_runs(
    filters: Filters, runs: str | None, everything: bool
) -> tuple[Chosen, list[ListedRun]]:
    """Choose runs of a folder by filters, see `choose_runs`, and return all of its runs, too.

    Args:
        filters: what the runs must be.
        runs: the folder.
        everything: leave no run out that the filters leave.

    Raises:
        RequestError: there are none.
    """
    found = listed_runs(runs)
    if not found:
        raise RequestError(
            f"--runs: expected a folder of runs, but {str(runs_folder(runs))!r} has none: train "
            "some first, for example attnlab -m attention=none,bahdanau seed=0,1,2,3,4."
        )
    chosen = Chosen(filters.apply(found), []) if everything else choose_runs(found, filters)
    if not chosen.runs:
        raise RequestError(none_fits(filters, found))
    return chosen, found


def keys(text: str | None, option: str) -> tuple[str, ...]:
    """The config keys that an option names with commas between; none without it."""
    if text is None:
        return ()
    found = tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))
    if not found:
        raise RequestError(f"{option}: expected config keys such as attention, got {text!r}.")
    return found


def show(
    found: Any,
    form: str,
    formats: Any,
    as_table: Callable[[Any], None],
    warnings: Iterable[Iterable[str]],
) -> None:
    """Print what was found as --format asks: `as_table`, or as the module `formats` writes it.

    Standard error has what a CSV has no place for: `warnings` of each task, and runs left out.
    """
    if form == "table":
        return as_table(found)
    write = {
        "md": formats.markdown,
        "csv": formats.comma_separated,
        "latex": formats.latex,
        "json": formats.as_json,
    }
    click.echo(write[form](found).rstrip("\n"))
    if form == "csv":
        left_out = (f"left out: {text}" for text in found.left_out)
        for text in [*chain.from_iterable(warnings), *left_out]:
            click.echo(f"attnlab: {text}", err=True)
    return None


def check_figure(path: Path | None, option: str) -> None:
    """Raise `RequestError` where an option names a file that is none of `PICTURES`."""
    if path and path.suffix.lower() not in PICTURES:
        formats = ", ".join(PICTURES)
        raise RequestError(f"{option}: expected a file that ends with {formats}, got {path}.")


def save_figure(figure: Figure, path: Path, option: str) -> None:
    """Write a figure to the file that an option names, and say where it is on standard error.

    Raises:
        RequestError: it can't be written.
    """
    from attnlab.views.png.figure import save

    with explained(f"{option}: {path} can't be written"):
        save(figure, path)
    click.echo(f"attnlab: {option}: the picture is in {path.absolute()}", err=True)
