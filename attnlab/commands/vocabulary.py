"""`attnlab vocabulary RUN`: which words a run knows, and how it cuts others."""

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

_FILES = "tokenizer.json"  # the end of a tokenizer's name among the assets of a run


@click.command("vocabulary")
@run_argument
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(min=0),
    help="How many of the most frequent tokens to list.",
)
@form_options("text", "json")
@runs_option
def command(run: str, words: tuple[str, ...], limit: int, form: str, runs: str | None) -> None:
    """Say how large RUN's vocabulary is, or which WORDs it has.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints a line for
    each vocabulary (a translation has one for each language): its entries and most frequent tokens.
    With WORDs a line for each: `known`, `unknown` with the nearest known words, or the pieces into
    which it is cut. A word written with a capital may be another one. With --json an object a line.
    """
    reading = Usable("a run that reads texts", lambda entry: bool(_paths(entry.run.assets)))
    found = _tokenizers(find(run, runs, reading).assets)
    if not found:
        raise RequestError(f"RUN: expected a run that reads texts, but {run} has no vocabulary.")
    for side, tokenizer in found.items():
        entries = (
            [_word(tokenizer, word) for word in words] if words else [_summary(tokenizer, limit)]
        )
        for entry in entries:
            click.echo(_as_json(side, entry) if form == "json" else _as_text(side, entry))


def _tokenizers(assets: Path) -> dict[str, Tokenizer]:
    """The tokenizers among a run's assets; `source` and `target` for a translation, else ``."""
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
