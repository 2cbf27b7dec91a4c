"""The texts of a trained language model: the command `attnlab generate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attnlab.tasks.predictor import Inputs, Predictor, Setting


class GeneratePredictor(Predictor):
    """Continue PROMPTs, files, or standard input line by line, by a trained RUN.

    RUN is a run folder, an MLflow run id or its first characters, or `latest`.
    """

    takes = Inputs("PROMPT", "[PROMPT]...", files="A file that is one prompt; may be repeated.")
    settings = (
        Setting("tokens", "Number of tokens to add.", (1, 100_000), default=100, metavar="N"),
        Setting("seed", "Seed of the draws.", (0, None), default=0, metavar="N"),
    )

    def __init__(self, request: Any, *, tokens: int, seed: int) -> None:
        super().__init__(request)
        self._tokens, self._seed = tokens, seed

    def predict(self, inputs: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each prompt with its continuation."""
        from attnlab.tasks.language.generating import continued

        for prompt in inputs:
            tokens = self.task.vocabulary.encode(prompt)
            found = continued(self.model, tokens, self._tokens, self._seed)
            yield prompt, self.task.vocabulary.decode([*tokens, *found])

    def lines(self, result: tuple[str, str]) -> list[str]:
        """Return the text."""
        return result[1].split("\n")

    def content(self, result: tuple[str, str]) -> dict[str, Any]:
        """Return the prompt and the text."""
        return {"prompt": result[0], "text": result[1]}
