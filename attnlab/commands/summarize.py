"""`attnlab summarize FILE`: extract the most important sentences of a text; needs no run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.text.cleaning import normalized
from attnlab.text.reading import read_text
from attnlab.text.vocabulary import cut_warning, unknown_warning

if TYPE_CHECKING:
    from attnlab.text.summary import Encoder


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
@options.json_option
@options.runs_option
def command(
    path: Path, sentences: int, language: str, encoder: str | None, as_json: bool, runs: str | None
) -> None:
    """Extract the most important sentences of a text: those nearest to the centres of k-means.

    FILE is UTF-8; - is standard input. A sentence's vector is made by TF-IDF and truncated SVD, or
    by an encoder: that of a RUN, or that of a PRESET given by its folder or handle. Prints one
    sentence per line, in the order of the text; --json also has distances to the centres.
    """
    text = read_text(path, "FILE")
    from attnlab.text.summary import summary

    vectors = _encoder(encoder, runs) if encoder else None
    chosen = summary(text, sentences, language=language, encoder=vectors)
    if as_json:
        content = [{**s._asdict(), "distance": round(s.distance, 6)} for s in chosen]
        return click.echo(json.dumps({"sentences": content}, ensure_ascii=False, indent=2))
    return click.echo("\n".join(" ".join(sentence.text.split()) for sentence in chosen))


def _encoder(name: str, runs: str | None) -> Encoder:
    """Return the encoder of a run, at its best epoch, or of a preset given by folder or handle."""
    from attnlab.encoders.opening import open_source, vectors_by
    from attnlab.training.tensorflow_internals import import_tensorflow

    path = Path(name).expanduser()
    is_preset = "_" in name or "://" in name
    if os.path.isdir(path):  # unlike `Path.is_dir`, it accepts very long names
        is_preset = not (path / "status.json").is_file()
    try:
        if not is_preset:
            reads = "masked_words".__eq__
            name = str(options.find_trained(name, runs, None, "best", reads=reads).path)
        import_tensorflow()
        source = open_source(name)
        vectors = vectors_by(source)
    except RequestError as error:
        text = str(error).replace("RUN:", "--encoder:", 1).replace("model.path:", "--encoder:", 1)
        raise RequestError(text) from error

    def encode(sentences: Sequence[str]) -> Any:
        """Make vectors; warns about unknown words and cut sentences."""
        texts, most = [normalized(sentence) for sentence in sentences], source.max_length - 2
        words = [word for text in texts for word in source.tokenizer.unknown(text)]
        lengths = map(len, source.tokenizer.encode(texts))
        cut = [text for text, length in zip(texts, lengths, strict=True) if length > most]
        for warning in (
            unknown_warning(words, set()),
            cut_warning("sentence", most, cut[0]) if cut else None,
        ):
            if warning:
                click.echo(f"attnlab: warning: {warning}", err=True)
        return vectors(sentences)

    return encode
