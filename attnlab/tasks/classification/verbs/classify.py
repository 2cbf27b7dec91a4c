"""`attnlab classify RUN`: texts from arguments, files or standard input, a class for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import find, require_kind, run_argument, runs_option
from attnlab.errors import RequestError
from attnlab.tasks.classification.kind import KIND

if TYPE_CHECKING:
    import numpy as np

_TOGETHER = 256  # texts that are classified at a time
_FORMATS = (".png", ".pdf", ".svg")


@click.command("classify")
@run_argument
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file that is one text; may be repeated.",
)
@click.option("--epoch", help="A number, best or last.  [default: best; with --average: last]")
@click.option(
    "--average",
    type=click.IntRange(min=1),
    metavar="K",
    help="The mean of K epochs' weights: up to --epoch, or with --epoch best the best.",
)
@click.option("--scores", is_flag=True, help="Print the probability of the class before it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an object a line.")
@click.option(
    "--attention",
    "figure",
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw which words a text is judged by, for one text.",
)
@runs_option
def command(
    run: str,
    texts: tuple[str, ...],
    files: tuple[Path, ...],
    epoch: str | None,
    average: int | None,
    scores: bool,
    as_json: bool,
    figure: Path | None,
    runs: str | None,
) -> None:
    """Say the class of TEXTs, of files, or of standard input line by line, by a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints a class a
    line; with --scores its probability first, with a tab between.
    """
    folder = find(run, runs)
    require_kind(folder, KIND)
    given = [*texts, *map(_read, files)]
    _check(given, figure)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch or ("last" if average else "best"), average)
    task: Any = trained.task
    for some in _chunks(given or _lines()):
        for text, shares in zip(some, task.shares(trained.model, some), strict=True):
            click.echo(_written(task.classes, text, shares, scores, as_json))
    if figure:
        _draw(trained, given[0], figure)


def _check(given: Sequence[str], figure: Path | None) -> None:
    for number, text in enumerate(given, 1):
        if not text.strip():
            raise RequestError(f"TEXT {number}: expected words, got an empty text.")
    if figure is None:
        return
    if figure.suffix.lower() not in _FORMATS:
        formats = ", ".join(_FORMATS)
        raise RequestError(f"--attention: expected a file that ends with {formats}, got {figure}.")
    if len(given) != 1:
        raise RequestError(f"--attention: expected one text, got {len(given)}.")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(f"--file: {path} can't be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"--file: {path}: expected UTF-8, got other bytes.") from error


def _lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise RequestError(f"standard input, line {number}: expected UTF-8.") from error


def _chunks(texts: Any) -> Iterator[list[str]]:
    texts = iter(texts)
    while some := list(islice(texts, _TOGETHER)):
        yield some


def _written(
    classes: Sequence[str], text: str, shares: np.ndarray, scores: bool, as_json: bool
) -> str:
    best = int(shares.argmax())
    if as_json:
        known = {name: round(float(each), 6) for name, each in zip(classes, shares, strict=True)}
        content = {"text": text, "class": classes[best], "probabilities": known}
        return json.dumps(content, ensure_ascii=False)
    return f"{shares[best]:.4f}\t{classes[best]}" if scores else classes[best]


def _draw(trained: Any, text: str, path: Path) -> None:
    from attnlab.figures.style import save
    from attnlab.tasks.classification.figures.words import words_figure

    task = trained.task
    tokens = task.tokens([text])
    weights = trained.model.attend(tokens)
    if weights is None:
        raise RequestError("--attention: expected a model with attention, got attention=none.")
    kept = {
        "weights": weights.numpy(),
        "tokens": task.words(tokens),
        "prediction": task.serve(trained.model, [text]),
    }
    try:
        save(words_figure(kept, trained.config.names), path)
    except OSError as error:
        reason = error.strerror or error
        raise RequestError(f"--attention: {path} can't be written ({reason}).") from error
