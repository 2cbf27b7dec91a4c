"""Learning to classify: one compiled program takes the steps of an epoch over resident texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.resident import ResidentLearner
from attnlab.text.tokenizers import PAD

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.classification.models.classifier import Classifier
    from attnlab.tasks.classification.task import Classify

_EXAMPLES = 8  # test texts whose attention is kept: as many wrong ones as there are, up to half


class ClassificationLearner(ResidentLearner):
    """A classifier on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: Classify, model: Classifier) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.tokens for name, part in parts}
        targets = {name: part.labels for name, part in parts}
        lengths = None
        if model.fixed_length is None:
            lengths = {name: np.sum(part.tokens != PAD, axis=1) for name, part in parts}
        super().__init__(config, model, task.loss, inputs, targets, lengths)

    def validate(self, epoch: int) -> dict[str, float]:
        """`val_loss` in nats, `val_accuracy`."""
        rows = self.rows["validation"]
        if not len(rows):
            return {}
        logits = self.program.predict(rows)
        labels = self._task.data.parts["validation"].labels
        losses = np.asarray(self._task.loss(labels, logits), np.float64)
        accuracy = np.mean(logits.argmax(axis=-1) == labels)
        return {"val_loss": float(losses.mean()), "val_accuracy": float(accuracy)}

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
        chosen = _chosen(found == test.labels)
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


def _chosen(right: np.ndarray) -> np.ndarray:
    """Places of test texts, at equal distances: half of them wrong where so many are."""
    kinds = [np.flatnonzero(~right), np.flatnonzero(right)]
    wrong = min(len(kinds[0]), _EXAMPLES // 2)
    counts = [wrong, min(len(kinds[1]), _EXAMPLES - wrong)]
    spread = [
        places[np.linspace(0, len(places) - 1, count).astype(int)]
        for places, count in zip(kinds, counts, strict=True)
        if count
    ]
    return np.sort(np.concatenate(spread))
