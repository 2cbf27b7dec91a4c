"""`attnlab fill RUN`: words for the masks of texts from arguments, files or standard input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import (
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    warn_cut,
    warn_unknown,
)
from attnlab.commands.runs.finding import find_trained
from attnlab.tasks.masked_words.kind import KIND
from attnlab.text.reading import check_utf8, input_lines, read_text

if TYPE_CHECKING:
    from attnlab.tasks.masked_words.filling import Guess

_MOST = 1000


@click.command("fill")
@run_argument
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file that is one text; may be repeated.",
)
@click.option(
    "--top",
    type=click.IntRange(1, _MOST),
    metavar="K",
    help="Print the K best words for each mask instead of the text.",
)
@epoch_options
@form_options("text", "json")
@runs_option
def command(
    run: str,
    texts: tuple[str, ...],
    files: tuple[Path, ...],
    top: int | None,
    epoch: str | None,
    average: int | None,
    form: str,
    runs: str | None,
) -> None:
    """Fill in each [MASK] of TEXTs, of files, or of standard input line by line, by a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints each text
    filled in, a line each. With --top a line for each word, the best one first: the number of its
    text and that of its mask, both from 1, its probability, and the word, with tabs between. With
    --json an object a line.
    """
    folder = find_trained(run, runs, KIND, epoch, average)
    from attnlab.tasks.masked_words.filling import check_text

    given = [*texts, *(read_text(path, "--file") for path in files)]
    for number, text in enumerate(given, 1):
        check_utf8(text, f"TEXT {number}")
        check_text(text, f"TEXT {number}")
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average)
    task: Any = trained.task
    told: set[str] = set()
    is_told = False
    for number, text in enumerate(given or input_lines(), 1):
        if not given and not text.strip():  # stays one, so that lines go with lines
            click.echo(
                _as_json(text, [], []) if form == "json" else "", nl=not top or form == "json"
            )
            continue
        where = f"TEXT {number}" if given else f"standard input, line {number}"
        found = task.fill(trained.model, text, top or 1, where)
        unknown = task.unknown(text)
        warn_unknown(unknown, told, task.tokenizer.words)
        if not is_told and task.is_longer(text, task.width - 2):
            warn_cut("text", task.width - 2, text)
            is_told = True
        if form == "json":
            click.echo(_as_json(text, found, unknown))
        else:
            click.echo(_as_table(number, found) if top else " ".join(_filled(text, found).split()))


def _filled(text: str, found: Sequence[Sequence[Guess]]) -> str:
    from attnlab.tasks.masked_words.filling import filled_in

    return filled_in(text, found)


def _as_table(number: int, found: Sequence[Sequence[Guess]]) -> str:
    lines = [
        f"{number}\t{mask}\t{guess.probability:.4f}\t{guess.word}"
        for mask, guesses in enumerate(found, 1)
        for guess in guesses
    ]
    return "\n".join(lines)


def _as_json(text: str, found: Sequence[Sequence[Guess]], unknown: Sequence[str]) -> str:
    masks = [
        [{"word": each.word, "probability": round(each.probability, 6)} for each in guesses]
        for guesses in found
    ]
    named = [*dict.fromkeys(unknown)]
    content = {"text": text, "filled": _filled(text, found), "masks": masks, "unknown": named}
    return json.dumps(content, ensure_ascii=False)
