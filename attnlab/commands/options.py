"""Arguments and options that several commands share, such as the filters that choose runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from attnlab.comparison.selection import STATES, Chosen, Filters, choose_runs, none_fits
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
        *("--task", "tasks"),
        metavar="NAME",
        multiple=True,
        help="Only runs of this task; may be repeated.",
    ),
    "attentions": click.option(
        *("--attention", "attentions"),
        metavar="NAME",
        multiple=True,
        help="Only runs with this mechanism; may be repeated.",
    ),
    "where": click.option(
        "--where",
        metavar="KEY=VALUE",
        multiple=True,
        help="Only runs whose config has this value, such as model.units=64, or one of several: "
        "seed=0,1. May be repeated; then all conditions must hold.",
    ),
    "states": click.option(
        *("--state", "states"),
        type=click.Choice(STATES),
        multiple=True,
        help="Only runs in this state; may be repeated.",
    ),
    "failed": click.option(
        "--failed", is_flag=True, help="Short for --state failed --state killed."
    ),
    "sweep": click.option("--sweep", metavar="NAME", help="Only runs of this sweep."),
    "since": click.option(
        "--since",
        metavar="AGE",
        help="Only runs started at most this long ago (90m, 12h, 2d, 1w) or since a date "
        "(2026-01-31).",
    ),
}


def complete_run(context: click.Context, _: click.Parameter | None, start: str) -> list[str]:
    """Complete the name of a run, for TAB; the newest run comes first."""
    folder = runs_folder(context.params.get("runs"))
    names = ["/".join(path.parts[-3:]) for path in run_folders(folder)]
    newest = sorted(names, key=lambda name: name.rpartition("/")[2], reverse=True)
    return [name for name in ("latest", *newest) if name.startswith(start)]


run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)
runs_option = click.option(
    "--runs",
    metavar="DIR",
    default=None,
    help="Folder with all runs.  [default: $ATTNLAB_RUNS, else ./runs]",
)

_EPOCH = (
    click.option(
        "--epoch",
        metavar="EPOCH",
        help="Weights to use: an epoch's number, best, last, or average (the mean of the last "
        "epochs' weights).  [default: best; with --average: last]",
    ),
    click.option(
        "--average",
        type=click.IntRange(min=1),
        metavar="K",
        help="Average the weights of the last K epochs up to --epoch.  "
        "[default with --epoch average: 5]",
    ),
)


def epoch_options(function: _Command) -> _Command:
    """Add the options --epoch and --average to a click command; see `TrainedRun.load`."""
    for option in reversed(_EPOCH):
        function = option(function)
    return function


def runs_folder(runs: str | Path | None) -> Path:
    """Return the folder that `--runs` names, or the default folder of runs."""
    try:
        return Path(runs).expanduser() if runs else default_runs_folder()
    except RuntimeError as error:
        raise RequestError(
            f"--runs: expected a folder, got {runs}: its home folder is unknown."
        ) from error


def listed_runs(runs: str | None) -> list[ListedRun]:
    """List all runs of the folder that `--runs` names, the oldest first; it must exist."""
    folder = runs_folder(runs)
    if runs and not folder.is_dir():
        raise RequestError(f"--runs: expected an existing folder, got {runs!r}.")
    return list_runs(folder)


def key_values(words: Iterable[str], expected: str) -> dict[str, str]:
    """Parse words KEY=VALUE; any other word raises a `RequestError` that names `expected`."""
    parts = {word: word.partition("=") for word in words}
    for word, (key, equals, _) in parts.items():
        if not equals or not key:
            raise RequestError(f"{word}: expected {expected}.")
    return {key: value for key, _, value in parts.values()}


def form_options(*forms: str) -> Callable[[_Command], _Command]:
    """Add --format with these choices to a click command, and --json; the first is the default.

    The command gets the choice as the argument `form`.
    """

    def decorate(function: _Command) -> _Command:
        @functools.wraps(function)
        def wrapped(*arguments: Any, form: str, as_json: bool, **options: Any) -> Any:
            source = click.get_current_context().get_parameter_source("form")
            given = source is not ParameterSource.DEFAULT
            if as_json and given and form != "json":
                raise RequestError(f"--json, --format {form}: give only one of them.")
            return function(*arguments, form="json" if as_json else form, **options)

        short = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
        choice = click.Choice(forms)
        named = click.option("--format", "form", type=choice, default=forms[0], show_default=True)
        return named(short(wrapped))  # type: ignore[return-value]

    return decorate


def filter_options(*names: str) -> Callable[[_Command], _Command]:
    """Add options for these fields of `Filters` to a click command; without names, for all.

    The command gets them as the argument `filters`.
    """
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
        help="Group runs by these config keys, separated by commas: attention.score,model.cell.",
    ),
    click.option(
        "--within",
        metavar="KEYS",
        help="Make a separate comparison for each value of these config keys.",
    ),
    filter_options("tasks", "attentions", "where", "sweep", "since"),
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
PICTURES = (".png", ".pdf", ".svg")  # file formats of a figure
FORMATS = ("table", "md", "csv", "latex", "json")


def choice_options(function: _Command) -> _Command:
    """Add options that choose and group runs to a click command.

    It gets `filters`, `everything` and the fields of `comparison.comparison.Options` as arguments.
    """
    for option in reversed(_CHOICE):
        function = option(function)
    return function


def chosen_runs(
    filters: Filters, runs: str | None, everything: bool
) -> tuple[Chosen, list[ListedRun]]:
    """Choose runs of a folder by filters; returns the chosen runs and all runs of the folder.

    Args:
        filters: Conditions on the runs.
        runs: The folder; None for the default one.
        everything: Choose by the filters alone; otherwise as `choose_runs` does.

    Raises:
        RequestError: The folder has no runs, or none fits.
    """
    found = listed_runs(runs)
    if not found:
        raise RequestError(
            f"--runs: there are no runs in {str(runs_folder(runs))!r}. Train some first, for "
            "example: attnlab -m attention=none,bahdanau seed=0,1,2,3,4"
        )
    chosen = Chosen(filters.apply(found), []) if everything else choose_runs(found, filters)
    if not chosen.runs:
        raise RequestError(none_fits(filters, found))
    return chosen, found


def keys(text: str | None, option: str) -> tuple[str, ...]:
    """Split an option's config keys at the commas; without the option there are none."""
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
    """Print `found` in the format of --format: by `as_table`, or by a function of `formats`.

    CSV and JSON have no place for `warnings` and for the runs left out: they go to standard error.
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
    if form in ("csv", "json"):
        left_out = (f"left out: {text}" for text in found.left_out)
        for text in [*chain.from_iterable(warnings), *left_out]:
            click.echo(f"attnlab: {text}", err=True)
    return None


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
