"""The compiled training and evaluation steps of a translation model, and its loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from attnlab.tasks.base import assign
from attnlab.tasks.translation.models.translator import Translator
from attnlab.text.tokenizers import PAD
from attnlab.training.compilation import compile_function
from attnlab.training.optimizers import OptimizerFunction, in_place
from attnlab.training.step import WHOLE, Parts, Step, StepOnDevices

Batches = Sequence[tuple[np.ndarray, np.ndarray]]
# Source and target of a batch.
_BATCH = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, None), tf.int32))
# Learning rate, number and seeds of a step.
_STEP = (
    tf.TensorSpec((), tf.float32),
    tf.TensorSpec((), tf.int64),
    tf.TensorSpec((None,), tf.uint32),
)


def token_losses(labels: tf.Tensor, logits: tf.Tensor, smoothing: float = 0.0) -> tf.Tensor:
    """Return the cross entropy of each token with smoothed targets.

    The target is `1 - smoothing` at the label plus `smoothing / V` everywhere, so the loss is
    `(1 - smoothing) * -log p(label) + smoothing * mean(-log p)`.

    Source: Szegedy et al. 2016 (arXiv 1512.00567), section 7, as Vaswani et al. 2017 use it.
    Difference: nothing; `torch.nn.CrossEntropyLoss(label_smoothing=...)` is the same.

    Labels (N,) int32 and logits (N, V) float32 give (N,) float32; `smoothing` is in [0, 1).
    """
    places = tf.stack([tf.range(tf.shape(labels)[0]), labels], axis=1)

    # TensorFlow's own gradient would write three more tensors of the size of the logits.
    @tf.custom_gradient
    def losses(logits):
        log_shares = tf.nn.log_softmax(logits)

        def gradient(upstream):
            spread = smoothing / tf.cast(tf.shape(logits)[1], logits.dtype)
            slopes = (tf.exp(log_shares) - spread) * upstream[:, None]
            return tf.tensor_scatter_nd_sub(slopes, places, (1.0 - smoothing) * upstream)

        losses = (smoothing - 1.0) * tf.gather_nd(log_shares, places)
        if smoothing:
            losses -= smoothing * tf.reduce_mean(log_shares, axis=1)
        return losses, gradient

    return losses(logits)


@dataclass(frozen=True)
class TokenScores:
    """Scores of a model on the target tokens of some sentences; each token has the same weight."""

    loss: float  # mean cross entropy of a token, in nats, without label smoothing
    accuracy: float  # share of tokens that are the most probable ones, given the true ones before
    tokens: int  # number of tokens, END included

    @property
    def perplexity(self) -> float:
        """exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


class TokensStep(Step):
    """A step on a batch of a translator, source (B, S) and target (B, T); its size is in tokens.

    Args:
        model: a built model.
        update: the optimizer's formula.
        parts: of each batch.
        loss: `loss(labels, logits) -> (N,)`, one value per token.
        fixed_shapes: whether padding is computed, because the compiler needs its shapes.
    """

    def __init__(
        self, model: Translator, update: Any, parts: Parts, loss: Callable, fixed_shapes: bool
    ) -> None:
        super().__init__(model, update, parts)
        self._loss, self._fixed_shapes = loss, fixed_shapes

    def size(self, batch):
        """Return the number of real target tokens, END included."""
        return tf.reduce_sum(tf.cast(batch[1][:, 1:] != PAD, tf.float32))

    def most_draws(self, batch):
        """Return the most draws of one random generator in a step on a batch."""
        return self.model.draws(tf.shape(batch[1])[1] - 1)

    def loss(self, rows):
        """Return the sum of the losses of real tokens."""
        losses, _, real = self.predict(*rows, self._loss, training=True)
        return tf.reduce_sum(losses * real)

    def predict(self, source, target, loss, training):
        """Return loss, hit and weight (0 for padding) of each next token, each (N,)."""
        memory = self.model.encode(source, training=training)
        states = self.model.decode(target[:, :-1], memory, training=training).states
        labels = tf.reshape(target[:, 1:], (-1,))
        states = tf.reshape(states, (-1, states.shape[-1]))
        if not self._fixed_shapes:  # the projection to logits, the costliest step, has no padding
            real = tf.reshape(tf.where(labels != PAD), (-1,))
            labels, states = tf.gather(labels, real), tf.gather(states, real)
        logits = self.model.logits(states)
        losses = loss(labels, logits)
        hits = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
        return losses, tf.cast(hits, tf.float32), tf.cast(labels != PAD, tf.float32)


