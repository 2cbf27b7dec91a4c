"""Learning to fill in words: one compiled program takes the steps of an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from attnlab.config.sections import RunConfig
from attnlab.tasks.masked_words.report import build_report
from attnlab.tasks.masked_words.scoring import Told, told
from attnlab.tasks.resident import ResidentLearner
from attnlab.text.tokenizers import PAD

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.masked_words.models.model import MaskedWordModel
    from attnlab.tasks.masked_words.task import MaskedWords

_EXAMPLES = 8  # rows whose attention is kept


class MaskedWordLearner(ResidentLearner):
    """A model on its corpus; see `Learner`."""

    def __init__(self, config: RunConfig, task: MaskedWords, model: MaskedWordModel) -> None:
        self._task = task
        parts = task.data.parts.items()
        inputs = {name: part.tokens for name, part in parts}
        targets = {
            name: np.concatenate([part.follows[:, None], part.tokens], axis=1)
            for name, part in parts
        }
        given: dict[str, Any] = {}
        if model.fixed_length is None:
            given["jit"] = bool(tf.config.list_physical_devices("GPU"))
            given["lengths"] = {name: np.sum(part.tokens != PAD, axis=1) for name, part in parts}
        super().__init__(config, model, task.loss, inputs, targets, **given)

    def validate(self, epoch: int) -> dict[str, float]:
        """`val_loss` in nats and `val_accuracy`, over words; `val_follows` over pairs of texts."""
        part = self._task.data.parts["validation"]
        found = self._told("validation")
        scores = {
            "val_loss": found.loss,
            "val_accuracy": float(np.mean(found.words == part.words)),
        }
        if found.follows is not None:
            scores["val_follows"] = float(np.mean((found.follows > 0.5) == part.follows))
        return scores

    def report(self) -> Report:
        """The test part's words beside the baselines."""
        return build_report(self._task, "test", self._told("test"))

    def examples(self) -> dict[str, Any]:
        """Attention on a few test rows: `weights` (N, H, S, S), and their `tokens` (N, S) as read.

        Of learned per-position weights, too, `places` (N, S) says which words were asked for.
        """
        part = self._task.data.parts["test"]
        assert part.asked is not None
        rows = part.asked.tokens[:_EXAMPLES]
        width = int(np.sum(rows != PAD, axis=1).max())
        width = width if self.model.fixed_length is None else rows.shape[1]
        asked = np.zeros(rows.shape, bool)
        known = part.asked.known[:_EXAMPLES]
        numbers = np.nonzero(known)[0]
        asked[numbers, part.asked.places[:_EXAMPLES][known]] = True
        weights = self.program.attend(rows[:, :width])
        return {
            "weights": np.asarray(weights, np.float32),
            "tokens": self._task.words(rows[:, :width]),
            "right": self._task.words(part.tokens[:_EXAMPLES, :width]),
            "asked": asked[:, :width],
        }

    def _told(self, part: str) -> Told:
        return told(self.program.model, self._task.data.parts[part])
