"""`attnlab answer RUN --text FILE "QUESTION"`: answers out of a text, with their places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnlab.commands.options import (
    check_figure,
    epoch_options,
    form_options,
    run_argument,
    runs_option,
    save_figure,
    warn_cut,
    warn_unknown,
)
from attnlab.commands.runs.finding import find_trained
from attnlab.errors import RequestError
from attnlab.tasks.answering.kind import KIND
from attnlab.text.reading import check_utf8, read_text

if TYPE_CHECKING:
    from attnlab.tasks.answering.predicted import PredictedAnswer

_MOST = 1000
_NOTHING = "(no answer)"


@click.command("answer", context_settings={"show_default": True})
@run_argument
@click.argument("questions", metavar="QUESTION...", nargs=-1, required=True)
@click.option(
    "--text",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The text that has the answers, UTF-8; - is standard input.",
)
@click.option("--best", default=1, type=click.IntRange(1, _MOST), help="How many answers to each.")
@epoch_options
@form_options("text", "json")
@click.option(
    "--attention",
    "figure",
    type=click.Path(path_type=Path),
    metavar="FILE.png",
    help="Draw where the words of the text looked in the question, for one question.",
)
@runs_option
def command(
    run: str,
    questions: tuple[str, ...],
    path: Path,
    best: int,
    epoch: str | None,
    average: int | None,
    form: str,
    figure: Path | None,
    runs: str | None,
) -> None:
    """Answer QUESTIONs out of a text, by a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints a line for
    each answer, the best one first: its probability, the characters of the text where it stands
    (from the first to before the last number, from 0), and the answer, with tabs between; of
    several questions the question before them. With --json an object a line.
    """
    folder = find_trained(run, runs, KIND, epoch, average)
    _check(questions, figure)
    text = read_text(path, "--text")
    from attnlab.run.loading import TrainedRun

    trained = TrainedRun.load(folder, epoch, average)
    task: Any = trained.task
    of_text = task.unknown(text)
    unknown = chain(*map(task.unknown, questions), of_text)
    warn_unknown(unknown, set(), task.tokenizer.words)
    for question in questions:
        if task.is_longer(question, task.question_places - 1):
            warn_cut("question", task.question_places - 1, question)
        found = task.answer(trained.model, question, text, best)
        if form == "json":
            unknown = dict.fromkeys([*task.unknown(question), *of_text])
            click.echo(_as_json(question, found, [*unknown]))
        else:
            click.echo(_as_text(question, found, len(questions) > 1))
    if figure:
        _draw(trained, questions[0], text, figure)


def _check(questions: Sequence[str], figure: Path | None) -> None:
    for number, question in enumerate(questions, 1):
        check_utf8(question, f"QUESTION {number}")
        if not question.strip():
            raise RequestError(f"QUESTION {number}: expected words, got an empty one.")
    check_figure(figure, "--attention")
    if figure and len(questions) != 1:
        raise RequestError(f"--attention: expected one question, got {len(questions)}.")


def _as_text(question: str, found: Sequence[PredictedAnswer], named: bool) -> str:
    lines = []
    for each in found:
        place = "-" if each.start is None else f"{each.start}-{each.end}"
        answer = " ".join(each.text.split()) or _NOTHING
        cells = [f"{each.probability:.4f}", place, answer]
        lines.append("\t".join([question] * named + cells))
    return "\n".join(lines)


def _as_json(question: str, found: Sequence[PredictedAnswer], unknown: Sequence[str]) -> str:
    answers = [
        {
            "text": each.text,
            "start": each.start,
            "end": each.end,
            "probability": round(each.probability, 6),
        }
        for each in found
    ]
    content = {"question": question, "answers": answers, "unknown": list(unknown)}
    return json.dumps(content, ensure_ascii=False)


def _draw(trained: Any, question: str, text: str, path: Path) -> None:
    from attnlab.tasks.answering.figures.looks import looks_figure

    kept = trained.task.looked(trained.model, question, text)
    if kept is None:
        raise RequestError("--attention: expected a model with attention, got attention=none.")
    save_figure(looks_figure(kept, trained.config.names), path, "--attention")
