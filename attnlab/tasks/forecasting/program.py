"""An epoch as one compiled program.

`keras.Model.fit` pays for Python, callbacks and dozens of kernel launches at every step; for small
models that is nearly all of its time. Here the data stays resident, and one XLA program gathers
each batch and loops over the steps, so that Python is entered once an epoch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from attnlab.training.batches import BatchPlan, filled_plan
from attnlab.training.steps import RandomStates, compiled

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
_PREDICTION_BATCH = 256


class Program:
    """A model, its optimizer and its data, compiled.

    What is compiled depends on the shapes of the data alone: see `on`.

    Args:
        model: a built Keras model, `(B, ...) -> (B, ...)`.
        optimizer: a Keras optimizer; its learning rate is set at every step from `train`'s `rates`.
        loss: `loss(target, output) -> (B,)`, one value an item.
        inputs: (N, ...) every input of the run, resident.
        targets: (N, ...) their targets.
        seed: of dropout and other random layers: a draw follows from (seed, step).
        jit: compile with XLA; false keeps a TensorFlow graph.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.Optimizer,
        loss: Loss,
        inputs: np.ndarray,
        targets: np.ndarray,
        *,
        seed: int = 0,
        jit: bool = True,
    ) -> None:
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.generators = RandomStates(model)
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        self._train = compiled(self._train_loop, jit)
        self._predict = compiled(self._predict_batch, jit)
        self._hold(inputs, targets, seed)

    def on(self, inputs: np.ndarray, targets: np.ndarray, *, seed: int = 0) -> Program:
        """The same program on other data; of the same shapes, nothing is compiled anew."""
        other = copy.copy(self)
        other._hold(inputs, targets, seed)
        return other

    def _hold(self, inputs: np.ndarray, targets: np.ndarray, seed: int) -> None:
        self.inputs, self.targets = tf.constant(inputs), tf.constant(targets)
        self.seeds = self.generators.seeds(seed)

    def train(self, plan: BatchPlan, rates: np.ndarray, first_step: int) -> np.ndarray:
        """Take the steps of a plan: (steps,) mean loss of each one's real rows, before its update.

        Plans of one shape share one compilation. `rates` (steps,) are the learning rate of each
        step; `first_step` gradient steps were taken before, over the whole run.
        """
        # All that differs enters as tensors: as constants every epoch would compile anew.
        steps = tf.constant(rates, tf.float32), tf.constant(first_step, tf.int64)
        batches = tf.constant(plan.indices), tf.constant(plan.weights)
        return self._train(self.inputs, self.targets, self.seeds, *batches, *steps).numpy()

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Outputs of resident rows without dropout, in order: (len(rows), ...)."""
        if len(rows) == 0:
            return np.zeros((0, *self.targets.shape[1:]), np.float32)
        plan = filled_plan(np.asarray(rows), _PREDICTION_BATCH)
        batches = [tf.constant(indices) for indices in plan.indices]
        outputs = [self._predict(self.inputs, batch).numpy() for batch in batches]
        return np.concatenate(outputs)[: len(rows)]

    def evaluate(self, rows: np.ndarray) -> float:
        """Mean loss over resident rows, each of equal weight."""
        outputs = tf.constant(self.predict(rows))
        losses = self.loss(tf.gather(self.targets, rows), outputs)
        return float(np.mean(np.asarray(losses, np.float64)))

    def _train_loop(self, inputs, targets, seeds, indices, weights, rates, first_step):
        steps = indices.shape[0]

        def body(step, losses):
            self.generators.set(seeds, first_step + tf.cast(step, tf.int64))
            self.optimizer.learning_rate = tf.gather(rates, step)
            # tf.gather, not slicing: slicing makes the order a compile-time constant.
            rows = tf.gather(indices, step)
            batch, expected = tf.gather(inputs, rows), tf.gather(targets, rows)
            loss = self._step(batch, expected, tf.gather(weights, step))
            return step + 1, tf.tensor_scatter_nd_update(losses, [[step]], [loss])

        start = (tf.constant(0), tf.zeros((steps,)))
        return tf.while_loop(lambda step, _: step < steps, body, start)[1]

    def _step(self, batch: tf.Tensor, targets: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            losses = self.loss(targets, self.model(batch, training=True))
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        self.optimizer.apply(gradients, variables)
        return loss

    def _predict_batch(self, inputs: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        return self.model(tf.gather(inputs, rows), training=False)
