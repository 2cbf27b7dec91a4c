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

from attnlab.commands.finding import find_trained
from attnlab.commands.options import form_options, runs_option
from attnlab.errors import RequestError
from attnlab.text.cleaning import normalized
from attnlab.text.reading import read_text
from attnlab.text.unknown import cut_warning, unknown_warning

if TYPE_CHECKING:
    from attnlab.encoders.opening import Source
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
    help="Make the vectors with the encoder of a run or of a keras-hub preset, instead of TF-IDF.",
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

    vectors = _encoder(encoder, runs) if encoder else None
    found = summary(text, sentences, language=language, encoder=vectors)
    click.echo(_as_json(found) if form == "json" else _as_text(found, scores))


def _encoder(given: str, runs: str | None) -> Encoder:
    """Return the encoder of a run, at its best epoch, or of a preset given by folder or handle."""
    path = Path(given).expanduser()
    if os.path.isdir(path):  # unlike `Path.is_dir`, it accepts very long names
        is_preset = not (path / "status.json").is_file()
    else:
        is_preset = "_" in given or "://" in given
    if not is_preset:
        try:
            given = str(find_trained(given, runs, None, "best", prefers=_encodes).path)
        except RequestError as error:
            raise RequestError(str(error).replace("RUN:", "--encoder:", 1)) from error
    from attnlab.runner.building import import_tensorflow

    import_tensorflow()
    from attnlab.encoders.opening import open_source
    from attnlab.encoders.vectors import vectors_by

    try:
        source = open_source(given)
        return partial(_vectors, source, vectors_by(source))
    except RequestError as error:
        raise RequestError(str(error).replace("model.path:", "--encoder:", 1)) from error


def _vectors(source: Source, vectors: Encoder, sentences: Sequence[str]) -> Any:
    """Make vectors of sentences; warns about unknown words and cut sentences."""
    texts, most = [*map(normalized, sentences)], source.max_length - 2
    unknown = unknown_warning(chain.from_iterable(map(source.tokenizer.unknown, texts)), set())
    lengths = map(len, source.tokenizer.encode(texts))
    cut = [text for text, length in zip(texts, lengths, strict=True) if length > most]
    for warning in (unknown, cut_warning("sentence", most, cut[0]) if cut else None):
        if warning:
            click.echo(f"attnlab: warning: {warning}", err=True)
    return vectors(sentences)


def _encodes(task: str) -> bool:
    return task == "masked_words"


def _as_text(found: list[Chosen], scores: bool) -> str:
    lines = (" ".join(each.text.split()) for each in found)
    pairs = zip(found, lines, strict=True)
    return "\n".join(f"{each.distance:.4f}\t{line}" if scores else line for each, line in pairs)


def _as_json(found: list[Chosen]) -> str:
    content = [{**each._asdict(), "distance": round(each.distance, 6)} for each in found]
    return json.dumps({"sentences": content}, ensure_ascii=False, indent=2)
