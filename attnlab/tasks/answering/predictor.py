"""The predictions of a trained reader: the command `attnlab answer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Inputs, Request, Setting, TextPredictor
from attnlab.text.reading import read_text
from attnlab.text.unknown import cut_warning

if TYPE_CHECKING:
    from attnlab.tasks.answering.spans import PredictedAnswer
    from attnlab.views.records import Figure

    Answered = tuple[str, list[PredictedAnswer]]  # a question, and the best answer first

_NO_ANSWER = "(no answer)"


class AnswerPredictor(TextPredictor):
    """Answer QUESTIONs about a text, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one answer
    per line, the best one first: its probability, its START-END in the text, and the answer, with
    tabs between the columns. START is the position of its first character, counted from 0; END is
    the position after its last one. With several questions, the question is the first column.
    --json prints one object per line.
    """

    takes = Inputs("QUESTION", "QUESTION...", required=True)
    settings = (
        Setting(
            "text",
            "The file of the text, UTF-8; - is standard input.",
            Path,
            metavar="FILE",
            required=True,
        ),
        Setting("best", "Answers per question.", (1, 1000), default=1),
    )
    figure = Setting(
        "attention", "Draw the attention of the text's words on the words of one question."
    )
    noun = "question"

    def __init__(self, request: Request, *, text: Path, best: int) -> None:
        super().__init__(request)
        self._text, self._best = read_text(text, "--text"), best

    def check(self, text: str, where: str) -> None:
        """Refuse an empty question."""
        if not text.strip():
            raise RequestError(f"{where}: expected words, got none.")

    def predict(self, inputs: Sequence[str]) -> Iterator[Answered]:
        """Yield each question with its best answers."""
        self.warn_unknown([*inputs, self._text])
        most = self.task.question_places - 1
        for question in inputs:
            if self.task.is_longer(question, most):
                self.request.report(f"warning: {cut_warning(self.noun, most, question)}")
            yield question, self.task.answer(self.model, question, self._text, self._best)

    def lines(self, result: Answered) -> Iterator[str]:
        """Return a line per answer."""
        question, answers = result
        named = [question] * (len(self.inputs) > 1)
        for each in answers:
            place = "-" if each.start is None else f"{each.start}-{each.end}"
            answer = " ".join(each.text.split()) or _NO_ANSWER
            yield "\t".join([*named, f"{each.probability:.4f}", place, answer])

    def content(self, result: Answered) -> dict[str, Any]:
        """Return the answers with their places and probabilities."""
        question, answers = result
        unknown = [*self.task.unknown(question), *self.task.unknown(self._text)]
        return {
            "question": question,
            "answers": [
                {
                    "text": each.text,
                    "start": each.start,
                    "end": each.end,
                    "probability": round(each.probability, 6),
                }
                for each in answers
            ],
            "unknown": [*dict.fromkeys(unknown)],
        }

    def draw(self, results: Sequence[Answered], **settings: Any) -> Figure:
        """Draw the attention of the text's words on the words of the question."""
        from attnlab.tasks.answering.shown import attention_figure

        ((question, _),) = results
        kept = self.task.looked(self.model, question, self._text)
        if kept is None:
            return None
        return attention_figure(kept, self.trained.config.names)
