"""`attnlab summarize FILE`: extract the most important sentences of a text; needs no run."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.text.reading import read_text


@click.command("summarize", context_settings={"show_default": True})
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--sentences", default=3, type=click.IntRange(min=1), help="Number of sentences.")
@click.option(
    "--language", default="en", help="Code of the text's language, for splitting into sentences."
)
@click.option(
    "--encoder",
    metavar="RUN|PRESET",
    help="Compare sentences by the encoder of a run or keras-hub preset (folder or handle).",
)
@options.runs_option
def command(
    path: Path, sentences: int, language: str, encoder: str | None, runs: str | None
) -> None:
    """Extract the most important sentences of a text: those nearest to the centres of k-means.

    FILE is UTF-8; - is standard input. Prints one sentence per line, in the order of the text.
    """
    text, vectors = read_text(path, "FILE"), None
    from attnlab.text.summary import summary

    if encoder:
        from attnlab.encoders.opening import open_source, vectors_by
        from attnlab.internals import import_tensorflow

        try:
            # A preset's handle has "_" or "://", which the id of a run has not.
            if not os.path.isdir(encoder) and "_" not in encoder and "://" not in encoder:
                reads = "masked_words".__eq__
                encoder = str(options.find_trained(encoder, runs, "best", reads=reads).path)
            import_tensorflow()
            vectors = vectors_by(
                open_source(encoder), lambda text: click.echo(f"attnlab: warning: {text}", err=True)
            )
        except RequestError as error:
            text = re.sub("^(RUN|model.path):", "--encoder:", str(error))
            raise RequestError(text) from error
    chosen = summary(text, sentences, language=language, encoder=vectors)
    click.echo("\n".join(" ".join(sentence.text.split()) for sentence in chosen))
