"""The predictions of a trained reader: the command `attnlab answer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError
from attnlab.tasks.predictor import Explored, Inputs, Predictor, Request, Setting
from attnlab.text.reading import read_text

if TYPE_CHECKING:
    from attnlab.views.records import Figure


class AnswerPredictor(Predictor):
    """Answer QUESTIONs about a text, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one answer
    per line: its probability, its START-END in the text, and the answer, with tabs between the
    columns. START is the position of its first character, counted from 0; END is the position after
    its last one. With several questions, the question is the first column. --json prints one object
    per line.
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
    )
    figure = Setting(
        "attention", "Draw the attention of the text's words on the words of one question."
    )
    noun = "question"
    fields = {"question": "text", "text": "text"}

    def __init__(self, request: Request, *, text: Path | None) -> None:
        super().__init__(request)
        self._text = read_text(text, "--text") if text else ""

    def check(self, text: str, where: str) -> None:
        """Refuse an empty question."""
        if not text.strip():
            raise RequestError(f"{where}: expected words, got none.")

    def predict(self, inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield each question with its answer."""
        self.warn([self._text])
        self.warn(inputs, self.task.question_places - 1)
        for question in inputs:
            answer = self.task.answer(self.model, question, self._text)
            yield {
                "question": question,
                "answer": answer.text,
                "start": answer.start,
                "end": answer.end,
                "probability": round(answer.probability, 6),
                "unknown": self.unknown(question, self._text),
            }

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return the answer, and the first window of the text that has it; see `Predictor`."""
        from attnlab.tasks.answering.corpora import Question, RightAnswer

        question, self._text = entries["question"], entries["text"]
        (result,) = self.predict([question])
        start, text = result["start"], result["answer"]
        answers = () if start is None else (RightAnswer(start, text),)
        rows = self.task.part_of([Question("", question, self._text, answers)]).rows
        best = int((rows.targets[:, 0] > 0).argmax())
        inputs, first = rows.tokens[best : best + 1], 1 + self.task.question_places
        (labels,) = self.task.words(inputs).tolist()
        places, words = ["(no answer)", *labels[first:]], [label for label in labels if label]
        return Explored(
            text or places[0],
            inputs,
            rows.targets[best : best + 1],
            lambda numbers: [places[number] for number in numbers],
            {
                "text": [labels[0], *labels[first:]],
                "question": labels[1:first],
                "question and text": labels,
                # of pretrained encoders
                "both and end": [*words, "<end>", *[""] * (len(labels) - len(words))],
            },
        )

    def lines(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Return a line: probability, place and answer."""
        question = [result["question"]] * (len(self.inputs) > 1)
        place = "-" if result["start"] is None else f"{result['start']}-{result['end']}"
        text = " ".join(result["answer"].split()) or "(no answer)"
        yield "\t".join([*question, f"{result['probability']:.4f}", place, text])

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw the attention of the text's words on the words of the question."""
        from attnlab.tasks.answering.shown import attention_figure

        attention = self.task.attention_on(self.model, results[0]["question"], self._text)
        return attention and attention_figure(attention, self.trained.config.names)
