"""What a model says of words that were chosen once and for all."""

from __future__ import annotations

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from attnlab.tasks.masked_words.data import Part
from attnlab.training.steps import compiled

_TOGETHER = 128  # rows that a model reads at a time


class Told(NamedTuple):
    """What was said at M places, row by row."""

    words: np.ndarray  # (M,) the most probable one
    probabilities: np.ndarray  # (M,) its probability
    losses: np.ndarray  # (M,) -ln of the probability of the right one, in nats
    follows: np.ndarray | None  # (N,) probability that a row's second text follows the first

    @property
    def loss(self) -> float:
        """The mean over all places, in nats."""
        return float(self.losses.mean())


def told(model: keras.Model, part: Part) -> Told:
    """Fill in the words of a part that are asked for; without dropout."""
    asked = part.asked
    assert asked is not None

    def answers(tokens, places, counts, right):
        found = model.guesses(tokens, places, counts)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(right, found.logits)
        best = tf.argmax(found.logits, axis=-1, output_type=tf.int32)
        shares = tf.reduce_max(tf.nn.log_softmax(found.logits), axis=-1)
        follows = tf.zeros((tf.shape(tokens)[0], 2)) if found.follows is None else found.follows
        return best, tf.exp(shares), losses, tf.nn.softmax(follows)[:, 1]

    rows = [tf.TensorSpec((None, asked.tokens.shape[1]), tf.int32)]
    places = [tf.TensorSpec((None, asked.places.shape[1]), tf.int32)]
    counts = [tf.TensorSpec((None,), tf.int32)]
    answers = compiled(answers, False, [*rows, *places, *counts, *places])
    right = np.take_along_axis(part.tokens, asked.places, axis=1)
    arrays = (*asked, right)
    starts = range(0, len(part), _TOGETHER)
    found = [
        [np.asarray(each) for each in answers(*(array[at : at + _TOGETHER] for array in arrays))]
        for at in starts
    ]
    words, shares, losses, follows = map(np.concatenate, zip(*found, strict=True))
    known = asked.known
    there = model.follows is not None
    return Told(words[known], shares[known], losses[known], follows if there else None)
