"""`attnlab classify RUN`: texts from arguments, files or standard input, or images, and classes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import (
    check_figure,
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    save_figure,
    warn_cut,
    warn_unknown,
)
from attnlab.commands.runs.finding import find_trained
from attnlab.errors import RequestError
from attnlab.tasks.classification.either import has_images, is_named_as_image
from attnlab.tasks.classification.kind import KIND
from attnlab.text.reading import check_utf8, input_lines, read_text
from attnlab.text.unknown import unknown_column

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

_TOGETHER = 256  # items that are classified at a time
_MOST_DRAWN = 16  # images of a figure


@click.command("classify")
@run_argument
@click.argument("texts", metavar="[TEXT | FILE.png]...", nargs=-1)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file that is one text, or an image; may be repeated.",
)
@epoch_options
@click.option("--scores", is_flag=True, help="Print the probability of the class before it.")
@form_options("text", "json")
@click.option(
    "--attention",
    "figure",
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw which words a text is judged by, for one text, or where a run of images looked.",
)
@runs_option
def command(
    run: str,
    texts: tuple[str, ...],
    files: tuple[Path, ...],
    epoch: str | None,
    average: int | None,
    scores: bool,
    form: str,
    figure: Path | None,
    runs: str | None,
) -> None:
    """Say the class of TEXTs, of files, or of standard input line by line, by a trained RUN.

    A run of images takes image files, such as PNG or JPEG, of any size, grey, in colour or
    transparent.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints a class a
    line; with --scores its probability first, with a tab between, and last the words that the model
    doesn't know, if there are any; with --json an object a line, whose `classes` are the classes
    with their numbers of training items.
    """
    pictures = any(is_named_as_image(str(each)) for each in [*texts, *files])
    folder = find_trained(
        run, runs, KIND, epoch, average, prefers=lambda task: has_images(task) == pictures
    )
    images = has_images(folder.read_config()["task"]["name"])
    given = (
        [*map(Path, texts), *files]
        if images
        else [*texts, *(read_text(path, "--file") for path in files)]
    )
    (_check_images if images else _check_texts)(given, figure)
    for name in () if images else filter(isfile, texts):
        click.echo(f"attnlab: warning: {name} is read as words; --file {name} reads it", err=True)
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average)
    task: Any = trained.task
    noun, told, is_told = "image" if images else "text", set[str](), False
    for some in _chunks(given or input_lines()):
        # A blank line of standard input stays one, so that lines go with lines.
        asked = list(map(task.read, some)) if images else [each for each in some if each.strip()]
        if not images:
            unknown = chain.from_iterable(map(task.unknown, some))
            warn_unknown(unknown, told, task.tokenizer.words)
            cut = next((text for text in some if task.is_longer(text, task.length)), None)
            if cut is not None and not is_told:
                warn_cut("text", task.length, cut)
                is_told = True
        found = iter(task.shares(trained.model, asked) if asked else ())
        for item in some:
            shares = next(found) if images or item.strip() else None
            unknown = [] if images else task.unknown(item)
            write = _as_json if form == "json" else partial(_as_text, scores)
            click.echo(write(task.class_counts, noun, str(item), shares, unknown))
    if figure:
        drawn = (_image_maps if images else _words)(trained, given)
        save_figure(drawn, figure, "--attention")


def _check_texts(given: Sequence[str], figure: Path | None) -> None:
    for number, text in enumerate(given, 1):
        check_utf8(text, f"TEXT {number}")
        if not text.strip():
            raise RequestError(f"TEXT {number}: expected words, got an empty text.")
    check_figure(figure, "--attention")
    if figure and len(given) != 1:
        raise RequestError(f"--attention: expected one text, got {len(given)}.")


def _check_images(given: Sequence[Path], figure: Path | None) -> None:
    if not given:
        raise RequestError("FILE.png: expected image files for a run of images, got none.")
    for number, path in enumerate(given, 1):
        check_utf8(str(path), f"FILE.png {number}")
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no such file"
            raise RequestError(f"FILE.png: expected an image file, got {path}, {what}.")
    check_figure(figure, "--attention")
    if figure and len(given) > _MOST_DRAWN:
        raise RequestError(f"--attention: expected at most {_MOST_DRAWN} images, got {len(given)}.")


def _chunks(items: Any) -> Iterator[list[Any]]:
    items = iter(items)
    while some := list(islice(items, _TOGETHER)):
        yield some


def _as_text(
    scores: bool,
    counts: Mapping[str, int],
    _: str,
    item: str,
    shares: np.ndarray | None,
    unknown: Sequence[str],
) -> str:
    """The class of an item; nothing for a blank line."""
    if shares is None:
        return ""
    best = int(shares.argmax())
    name = [*counts][best]
    return f"{shares[best]:.4f}\t{name}{unknown_column(unknown)}" if scores else name


def _as_json(
    counts: Mapping[str, int],
    noun: str,
    item: str,
    shares: np.ndarray | None,
    unknown: Sequence[str],
) -> str:
    """The class and the probabilities of an item; none for a blank line."""
    if shares is None:
        return json.dumps({noun: item, "class": None, "probabilities": {}})
    found = {name: round(float(each), 6) for name, each in zip(counts, shares, strict=True)}
    content = {noun: item, "class": [*counts][int(shares.argmax())], "probabilities": found}
    content["classes"] = dict(counts)  # of what it was trained on
    if noun == "text":
        content["unknown"] = [*dict.fromkeys(unknown)]
    return json.dumps(content, ensure_ascii=False)


def _words(trained: Any, given: Sequence[str]) -> Figure:
    """Which words a text is judged by."""
    from attnlab.tasks.classification.figures.words import words_figure

    task = trained.task
    tokens = task.tokens(given)
    weights = trained.model.attend(tokens)
    if weights is None:
        raise RequestError("--attention: expected a model with attention, got attention=none.")
    kept = {
        "weights": weights.numpy(),
        "tokens": task.words(tokens),
        "prediction": task.serve(trained.model, given),
    }
    return words_figure(kept, trained.config.names)


def _image_maps(trained: Any, given: Sequence[Path]) -> Figure:
    """Where a model looks on images."""
    import numpy as np

    from attnlab.tasks.classification.figures.image_maps import image_maps_figure

    pixels = np.stack(list(map(trained.task.read, given)))
    kept = {
        "weights": trained.model.attend(pixels).numpy(),
        "pixels": pixels,
        "prediction": trained.task.serve(trained.model, pixels),
    }
    return image_maps_figure(kept, trained.config.names)
