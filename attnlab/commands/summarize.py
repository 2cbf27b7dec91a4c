"""`attnlab summarize FILE`: extract the most important sentences of a text; needs no run."""

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
@click.option("--sentences", default=3, type=click.IntRange(min=1), help="Number of sentences.")
@click.option(
    "--language", default="en", help="Code of the text's language, for splitting into sentences."
)
@click.option(
    "--encoder",
    metavar="RUN|PRESET",
    help="Make the vectors with the encoder of a run, of a keras-hub preset or of a Transformers "
    "checkpoint, instead of TF-IDF.",
)
@click.option(
    "--epoch",
    default="best",
    help="Weights of an encoder's run: an epoch's number, best or last.",
)
@click.option(
    "--scores", is_flag=True, help="Print before each sentence its distance to its centre."
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
    """Extract the most important sentences of a text: those nearest to the centres of k-means.

    FILE is UTF-8; - is standard input. A sentence's vector is made by TF-IDF and truncated SVD, or
    by an encoder: that of a RUN, or that of a PRESET given by its folder or handle. Prints one
    sentence per line, in the order of the text.
    """
    text = read_text(path, "FILE")
    from attnlab.text.summary import summary

    if not encoder and epoch != "best":
        raise RequestError("--epoch: needs --encoder.")
    vectors = _encoder(encoder, epoch, runs) if encoder else None
    found = summary(text, sentences, language=language, encoder=vectors)
    click.echo(_as_json(found) if form == "json" else _as_text(found, scores))


def _encoder(given: str, epoch: str, runs: str | None) -> Encoder:
    """Return the encoder of a run or a preset; raises `RequestError` if it makes no vectors."""
    path = Path(given).expanduser()
    # Unlike `Path.is_dir`, `os.path.isdir` accepts very long names.
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
            f"--encoder: expected a run of {names}, but {folder.path} is one of "
            f"{kind_of_run(folder).name}."
        )
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch)
    return partial(_vectors, trained.task, trained.model)


def _encodes(task: str) -> bool:
    kind = known_kind(task)
    return kind is not None and kind.predictions.vectors


def _of_preset(given: str, epoch: str) -> Encoder:
    """Return the encoder of a preset, given by its folder or handle."""
    if epoch != "best":
        raise RequestError(f"--epoch: needs a run as --encoder, but {given} is a preset.")
    from attnlab.run.building import import_tensorflow

    import_tensorflow()
    from attnlab.encoders.opening import open_source
    from attnlab.encoders.vectors import vectors_by

    try:
        return vectors_by(open_source(given))
    except RequestError as error:
        raise RequestError(str(error).replace("model.path:", "--encoder:", 1)) from error


def _vectors(task: Any, model: Any, sentences: Sequence[str]) -> Any:
    """Make vectors of sentences with a run's model; warns about unknown words and cut sentences."""
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
