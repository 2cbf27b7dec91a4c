"""`attnlab summarize FILE`: the sentences of a text that say most of it; needs no run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.finding import find_trained, kind_of_run
from attnlab.commands.options import form_options, runs_option
from attnlab.errors import RequestError
from attnlab.tasks.kinds import kinds, known_kind
from attnlab.text.reading import read_text
from attnlab.text.unknown import cut_warning, unknown_warning

if TYPE_CHECKING:
    from attnlab.text.summary import Chosen, Encoder


@click.command("summarize", context_settings={"show_default": True})
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--sentences", default=3, type=click.IntRange(min=1), help="How many to choose.")
@click.option("--language", default="en", help="Code of the text's language, to find sentences.")
@click.option(
    "--encoder",
    metavar="RUN|PRESET",
    help="A run, a preset of keras-hub or a checkpoint of Transformers, whose encoder makes the "
    "vectors, in place of TF-IDF.",
)
@click.option("--epoch", default="best", help="Of the encoder: a number, best or last.")
@click.option(
    "--scores", is_flag=True, help="Print each sentence's distance to its centre before it."
)
@form_options("text", "json")
@runs_option
def command(
    path: Path,
    sentences: int,
    language: str,
    encoder: str | None,
    epoch: str,
    scores: bool,
    form: str,
    runs: str | None,
) -> None:
    """Choose the sentences of a text that say most of it: those nearest to the centres of k-means.

    FILE is UTF-8; - is standard input. The vectors of sentences are TF-IDF and truncated SVD, or
    those of an encoder: a run's, or a preset's, by its folder or handle. Prints a sentence a line,
    in their order of the text.
    """
    text = read_text(path, "FILE")
    from attnlab.text.summary import summary

    if not encoder and epoch != "best":
        raise RequestError(f"--epoch: expected together with --encoder, got {epoch!r}.")
    vectors = _encoder(encoder, epoch, runs) if encoder else None
    found = summary(text, sentences, language=language, encoder=vectors)
    click.echo(_as_json(found) if form == "json" else _as_text(found, scores))


def _encoder(given: str, epoch: str, runs: str | None) -> Encoder:
    """The vectors of a run or a preset; raises `RequestError` where it can't make any."""
    path = Path(given).expanduser()
    # `os.path` has no error of a name that is too long.
    if "://" in given or (os.path.isdir(path) and not (path / "status.json").is_file()):
        return _of_preset(given, epoch)
    try:
        folder = find_trained(given, runs, None, epoch, prefers=_encodes)
    except RequestError as error:
        from attnlab.encoders.hub_preset import is_handle

        if is_handle(given):
            return _of_preset(given, epoch)
        raise RequestError(str(error).replace("RUN:", "--encoder:", 1)) from error
    if not kind_of_run(folder).predictions.vectors:
        names = " or ".join(kind.name for kind in kinds() if kind.predictions.vectors)
        raise RequestError(
            f"--encoder: expected a run of {names}, got {folder.path}, which is of "
            f"{kind_of_run(folder).name}."
        )
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    return partial(_vectors, trained.task, trained.model)


def _encodes(task: str) -> bool:
    kind = known_kind(task)
    return kind is not None and kind.predictions.vectors


def _of_preset(given: str, epoch: str) -> Encoder:
    """Those of a preset's folder or handle."""
    if epoch != "best":
        raise RequestError(f"--epoch: expected a run as --encoder, got {given}, a preset.")
    from attnlab.run.building import import_tensorflow

    import_tensorflow()
    from attnlab.encoders.opening import open_source
    from attnlab.encoders.vectors import vectors_by

    try:
        return vectors_by(open_source(given))
    except RequestError as error:
        raise RequestError(str(error).replace("model.path:", "--encoder:", 1)) from error


def _vectors(task: Any, model: Any, sentences: Sequence[str]) -> Any:
    """A run's vectors of sentences; warns about what the run doesn't read of them."""
    most = task.places_read(model)
    cut = [sentence for sentence in sentences if task.is_longer(sentence, most)]
    unknown = unknown_warning(chain.from_iterable(map(task.unknown, sentences)), set())
    for warning in (unknown, cut_warning("sentence", most, cut[0]) if cut else None):
        if warning:
            click.echo(f"attnlab: warning: {warning}", err=True)
    return task.vectors(model, sentences)


def _as_text(found: list[Chosen], scores: bool) -> str:
    lines = (" ".join(each.text.split()) for each in found)
    pairs = zip(found, lines, strict=True)
    return "\n".join(f"{each.distance:.4f}\t{line}" if scores else line for each, line in pairs)


def _as_json(found: list[Chosen]) -> str:
    content = [{**each._asdict(), "distance": round(each.distance, 6)} for each in found]
    return json.dumps({"sentences": content}, ensure_ascii=False, indent=2)
