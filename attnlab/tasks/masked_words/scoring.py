"""Predict the chosen words of a part with a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from attnlab.tasks.masked_words.data import MaskedPart
from attnlab.tasks.masked_words.models.model import MaskedWordModel
from attnlab.training.steps import compiled

_TOGETHER = 128  # batch size


class WordPredictions(NamedTuple):
    """Predictions at M places, row by row."""

    words: np.ndarray  # (M,) the most probable word
    probabilities: np.ndarray  # (M,) its probability
    losses: np.ndarray  # (M,) -ln of the probability of the right word, in nats
    follows: np.ndarray | None  # (N,) probability that a row's second text follows the first

    @property
    def loss(self) -> float:
        """Return the mean over all places, in nats."""
        return float(self.losses.mean())


class Scorer:
    """Predicts the chosen words of parts, with one compiled function for all calls.

    Args:
        model: used with its current weights, without dropout.
        width: tokens per row.
    """

    def __init__(self, model: MaskedWordModel, width: int) -> None:
        self.model = model
        rows, places = (tf.TensorSpec((None, size), tf.int32) for size in (width, None))
        shapes = [rows, places, tf.TensorSpec((None,), tf.int32), places]
        self._answers = compiled(self._of_rows, False, shapes)

    def __call__(self, part: MaskedPart) -> WordPredictions:
        """Predict the chosen words of a part."""
        asked = part.asked
        assert asked is not None
        right = np.take_along_axis(part.tokens, asked.places, axis=1)
        parts = []
        for at in range(0, len(part), _TOGETHER):
            given = (array[at : at + _TOGETHER] for array in (*asked, right))
            parts.append([np.asarray(each) for each in self._answers(*given)])
        words, shares, losses, follows = map(np.concatenate, zip(*parts, strict=True))
        paired = self.model.follows is not None
        known = asked.known
        return WordPredictions(
            words[known], shares[known], losses[known], follows if paired else None
        )

    def _of_rows(self, tokens, places, counts, right):
        found = self.model.guesses(tokens, places, counts)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(right, found.logits)
        best = tf.argmax(found.logits, axis=-1, output_type=tf.int32)
        shares = tf.exp(tf.reduce_max(tf.nn.log_softmax(found.logits), axis=-1))
        follows = tf.zeros((tf.shape(tokens)[0], 2)) if found.follows is None else found.follows
        return best, shares, losses, tf.nn.softmax(follows)[:, 1]
