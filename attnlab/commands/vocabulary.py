"""`attnlab vocabulary RUN`: which words a run knows, and how it splits words into tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.finding import Usable, find
from attnlab.commands.options import form_options, run_argument, runs_option
from attnlab.errors import RequestError
from attnlab.text.cleaning import normalized
from attnlab.text.unknown import nearest

if TYPE_CHECKING:
    from attnlab.text.tokenizers import Tokenizer

_FILES = "tokenizer.json"  # how the names of tokenizers among a run's assets end


@click.command("vocabulary")
@run_argument
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(min=0),
    help="Number of most frequent tokens to list.",
)
@form_options("text", "json")
@runs_option
def command(run: str, words: tuple[str, ...], limit: int, form: str, runs: str | None) -> None:
    """Print how large the vocabulary of RUN is, or whether it has each WORD.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.

    Without WORD, prints one line per vocabulary (a translation has one per language): its size and
    most frequent tokens. With WORDs, prints one line per word: `known`, `unknown` with the nearest
    known words, or the tokens into which it is split. Upper and lower case may matter. --json
    prints one object per line.
    """
    reading = Usable("a run that reads texts", lambda entry: bool(_paths(entry.run.assets)))
    found = _tokenizers(find(run, runs, reading).assets)
    if not found:
        raise RequestError(f"RUN: {run} has no vocabulary, because it reads no texts.")
    for side, tokenizer in found.items():
        entries = (
            [_word(tokenizer, word) for word in words] if words else [_summary(tokenizer, limit)]
        )
        for entry in entries:
            click.echo(_as_json(side, entry) if form == "json" else _as_text(side, entry))


def _tokenizers(assets: Path) -> dict[str, Tokenizer]:
    """Load the tokenizers of a run: for a translation `source` and `target`, else one named ``."""
    from attnlab.text.tokenizers import Tokenizer

    return {
        path.name.removesuffix(_FILES).rstrip("_"): Tokenizer.load(path) for path in _paths(assets)
    }


def _paths(assets: Path) -> list[Path]:
    return sorted(assets.glob(f"*{_FILES}"))


def _summary(tokenizer: Tokenizer, limit: int) -> dict[str, Any]:
    frequent = tokenizer.pieces(tokenizer.most_frequent(limit))
    return {"tokenizer": tokenizer.kind, "entries": tokenizer.size, "most_frequent": frequent}


def _word(tokenizer: Tokenizer, word: str) -> dict[str, Any]:
    text = normalized(word)
    if tokenizer.unknown(text):
        return {"word": word, "known": False, "nearest": nearest(text, tokenizer.words)}
    return {"word": word, "known": True, "pieces": tokenizer.pieces(tokenizer.encode([text])[0])}


def _as_json(side: str, entry: dict[str, Any]) -> str:
    return json.dumps({**({"side": side} if side else {}), **entry}, ensure_ascii=False)


def _as_text(side: str, entry: dict[str, Any]) -> str:
    cells = [side] if side else []
    if "word" not in entry:
        named = ", ".join(entry["most_frequent"])
        about = f"{entry['entries']:,} entries, tokenizer {entry['tokenizer']}"
        return "\t".join([*cells, f"{about}; most frequent: {named}" if named else about])
    if not entry["known"]:
        near = ", ".join(entry["nearest"])
        state = f"unknown; nearest: {near}" if near else "unknown"
    elif len(entry["pieces"]) == 1:
        state = "known"
    else:
        state = f"known as {len(entry['pieces'])} tokens: {' '.join(entry['pieces'])}"
    return "\t".join([*cells, entry["word"], state])
