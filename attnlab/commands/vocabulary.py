"""`attnlab vocabulary RUN`: which words a run knows, and how it splits words into tokens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnlab.commands import options
from attnlab.errors import RequestError
from attnlab.text.cleaning import normalize
from attnlab.text.vocabulary import nearest

if TYPE_CHECKING:
    from attnlab.text.tokenizers import Tokenizer

_LISTED = 20  # most frequent tokens
_FILES = "tokenizer.json"  # how the names of tokenizers among a run's assets end


@click.command("vocabulary")
@options.run_argument
@click.argument("words", metavar="[WORD]...", nargs=-1)
@options.runs_option
def command(run: str, words: tuple[str, ...], runs: str | None) -> None:
    """Print how large the vocabulary of RUN is, or whether it has each WORD.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    Without WORD, prints one line per vocabulary (a translation has one per language): its size and
    most frequent tokens. With WORDs, prints one line per word: `known`, `unknown` with the nearest
    known words, or the tokens into which it is split. Upper and lower case may matter.
    """
    folder = options.find(
        run, runs, "a run that reads texts", lambda entry: bool(_files(entry.run.assets))
    )
    files = _files(folder.assets)
    if not files:
        raise RequestError(f"RUN: {run} has no vocabulary, because it reads no texts.")
    from attnlab.text.tokenizers import Tokenizer

    for path in files:
        side, tokenizer = path.name.removesuffix(_FILES).rstrip("_"), Tokenizer.load(path)
        pieces = ", ".join(tokenizer.pieces(tokenizer.most_frequent(_LISTED)))
        summary = f"{tokenizer.size:,} entries, tokenizer {tokenizer.kind}; most frequent: {pieces}"
        for text in [_word(tokenizer, word) for word in words] or [summary]:
            click.echo(f"{side}\t{text}" if side else text)


def _files(assets: Path) -> list[Path]:
    return sorted(assets.glob(f"*{_FILES}"))


def _word(tokenizer: Tokenizer, word: str) -> str:
    text = normalize(word)
    if tokenizer.unknown(text):
        near = ", ".join(nearest(text, tokenizer.words))
        return f"{word}\tunknown; nearest: {near}" if near else f"{word}\tunknown"
    pieces = tokenizer.pieces(tokenizer.encode([text])[0])
    tokens = f" as {len(pieces)} tokens: {' '.join(pieces)}" if len(pieces) > 1 else ""
    return f"{word}\tknown{tokens}"
