"""Score a model on windows or rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.tasks.language.data import PADDING, ScoredRows
from attnlab.training.steps import compiled

_TOGETHER, _VALUES = 128, 2**24  # most windows of a batch, most logits


class Scores(NamedTuple):
    """Of the targets of `ScoredRows`, (N, T) or (N, K); 0 where there is none."""

    losses: np.ndarray  # -ln of the probability of the target, in nats
    tokens: np.ndarray  # the most probable token
    has_target: np.ndarray  # bool

    @property
    def loss(self) -> float:
        """Return the mean over all targets, in nats."""
        return float(self.losses[self.has_target].mean(dtype=np.float64))


class Scorer:
    """Scores windows or rows by a compiled function.

    Args:
        model: a `LanguageModel` or `MaskedWordModel`, used with its current weights, without
            dropout.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        sizes = (model.fixed_length, None, None)
        shapes = [tf.TensorSpec((None, size), tf.int32) for size in sizes]
        self._score = compiled(self._scores, False, shapes)

    def __call__(self, scored: ScoredRows) -> Scores:
        """Score windows or rows."""
        size = _VALUES // (scored.targets.shape[1] * self.model.vocabulary)
        size = min(max(size, 1), _TOGETHER)
        parts = []
        for at in range(0, len(scored.tokens), size):
            batch = (
                array[at : at + size] for array in (scored.tokens, scored.targets, scored.places)
            )
            parts.append([np.asarray(array) for array in self._score(*batch)])
        losses, tokens = map(np.concatenate, zip(*parts, strict=True))
        return Scores(losses, tokens, scored.has_target)

    def _scores(self, tokens, targets, places):
        logits = self.model.logits_at(tokens, places, training=False)
        has_target = tf.cast(targets != PADDING, tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(targets, 0), logits)
        return losses * has_target, tf.argmax(logits, axis=-1, output_type=tf.int32)
