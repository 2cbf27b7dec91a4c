"""The prediction commands: `translate`, `classify` and the like, one per kind.

All do the same; each is built from what the predictor of its kind declares.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    path = click.Path(path_type=Path)
    if takes := declared.takes:
        yield click.argument("words", nargs=-1, metavar=takes.metavar, required=takes.required)
        if takes.files:
            yield click.option("--file", "files", multiple=True, type=path, help=takes.files)
    yield from map(_option, declared.settings)
    yield epoch_options
    yield form_options("text", "json")
    if declared.table:
        yield click.option("--csv", "table", metavar="FILE", help=declared.table)
    if figure := declared.figure:
        yield click.option(_flag(figure), "figure", help=figure.help, type=path, metavar="FILE.png")
    yield from map(_option, declared.figure_settings)
    yield runs_option


def _option(setting: Setting) -> _Decorator:
    options: dict[str, Any] = {"type": setting.value}
    if setting.value is bool:
        options = {"is_flag": True}
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
    table: str | None = None,
    figure: Path | None = None,
    **settings: Any,
) -> None:
    """Make the predictions, and print them or write them to files."""
    figure_settings = {each.name: settings.pop(each.name) for each in declared.figure_settings}
    option = _flag(declared.figure) if declared.figure else ""
    check_figure(figure, option)
    if figure is None and any(figure_settings.values()):
        flags = ", ".join(map(_flag, declared.figure_settings))
        raise RequestError(f"{flags}: needs {option} FILE.png.")
    if table and form == "json":
        raise RequestError("--csv, --json: give only one of them.")
    folder = find_trained(run, runs, kind, epoch, average)
    predictor = declared(Request(folder, _report, words, files), **settings)
    chunks = _chunks(predictor, drawn=figure is not None)
    from attnlab.runner.loading import TrainedRun

    predictor.use(TrainedRun.load(folder, epoch, average))
    results = chain.from_iterable(map(predictor.predict, chunks))
    if figure is None and table is None:
        return _print(predictor, results, form)
    made = [*results]
    try:
        _print(predictor, made, form) if table is None else _write_csv(predictor, made, table)
    finally:  # if `| head` has ended, the figure is still wanted
        if figure is not None:
            drawn = predictor.draw(made, **figure_settings)
            if drawn is None:
                raise RequestError(f"{option}: the run has attention=none, so there is no map.")
            save_figure(drawn, figure, option)


def _chunks(predictor: Predictor, drawn: bool) -> Iterable[Sequence[str]]:
    """Yield the inputs in chunks: the arguments and files, or else lines of standard input.

    Raises:
        RequestError: A figure is to be drawn, and there is no input for it or too many.
    """
    if not predictor.takes:
        return [()]
    size, inputs = predictor.together, predictor.inputs
    parts = (inputs[start : start + size] for start in range(0, len(inputs), size))
    chunks = parts if inputs else input_lines(predictor.takes.name, size)
    if not drawn:
        return chunks
    noun, most = predictor.noun, predictor.most_drawn
    few = [*islice(chain.from_iterable(chunks), most + 1)]
    if 0 < len(few) <= most:
        return [few]
    expected = f"one {noun}" if most == 1 else f"at most {most} {noun}s"
    got = len(inputs) or ("more on standard input" if few else "none on standard input")
    option = _flag(predictor.figure) if predictor.figure else ""
    raise RequestError(f"{option}: expected {expected if few else f'a {noun}'}, got {got}.")


def _report(text: str) -> None:
    click.echo(f"attnlab: {text}", err=True)


def _print(predictor: Predictor, results: Iterable[Mapping[str, Any]], form: str) -> None:
    for result in results:
        if form == "json":
            click.echo(json.dumps(result, ensure_ascii=False))
            continue
        for line in predictor.lines(result):
            click.echo(line)


def _write_csv(predictor: Predictor, results: Sequence[Mapping[str, Any]], file: str) -> None:
    """Write the predictions as a table to a file; `-` is standard output."""
    rows = [*chain.from_iterable(map(predictor.rows, results))]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    if file == "-":
        click.echo(stream.getvalue(), nl=False)
        return
    with explained(f"--csv: {file} can't be written"), replacing(Path(file)) as temporary:
        temporary.write_text(stream.getvalue(), encoding="utf-8", newline="")
