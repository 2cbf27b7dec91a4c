"""The compiled training and evaluation steps of a translation model, and its loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from attnlab.attention.draws import rows_of
from attnlab.tasks.translation.models.translator import Translator
from attnlab.text.tokenizers import PAD
from attnlab.training.devices import WHOLE, Copies, Parts
from attnlab.training.keras_internals import OptimizerFunction, stored_in, substituted_values
from attnlab.training.steps import RandomStates, compiled

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
        self.loss, self.jit, self.parts = loss, jit, parts
        self.generators = RandomStates(model)
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        self._copies = None
        if strategy is None:
            self._train = compiled(self._train_step, jit, None if jit else (*_BATCH, *_STEP))
        else:
            self._update = OptimizerFunction(optimizer, model.trainable_variables)
            self._copies = Copies(strategy, self._trained())
            self._draws = Copies(strategy, self.generators.states)
            self._train = compiled(self._train_on_devices, False, (*_BATCH, *_STEP))
        self._evaluate = compiled(self._evaluate_batch, jit, None if jit else _BATCH)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Set another seed for the random layers."""
        self.seeds = self.generators.seeds(seed)

    def train(
        self, batches: Batches, rates: Sequence[float] | np.ndarray, first_step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run a step for each batch at its rate, after `first_step` earlier steps of the run.

        Returns each step's mean loss of real tokens before its update, (steps,) float64, NaN if it
        diverged, and the number of these tokens, (steps,) int64.
        """
        results = []
        if self._copies is not None:
            self._copies.fill([variable.value for variable in self._trained()])
        for step, (batch, rate) in enumerate(zip(batches, rates, strict=True), first_step):
            scalars = tf.constant(rate, tf.float32), tf.constant(step, tf.int64)
            results.append(self._train(*_tensors(*batch), *scalars, self.seeds))
        if self._copies is not None:
            for variable, value in zip(self._trained(), self._copies.read(), strict=True):
                variable.assign(value)
        losses = np.array([loss.numpy() for loss, _ in results], np.float64)
        return losses, np.array([count.numpy() for _, count in results], np.int64)

    def _trained(self) -> list[keras.Variable]:
        """Return everything that a step changes."""
        return [*self.model.trainable_variables, *self.optimizer.variables]

    def evaluate(self, batches: Batches) -> TokenScores:
        """Return the scores of all real target tokens, without dropout and label smoothing."""
        loss, hits, tokens = np.sum(
            [self._evaluate(*_tensors(*batch)).numpy() for batch in batches] or [np.zeros(3)],
            axis=0,
            dtype=np.float64,
        )
        return TokenScores(loss / max(tokens, 1), hits / max(tokens, 1), int(tokens))

    def _train_step(self, source, target, rate, step, seeds):
        variables = self.model.trainable_variables
        count = tf.reduce_sum(tf.cast(target[:, 1:] != PAD, tf.float32))
        like = tf.zeros(()), [variable.value for variable in variables]

        def gradients(part):
            self.generators.set(seeds, step, self.model.draws(tf.shape(target)[1] - 1))
            if part is None:
                return self._gradients(source, target, count)
            return self._gradients(rows_of(part, source), rows_of(part, target), count)

        loss, gradients = self.parts.summed(gradients, like)
        self.optimizer.learning_rate = rate
        self.optimizer.apply(gradients, variables)
        return loss, count

    def _train_on_devices(self, *inputs):
        return self._copies.first(self._copies.strategy.run(self._step_on_device, inputs))

    def _step_on_device(self, source, target, rate, step, seeds):
        """Do what `_train_step` does, but with the values of this device's copies."""
        variables = self.model.trainable_variables
        values, states = self._copies.own(len(variables))
        count = tf.reduce_sum(tf.cast(target[:, 1:] != PAD, tf.float32))

        def gradients(part):
            draws = stored_in(self.generators.states, self._draws.variables)
            with draws, substituted_values(variables, values):
                self.generators.set(seeds, step, self.model.draws(tf.shape(target)[1] - 1))
                return self._gradients(rows_of(part, source), rows_of(part, target), count)

        loss, gradients = self.parts.summed(gradients, (tf.zeros(()), values))
        values, states = self._update(states, rate, gradients, values)
        self._copies.assign([*values, *states])
        return loss, count

    def _gradients(self, source, target, count):
        """Return the sum of the losses of real tokens divided by `count`, and its gradients."""
        values = [variable.value for variable in self.model.trainable_variables]
        with tf.GradientTape() as tape:
            tape.watch(values)
            losses, _, real = self._predict(source, target, self.loss, training=True)
            loss = tf.reduce_sum(losses * real) / tf.maximum(count, 1.0)
        # An embedding's gradient has a row per token, and Keras would square each row by itself.
        return loss, [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, values)]

    def _evaluate_batch(self, source, target):
        losses, hits, real = self._predict(source, target, token_losses, training=False)
        return tf.reduce_sum(tf.stack([losses, hits, tf.ones_like(real)]) * real, axis=1)

    def _predict(self, source, target, loss, training):
        """Return loss, hit and weight (0 for padding) of each next token, each (N,)."""
        memory = self.model.encode(source, training=training)
        states = self.model.decode(target[:, :-1], memory, training=training).states
        labels = tf.reshape(target[:, 1:], (-1,))
        states = tf.reshape(states, (-1, states.shape[-1]))
        if not self.jit:  # leave padding out of the costliest step, the projection to logits
            real = tf.reshape(tf.where(labels != PAD), (-1,))
            labels, states = tf.gather(labels, real), tf.gather(states, real)
        logits = self.model.logits(states)
        losses = loss(labels, logits)
        hits = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
        return losses, tf.cast(hits, tf.float32), tf.cast(labels != PAD, tf.float32)


def _tensors(*arrays: np.ndarray) -> list[tf.Tensor]:
    return [tf.constant(array, tf.int32) for array in arrays]
