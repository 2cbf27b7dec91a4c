"""The prediction commands: `translate`, `classify` and the like, one per kind.

All do the same; each is built from what the predictor of its kind declares.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from attnlab.commands import options
from attnlab.errors import RequestError, explained
from attnlab.tasks.kinds import Kind, known_kind, load
from attnlab.tasks.predictor import Predictor, Request, Setting

_Decorator = Callable[[Any], Any]


def prediction_command(kind: Kind) -> click.Command:
    """Build the click command that makes a kind's predictions."""
    declared: type[Predictor] = load(kind.predictions.predictor)

    def callback(**values: Any) -> None:
        _run(kind, declared, **values)

    for decorate in reversed([*_decorators(declared)]):
        callback = decorate(callback)
    return click.command(kind.predictions.command, help=inspect.getdoc(declared))(callback)


def _decorators(declared: type[Predictor]) -> Iterator[_Decorator]:
    """Yield the arguments and options of a predictor's command, in the order of its help."""
    yield options.run_argument
    path = click.Path(path_type=Path)
    if takes := declared.takes:
        yield click.argument("words", nargs=-1, metavar=takes.metavar, required=takes.required)
        if takes.files:
            yield click.option("--file", "files", multiple=True, type=path, help=takes.files)
    yield from map(_option, declared.settings)
    yield options.epoch_options
    yield options.json_option
    if declared.table:
        yield click.option("--csv", "table", metavar="FILE", help=declared.table)
    if figure := declared.figure:
        yield click.option(_flag(figure), "figure", help=figure.help, type=path, metavar="FILE.png")
    yield from map(_option, declared.figure_settings)
    yield options.runs_option


def _option(setting: Setting) -> _Decorator:
    arguments: dict[str, Any] = {"type": setting.value}
    if setting.value is bool:
        arguments = {"is_flag": True}
    elif setting.value is Path:
        arguments = {"type": click.Path(path_type=Path)}
    elif isinstance(setting.value, tuple):
        arguments = {"type": click.IntRange(*setting.value)}
    if setting.default is not None:
        arguments |= {"default": setting.default, "show_default": True}
    return click.option(
        _flag(setting),
        setting.name,
        metavar=setting.metavar,
        multiple=setting.repeated,
        required=setting.required,
        help=setting.help,
        **arguments,
    )


def _flag(setting: Setting | None) -> str:
    return f"--{setting.name.replace('_', '-')}" if setting else ""


def _run(
    kind: Kind,
    declared: type[Predictor],
    *,
    run: str,
    runs: str | None,
    epoch: str | None,
    average: int | None,
    as_json: bool,
    words: Sequence[str] = (),
    files: Sequence[Path] = (),
    table: str | None = None,
    figure: Path | None = None,
    **settings: Any,
) -> None:
    """Make the predictions, and print them or write them to files."""
    figure_settings = {s.name: settings.pop(s.name) for s in declared.figure_settings}
    option = _flag(declared.figure)
    options.check_figure(figure, option)
    if figure is None and any(figure_settings.values()):
        flags = ", ".join(map(_flag, declared.figure_settings))
        raise RequestError(f"{flags}: needs {option} FILE.png.")
    if table and as_json:
        raise RequestError("--csv, --json: give only one of them.")
    reads = lambda task: known_kind(task) is kind  # noqa: E731
    folder = options.find_trained(run, runs, epoch, average, reads)
    predictor = declared(Request(folder, _report, words, files), **settings)
    chunks = _chunks(predictor, drawn=figure is not None)
    from attnlab.runner.loading import TrainedRun

    predictor.use(TrainedRun.load(folder, epoch, average))
    results: Iterable[Mapping[str, Any]] = chain.from_iterable(map(predictor.predict, chunks))
    if figure is not None or table is not None:
        results = [*results]
    if figure is not None:
        drawn = predictor.draw([*results], **figure_settings)
        if drawn is None:
            raise RequestError(f"{option}: the run has attention=none, so there is no map.")
        options.save_figure(drawn, figure, option)
    if table is not None:
        rows = list(chain.from_iterable(map(predictor.rows, results)))
        with (
            explained(f"--csv: {table} can't be written"),
            click.open_file(table, "w", encoding="utf-8", atomic=True) as stream,
        ):
            writer = csv.DictWriter(stream, [*rows[0]], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return
    for result in results:
        lines = predictor.lines(result)
        for line in [json.dumps(result, ensure_ascii=False)] if as_json else lines:
            click.echo(line)


def _chunks(predictor: Predictor, drawn: bool) -> Iterable[Sequence[str]]:
    """Yield the inputs in chunks: the arguments and files, or else lines of standard input.

    Raises:
        RequestError: A figure is to be drawn, and there is no input for it or too many.
    """
    if not predictor.takes:
        return [()]
    size, inputs = predictor.together, predictor.inputs
    if predictor.takes.required and not inputs:
        noun = predictor.noun
        raise RequestError(f"{predictor.takes.name}: the run reads {noun}s; give an {noun} file.")
    parts = (inputs[start : start + size] for start in range(0, len(inputs), size))
    chunks = parts if inputs else input_lines(predictor.takes.name.lower(), size)
    if not drawn:
        return chunks
    most = predictor.most_drawn
    few = [*islice(chain.from_iterable(chunks), most + 1)]
    if 0 < len(few) <= most:
        return [few]
    number = f"one {predictor.noun}" if most == 1 else f"1 to {most} {predictor.noun}s"
    got = "more" if few else "none"
    raise RequestError(f"{_flag(predictor.figure)}: expected {number}, got {got}.")


def input_lines(noun: str, together: int) -> Iterator[list[str]]:
    """Yield lists of at most `together` lines of standard input; single lines from a terminal.

    Raises:
        RequestError: Standard input is closed, or isn't UTF-8.
    """
    if sys.stdin is None:
        raise RequestError(f"{noun}: expected a {noun}, or standard input, which is closed.")
    if is_typed := sys.stdin.isatty():
        _report(f"type a {noun} and press Enter; Ctrl-D ends.")
    stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="\n")
    try:
        while lines := [*islice(stream, 1 if is_typed else together)]:
            yield [line.removesuffix("\n").removesuffix("\r") for line in lines]
    except UnicodeDecodeError as error:
        raise RequestError(f"standard input: not UTF-8: {error.reason}.") from error


def _report(text: str) -> None:
    click.echo(f"attnlab: {text}", err=True)
