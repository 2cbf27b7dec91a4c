"""The predictions of a trained run of masked words: the command `attnlab fill`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.tasks.predictor import Inputs, Request, Setting, TextPredictor

if TYPE_CHECKING:
    from attnlab.tasks.language.text.masking import Guess

    # The number of a text, from 1; the text; the best words for each mask, none for a blank line.
    Filled = tuple[int, str, list[list[Guess]]]


class FillPredictor(TextPredictor):
    """Fill in each [MASK] of TEXTs, files, or standard input line by line, with a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`. Prints one filled-in
    text per line. --top prints one word per line instead, the best one first: the number of its
    text and of its mask, both from 1, its probability, and the word, with tabs between the columns.
    --json prints one object per line.
    """

    takes = Inputs("TEXT", "[TEXT]...", files="A file that is one text; may be repeated.")
    settings = (
        Setting(
            "top",
            "Print the K best words for each mask instead of the text.",
            (1, 1000),
            metavar="K",
        ),
    )

    def __init__(self, request: Request, *, top: int | None) -> None:
        super().__init__(request)
        self._top, self._done = top, 0

    def check(self, text: str, where: str) -> None:
        """Refuse a text without a mask."""
        from attnlab.tasks.language.text.masking import check_text

        check_text(text, where)

    def predict(self, inputs: Sequence[str]) -> Iterator[Filled]:
        """Yield the words for each text; a blank line stays blank, so line numbers don't change."""
        for number, text in enumerate(inputs, self._done + 1):
            self._done = number
            where = f"TEXT {number}" if self.inputs else f"standard input, line {number}"
            guesses = []
            if text.strip():
                guesses = self.task.fill(self.model, text, self._top or 1, where)
            self.warn([text], self.task.width - 2)
            yield number, text, guesses

    def lines(self, result: Filled) -> list[str]:
        """Return the filled-in text, or a line per word."""
        number, text, found = result
        if not self._top:
            return [" ".join(_filled_in(text, found).split())]
        return [
            f"{number}\t{mask}\t{guess.probability:.4f}\t{guess.word}"
            for mask, guesses in enumerate(found, 1)
            for guess in guesses
        ]

    def content(self, result: Filled) -> dict[str, Any]:
        """Return the filled-in text, and the words for each mask with their probabilities."""
        _, text, found = result
        masks = [
            [{"word": each.word, "probability": round(each.probability, 6)} for each in guesses]
            for guesses in found
        ]
        return {
            "text": text,
            "filled": _filled_in(text, found),
            "masks": masks,
            "unknown": [*dict.fromkeys(self.task.unknown(text))],
        }


def _filled_in(text: str, found: Sequence[Sequence[Guess]]) -> str:
    from attnlab.tasks.language.text.masking import filled_in

    return filled_in(text, found)
