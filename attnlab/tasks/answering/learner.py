"""Train a reader: the windows stay in memory, and one compiled program runs an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.answering.report import attention_on_questions, measure
from attnlab.tasks.attention import example_rows
from attnlab.tasks.in_memory import InMemoryLearner

if TYPE_CHECKING:
    from attnlab.tasks.answering.models import Reader
    from attnlab.tasks.answering.task import Answer
    from attnlab.tasks.base import Report


class AnsweringLearner(InMemoryLearner):
    """Trains a reader on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Answer, model: Reader) -> None:
        self._task = task
        parts = task.data.parts.items()
        super().__init__(
            config,
            model,
            task.loss,
            {name: part.rows.tokens for name, part in parts},
            {name: part.rows.targets for name, part in parts},
            faster_with_xla=model.faster_with_xla,
            # The compiled program depends on these sizes, which the shape of a row doesn't show.
            sizes=(model.question_places, model.text_places),
        )

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` in nats over windows, `val_exact_match` and `val_f1` over questions."""
        part = self._task.data.parts["validation"]
        logits = self.predict(self.rows["validation"])
        answers = [answer.text for answer in self._task.predicted_answers(logits, part)]
        scores = measure(part.questions, answers)
        loss = self._task.mean_loss(logits, part)
        return {"val_loss": loss, **{f"val_{name}": 100 * v.mean() for name, v in scores.items()}}

    def report(self) -> Report:
        """Score the answers of the test part and the baselines."""
        return self._task.report(self.predict(self.rows["test"]))

    def examples(self) -> dict[str, np.ndarray] | None:
        """Return `attention_on_questions` of the test part, with `index` and `right` (N,)."""
        task, whole = self._task, self._task.data.parts["test"]
        numbers = example_rows(len(whole))
        part = task.part_of([whole.questions[number] for number in numbers])
        windows = np.isin(whole.rows.owners, numbers)
        predicted = task.predicted_answers(self.predict(self.rows["test"][windows]), part)
        arrays = attention_on_questions(
            part, predicted, task.question_places, task.words, self.attention_weights
        )
        if arrays is None:
            return None
        scores = measure(part.questions, [answer.text for answer in predicted])
        return {**arrays, "right": scores["exact_match"] > 0, "index": numbers}
