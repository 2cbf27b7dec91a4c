"""`attnlab translate RUN`: sentences from arguments or standard input, a line for a line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from attnlab.commands.options import (
    check_figure,
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    save_figure,
)
from attnlab.commands.runs.finding import find_trained
from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.translation.kind import KIND
from attnlab.text.reading import check_utf8
from attnlab.text.unknown import unknown_column

if TYPE_CHECKING:
    from attnlab.run.loading import TrainedRun
    from attnlab.tasks.translation.sentences import SentenceTranslator, Translation

# Bytes that are waited for at once at most, and lines that are translated together.
_READ, _TOGETHER = 1 << 16, 1024


@click.command("translate", context_settings={"show_default": True})
@run_argument
@click.argument("sentences", metavar="[SENTENCE]...", nargs=-1)
@epoch_options
@click.option(
    "--beam",
    type=click.IntRange(1, 100),
    help="Hypotheses kept; 1 is greedy.  [default: the run's task.beam]",
)
@click.option(
    "--n-best",
    default=1,
    type=click.IntRange(1, 100),
    help="Translations of each sentence, at most --beam.",
)
@click.option("--scores", is_flag=True, help="Print each translation's score, too.")
@form_options("text", "json")
@click.option(
    "--attention",
    "figure",
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw where the model looked, for one sentence: the mean over layers and heads.",
)
@click.option("--layer", type=click.IntRange(min=1), metavar="N", help="Draw that layer.")
@click.option("--head", type=click.IntRange(min=1), metavar="N", help="Draw that head.")
@click.option("--all-heads", is_flag=True, help="Draw all by themselves, self-attention too.")
@runs_option
def command(
    run: str,
    sentences: tuple[str, ...],
    epoch: str | None,
    average: int | None,
    beam: int | None,
    n_best: int,
    scores: bool,
    form: str,
    figure: Path | None,
    runs: str | None,
    **shown: Any,
) -> None:
    """Translate SENTENCEs, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one
    translation a line, an empty line for an empty line. With --n-best above 1, a line has rank and
    translation with a tab between, with --scores score and translation, with both rank, score and
    translation. A score is the log-probability by length penalty: 0 is the best there could be.
    With --scores a last column names the words that the model doesn't know, if there are any. With
    --json an object a line.
    """
    folder = find_trained(run, runs, KIND, epoch, average)
    _check(folder, sentences, beam, n_best, figure)
    if not figure and any(shown.values()):
        raise RequestError("--layer, --head, --all-heads: expected --attention FILE.png, too.")
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average)
    task: Any = trained.task
    translator = task.translator(trained.model, beam=beam, n_best=n_best)
    translator.warn = lambda text: click.echo(f"attnlab: warning: {text}", err=True)
    draw = partial(_draw, translator, trained, figure, shown) if figure else None
    as_text = partial(_as_text, translator, n_best > 1, scores)
    written = partial(_as_json, translator) if form == "json" else as_text
    chunks = [sentences] if sentences else _standard_input()
    _run(translator, chunks, written, draw)


def _run(translator, chunks, written, draw: Callable[[Translation], None] | None) -> None:
    number = -1
    for number, lines in enumerate(chunks):
        if draw and (number or len(lines) > 1):
            raise RequestError("--attention: expected one sentence, got more on standard input.")
        translations = translator.translate(lines)
        pairs = zip(lines, translations, strict=True)
        click.echo("\n".join(written(*pair) for pair in pairs).encode())
        if draw:
            draw(translations[0][0])
    if draw and number < 0:
        raise RequestError("--attention: expected a sentence, got none on standard input.")


def _check(
    run: RunDirectory, sentences: Sequence[str], beam: int | None, n_best: int, figure: Path | None
) -> None:
    """Refuse, before TensorFlow is loaded, what can't be done."""
    kept = beam or run.read_config()["task"].get("beam", 1)
    if n_best > kept:
        raise RequestError(
            f"--n-best: expected at most the hypotheses kept, --beam={kept}, got {n_best}."
        )
    for number, sentence in enumerate(sentences, 1):
        check_utf8(sentence, f"SENTENCE {number}")
    check_figure(figure, "--attention")
    if figure and len(sentences) > 1:
        raise RequestError(f"--attention: expected one sentence, got {len(sentences)}.")


def _as_text(
    translator: SentenceTranslator,
    ranks: bool,
    scores: bool,
    line: str,
    translations: list[Translation],
) -> str:
    """A sentence's translations, a line each; one empty line for an empty sentence."""
    if len(translations[0].source) == 1:
        return ""
    unknown = unknown_column(translator.unknown(line)) if scores else ""
    return "\n".join(
        "\t".join([str(rank)] * ranks + [f"{best.score:.4f}"] * scores + [best.text]) + unknown
        for rank, best in enumerate(translations, 1)
    )


def _as_json(translator: SentenceTranslator, line: str, translations: list[Translation]) -> str:
    pieces = [translator.pieces(best) for best in translations]
    content = {
        "source": line,
        "source_tokens": pieces[0][0],
        "unknown": translator.unknown(line),
        "translations": [
            {
                "text": best.text,
                "score": _number(best.score),
                "log_probability": _number(best.log_probability),
                "tokens": tokens,
                "copied": best.copied,
            }
            for best, (_, tokens) in zip(translations, pieces, strict=True)
        ],
    }
    return json.dumps(content, ensure_ascii=False)


def _number(value: float) -> float | None:
    """JSON has no word for what is not finite, as it comes of a model that has diverged."""
    return round(value, 6) if math.isfinite(value) else None


def _draw(
    translator: SentenceTranslator,
    trained: TrainedRun,
    path: Path,
    shown: Mapping[str, Any],
    translation: Translation,
) -> None:
    from attnlab.figures.style import run_title
    from attnlab.tasks.translation.figures.maps import maps_figure

    if len(translation.source) == 1:
        raise RequestError("--attention: expected a sentence with words in it, got an empty one.")
    looked = translator.maps(translation)
    if not looked.maps:
        raise RequestError("--attention: expected a model with attention, got attention=none.")
    title = f"{run_title(trained.config.names)}: attention, epoch {trained.epoch}"
    save_figure(maps_figure(*looked, title=title, **shown), path, "--attention")


def _standard_input() -> Iterator[list[str]]:
    """Sentences as they come, as many together as are there; those before a wrong one, too."""
    if sys.stdin is None:
        raise RequestError("SENTENCE: expected a sentence, or standard input, got neither.")
    stream = cast(BufferedReader, sys.stdin.buffer)
    if stream.isatty():
        click.echo("attnlab: type a sentence and Enter; Ctrl-D ends.", err=True)
    number, wrong = 0, None
    for lines in _lines(stream):
        sentences = []
        try:
            for number, line in enumerate(lines, number + 1):  # noqa: B020
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                sentences.append(text.removesuffix("\r"))
        except UnicodeDecodeError as error:
            wrong = RequestError(
                f"standard input, line {number}: expected UTF-8, got the byte "
                f"0x{line[error.start]:02x} at place {error.start + 1}."
            )
        if sentences:
            yield sentences
        if wrong:
            raise wrong


def _lines(stream: BufferedReader) -> Iterator[list[bytes]]:
    """All complete lines that can be read without waiting, some at once, again and again."""
    begun: list[bytes] = []  # of the line that has no end yet
    while data := stream.read1(_READ):
        first, *others = data.split(b"\n")
        begun.append(first)
        if others:
            complete = [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
            for place in range(0, len(complete), _TOGETHER):
                yield complete[place : place + _TOGETHER]
    if any(begun):
        yield [b"".join(begun)]
