"""The learner of classification; see `InMemoryLearner`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.training.steps import InMemoryModel

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.classification.base import ClassificationTask


class ClassificationLearner(InMemoryLearner):
    """Trains a classifier on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: ClassificationTask, model: InMemoryModel) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.inputs for name, part in parts}
        targets = {name: part.labels for name, part in parts}
        given = task.learning(model, config.trainer.batch_size)
        super().__init__(config, model, task.loss, inputs, targets, **given)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` in nats and `val_accuracy`; nothing without a validation part."""
        rows = self.rows["validation"]
        if not len(rows):
            return {}
        logits, labels = self.program.predict(rows), self._task.data.parts["validation"].labels
        losses = np.asarray(self._task.loss(labels, logits), np.float64)
        accuracy = np.mean(logits.argmax(axis=-1) == labels)
        return {"val_loss": float(losses.mean()), "val_accuracy": float(accuracy)}

    def report(self) -> Report:
        """Score the predictions for the test part, and the baselines."""
        return self._task.report(self.program.predict(self.rows["test"]))

    def examples(self) -> dict[str, Any] | None:
        """Return the attention on a few test items, right and wrong ones; None without attention.

        `weights` (N, ...) are those of the model's `attend`. The task's `examples` describe the
        items. `label` and `prediction` (N,) are names of classes, `index` (N,) the rows in the test
        part.
        """
        test, classes = self._task.data.parts["test"], np.array(self._task.classes)
        found = self.program.predict(self.rows["test"]).argmax(axis=-1)
        chosen = chosen_examples(found == test.labels)
        inputs = test.inputs[chosen]
        weights = self.program.attend(inputs)
        if weights is None:
            return None
        return {
            "weights": np.asarray(weights, np.float32),
            **self._task.examples(self.program.model, inputs),
            "label": classes[test.labels[chosen]],
            "prediction": classes[found[chosen]],
            "index": chosen,
        }
