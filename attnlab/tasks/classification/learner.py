"""Learning to classify: one compiled program takes the steps of an epoch over resident texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.accuracy_tests import chosen_examples
from attnlab.tasks.classification.scoring import validation_scores
from attnlab.tasks.in_memory import InMemoryLearner, text_settings

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.classification.models.classifier import Classifier
    from attnlab.tasks.classification.task import Classify


class ClassificationLearner(InMemoryLearner):
    """A classifier on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Classify, model: Classifier) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.tokens for name, part in parts}
        targets = {name: part.labels for name, part in parts}
        given = text_settings(model, inputs)
        super().__init__(config, model, task.loss, inputs, targets, **given)

    def validate(self, epoch: int) -> dict[str, float]:
        """`val_loss` in nats, `val_accuracy`."""
        rows = self.rows["validation"]
        if not len(rows):
            return {}
        logits = self.program.predict(rows)
        labels = self._task.data.parts["validation"].labels
        return validation_scores(self._task.loss, labels, logits)

    def report(self) -> Report:
        """The test part's classes beside the baselines."""
        return self._task.report(self.program.predict(self.rows["test"]))

    def examples(self) -> dict[str, Any] | None:
        """Attention on a few test texts, right and wrong ones; None where nothing attends.

        `weights` (N, H, T, S), `tokens` (N, S) as they read, "" behind the end, the `label` and the
        `prediction` (N,) by name, and `index` (N,), where the text stands in the test part.
        """
        test, classes = self._task.data.parts["test"], np.array(self._task.classes)
        found = self.program.predict(self.rows["test"]).argmax(axis=-1)
        chosen = chosen_examples(found == test.labels)
        weights = self.program.attend(test.tokens[chosen])
        if weights is None:
            return None
        return {
            "weights": np.asarray(weights, np.float32),
            "tokens": self._task.words(test.tokens[chosen]),
            "label": classes[test.labels[chosen]],
            "prediction": classes[found[chosen]],
            "index": chosen,
        }
