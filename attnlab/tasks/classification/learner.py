"""The learner of classification; see `InMemoryLearner`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.attention import example_rows
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.training.step import InMemoryModel

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
        settings = task.learning(model, config.trainer.batch_size)
        super().__init__(config, model, task.loss, inputs, targets, **settings)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` in nats and `val_accuracy`."""
        logits = self.predict(self.rows["validation"])
        labels = self._task.data.parts["validation"].labels
        losses = np.asarray(self._task.loss(labels, logits), np.float64)
        accuracy = np.mean(logits.argmax(axis=-1) == labels)
        return {"val_loss": float(losses.mean()), "val_accuracy": float(accuracy)}

    def report(self) -> Report:
        """Score the predictions for the test part, and the baselines."""
        return self._task.report(self.predict(self.rows["test"]))

    def examples(self) -> dict[str, Any] | None:
        """Return the attention on test items at equal distances; None without attention.

        `weights` (N, H, 1, S) or (N, 1 + H, rows, columns) are in float16. `label` and `prediction`
        (N,) are names of classes, `index` (N,) the rows in the test part.
        """
        test, classes = self._task.data.parts["test"], np.array(self._task.classes)
        numbers = example_rows(len(test))
        inputs = test.inputs[numbers]
        weights = self.attention_weights(inputs)
        if weights is None:
            return None
        predicted = self.predict(self.rows["test"][numbers]).argmax(axis=-1)
        return {
            **self._task.readable(inputs),
            "weights": np.asarray(weights, np.float32).astype(np.float16),
            "label": classes[test.labels[numbers]],
            "prediction": classes[predicted],
            "index": numbers,
        }