class TranslationProgram:
    """A translation model and its optimizer, compiled.

    A batch is a pair of int32 arrays, source (B, S) and target (B, T), padded with 0 at the end;
    target rows are START, tokens, END. The loss of a step is the mean of `loss(labels, logits)`
    over all real tokens of the batch (what follows START). Draws of dropout and other random layers
    follow from (seed, step).

    A step is one program, because batches differ in shape. `jit` compiles it with XLA once per
    shape, so callers should use few shapes. `parts` divide the rows of the batches. With a
    `strategy`, several devices train, without XLA.
    """

    def __init__(
        self,
        model: Translator,
        optimizer: keras.Optimizer,
        *,
        loss: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] = token_losses,
        seed: int = 0,
        jit: bool = False,
        parts: Parts = WHOLE,
        strategy: tf.distribute.Strategy | None = None,
    ) -> None:
        self.model, self.optimizer = model, optimizer
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        update: Any = in_place(optimizer, model.trainable_variables)
        if strategy is not None:
            update = OptimizerFunction(optimizer, model.trainable_variables)
        self._step = TokensStep(model, update, parts, loss, fixed_shapes=jit)
        self._copies = None
        if strategy is not None:
            self._copies = StepOnDevices(self._step, strategy, optimizer.variables)
        self._train = compile_function(self._train_step, jit, None if jit else (*_BATCH, *_STEP))
        self._evaluate = compile_function(self._evaluate_batch, jit, None if jit else _BATCH)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Set another seed for the random layers."""
        self.seeds = self._step.random.seeds(seed)

    def train(
        self, batches: Batches, rates: Sequence[float] | np.ndarray, first_step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run a step for each batch at its rate, after `first_step` earlier steps of the run.

        Returns each step's mean loss of real tokens before its update, (steps,) float64, NaN if it
        diverged, and the number of these tokens, (steps,) int64.
        """
        variables, states = self.model.trainable_variables, self.optimizer.variables
        if self._copies is not None:
            self._copies.fill(*([v.value for v in part] for part in (variables, states)))
        losses = []
        for step, (batch, rate) in enumerate(zip(batches, rates, strict=True), first_step):
            scalars = tf.constant(rate, tf.float32), tf.constant(step, tf.int64)
            losses.append(self._train(*_tensors(*batch), *scalars, self.seeds))
        if self._copies is not None:
            assign([*variables, *states], chain(*self._copies.read()))
        sizes = [np.count_nonzero(target[:, 1:] != PAD) for _, target in batches]
        return np.array([loss.numpy() for loss in losses], np.float64), np.array(sizes, np.int64)

    def evaluate(self, batches: Batches) -> TokenScores:
        """Return the scores of all real target tokens, without dropout and label smoothing."""
        loss, hits, tokens = np.sum(
            [self._evaluate(*_tensors(*batch)).numpy() for batch in batches] or [np.zeros(3)],
            axis=0,
            dtype=np.float64,
        )
        return TokenScores(loss / max(tokens, 1), hits / max(tokens, 1), int(tokens))

    def _train_step(self, source, target, rate, step, seeds):
        """Return the batch's loss before the update, which changes variables or copies."""
        arguments = seeds, step, rate, (source, target)
        if self._copies is not None:
            return self._copies([], [], *arguments)[0]
        values = [variable.value for variable in self.model.trainable_variables]
        return self._step(values, [], *arguments)[0]

    def _evaluate_batch(self, source, target):
        losses, hits, real = self._step.predict(source, target, token_losses, training=False)
        return tf.reduce_sum(tf.stack([losses, hits, tf.ones_like(real)]) * real, axis=1)


def _tensors(*arrays: np.ndarray) -> list[tf.Tensor]:
    return [tf.constant(array, tf.int32) for array in arrays]
