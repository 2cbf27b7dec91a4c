"""The prediction commands: `translate`, `classify` and the like, one per kind.

All do the same; each is built from what the predictor of its kind declares.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from attnlab.commands.finding import find_trained
from attnlab.commands.options import (
    check_figure,
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    save_figure,
)
from attnlab.commands.standard_input import input_lines
from attnlab.errors import RequestError, explained
from attnlab.records.files import replacing
from attnlab.tasks.declaration import Kind, load
from attnlab.tasks.predictor import Predictor, Request, Setting

_Decorator = Callable[[Any], Any]


def prediction_command(kind: Kind) -> click.Command:
    """Build the click command that makes a kind's predictions."""
    declared: type[Predictor] = load(kind.predictions.predictor)

    def callback(**given: Any) -> None:
        _run(kind, declared, **given)

    for decorate in reversed([*_decorators(declared)]):
        callback = decorate(callback)
    return click.command(kind.predictions.command, help=inspect.getdoc(declared))(callback)


def _decorators(declared: type[Predictor]) -> Iterator[_Decorator]:
    """Yield the arguments and options of a predictor's command, in the order of its help."""
    yield run_argument
    if takes := declared.takes:
        options: dict[str, Any] = {"metavar": takes.metavar, "required": takes.required}
        yield click.argument("words", nargs=-1, **options)
        if takes.files:
            path = click.Path(path_type=Path)
            yield click.option("--file", "files", multiple=True, type=path, help=takes.files)
    yield from map(_option, declared.settings)
    yield epoch_options
    yield form_options("text", "json")
    if declared.table:
        yield click.option("--csv", metavar="FILE", help=declared.table)
    if figure := declared.figure:
        options = {"type": click.Path(path_type=Path), "metavar": "FILE.png"}
        yield click.option(_flag(figure), "figure", help=figure.help, **options)
    yield from map(_option, declared.figure_settings)
    yield runs_option


def _option(setting: Setting) -> _Decorator:
    options: dict[str, Any] = {"type": str}
    if setting.value is bool:
        options = {"is_flag": True}
    elif setting.value is float:
        options = {"type": float}
    elif setting.value is Path:
        options = {"type": click.Path(path_type=Path)}
    elif isinstance(setting.value, tuple):
        options = {"type": click.IntRange(*setting.value)}
    if setting.default is not None:
        options |= {"default": setting.default, "show_default": True}
    return click.option(
        _flag(setting),
        setting.name,
        metavar=setting.metavar,
        multiple=setting.repeated,
        required=setting.required,
        help=setting.help,
        **options,
    )


def _flag(setting: Setting) -> str:
    return f"--{setting.name.replace('_', '-')}"


def _run(
    kind: Kind,
    declared: type[Predictor],
    *,
    run: str,
    runs: str | None,
    epoch: str | None,
    average: int | None,
    form: str,
    words: Sequence[str] = (),
    files: Sequence[Path] = (),
    csv: str | None = None,
    figure: Path | None = None,
    **settings: Any,
) -> None:
    """Make the predictions, and print them or write them to files."""
    own = _figure_settings(declared, figure, settings)
    if csv and form == "json":
        raise RequestError("--csv, --json: give only one of them.")
    folder = find_trained(run, runs, kind, epoch, average)
    is_shown = form == "text" and csv is None and sys.stdout.isatty()
    write = partial(click.echo, nl=False) if is_shown else None
    predictor = declared(Request(folder, _report, words, files, csv, write), **settings)
    chunks = _chunks(predictor, drawn=figure is not None)
    from attnlab.run.loading import TrainedRun

    predictor.use(TrainedRun.load(folder, epoch, average))
    results = chain.from_iterable(map(predictor.predict, chunks))
    if figure is None and csv is None:
        return _print(predictor, results, form)
    made = [*results]
    try:
        _print(predictor, made, form) if csv is None else _write_csv(predictor, made, csv)
    except BrokenPipeError:  # `| head` has ended, but the figure is still wanted
        _draw(predictor, made, figure, own)
        raise
    return _draw(predictor, made, figure, own)


def _figure_settings(
    declared: type[Predictor], figure: Path | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Move the settings of the figure out of `settings`.

    Raises:
        RequestError: The file's name is not that of a figure, or settings have no file.
    """
    own = {each.name: settings.pop(each.name) for each in declared.figure_settings}
    if declared.figure:
        check_figure(figure, _flag(declared.figure))
        if figure is None and any(own.values()):
            flags = ", ".join(map(_flag, declared.figure_settings))
            raise RequestError(f"{flags}: needs {_flag(declared.figure)} FILE.png.")
    return own


def _chunks(predictor: Predictor, drawn: bool) -> Iterable[Sequence[str]]:
    """Yield the inputs in chunks: the arguments and files, or else lines of standard input."""
    if not predictor.takes:
        return [()]
    lines = input_lines(predictor.takes.name, predictor.together)
    chunks = _parts(predictor.inputs, predictor.together) if predictor.inputs else lines
    return [_few(predictor, chunks)] if drawn else chunks


def _parts(inputs: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(inputs), most):
        yield inputs[start : start + most]


def _few(predictor: Predictor, chunks: Iterable[Sequence[str]]) -> list[str]:
    """Collect all inputs for a figure; raises `RequestError` if there are none or too many."""
    noun, most = predictor.noun, predictor.most_drawn
    found = [*islice(chain.from_iterable(chunks), most + 1)]
    if 0 < len(found) <= most:
        return found
    wanted = f"one {noun}" if most == 1 else f"at most {most} {noun}s"
    got = len(predictor.inputs) or ("more on standard input" if found else "none on standard input")
    option = _flag(predictor.figure) if predictor.figure else ""
    raise RequestError(f"{option}: expected {wanted if found else f'a {noun}'}, got {got}.")


def _report(text: str) -> None:
    click.echo(f"attnlab: {text}", err=True)


def _print(predictor: Predictor, results: Iterable[Any], form: str) -> None:
    for result in results:
        if form == "json":
            click.echo(json.dumps(predictor.content(result), ensure_ascii=False))
            continue
        for line in predictor.lines(result):
            click.echo(line)


def _write_csv(predictor: Predictor, results: Sequence[Any], file: str) -> None:
    """Write the predictions as a table to a file; `-` is standard output."""
    content = predictor.csv(results)
    if file == "-":
        click.echo(content.decode().rstrip("\n"))
        return
    with explained(f"--csv: {file} can't be written"), replacing(Path(file)) as temporary:
        temporary.write_bytes(content)


def _draw(
    predictor: Predictor, results: Sequence[Any], path: Path | None, settings: Mapping[str, Any]
) -> None:
    if path and predictor.figure:
        option = _flag(predictor.figure)
        figure = predictor.draw(results, **settings)
        if figure is None:
            raise RequestError(f"{option}: the run has attention=none, so there is no map.")
        save_figure(figure, path, option)
