"""Train a reader: the windows stay in memory, and one compiled program runs an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnlab.config.sections import RunConfig
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.answering.examples import looked_at
from attnlab.tasks.answering.report import measured
from attnlab.tasks.in_memory import InMemoryLearner

if TYPE_CHECKING:
    from attnlab.tasks.answering.models.reader import Reader
    from attnlab.tasks.answering.task import Answer
    from attnlab.tasks.base import Report


class AnsweringLearner(InMemoryLearner):
    """Trains a reader on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Answer, model: Reader) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.rows.tokens for name, part in parts}
        targets = {name: part.rows.targets for name, part in parts}
        # The compiled program depends on these sizes, which the shape of a row doesn't show.
        sizes = model.question_places, model.text_places
        own = {"faster_with_xla": model.faster_with_xla, "sizes": sizes}
        super().__init__(config, model, task.loss, inputs, targets, **own)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` in nats over windows, `val_exact_match` and `val_f1` over questions."""
        logits = self.program.predict(self.rows["validation"])
        questions = self._task.data.parts["validation"].questions
        found = measured(questions, [said.text for said in self._task.said(logits, "validation")])
        loss = self._task.loss_of(logits, "validation")
        return {"val_loss": loss, **{f"val_{name}": 100 * v.mean() for name, v in found.items()}}

    def report(self) -> Report:
        """Score the answers of the test part and the baselines."""
        return self._task.report(self.program.predict(self.rows["test"]))

    def examples(self) -> dict[str, Any] | None:
        """Return attention on a few test questions, both right and wrong ones; see `looked_at`.

        None if the model has no attention.
        """
        task = self._task
        said = task.said(self.program.predict(self.rows["test"]), "test")
        part = task.data.parts["test"]
        right = measured(part.questions, [each.text for each in said])["exact_match"] > 0
        chosen = chosen_examples(right)
        return looked_at(task, part, said, chosen, self.program.attend)
