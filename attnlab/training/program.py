"""An epoch as one compiled program.

`keras.Model.fit` pays for Python, callbacks and dozens of kernel launches at every step; for small
models that is nearly all of its time. Here the data stays resident, and one XLA program gathers
each batch and loops over the steps, so that Python is entered once an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf

from attnlab.data.batches import BatchPlan, filled_plan

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
# Random draws that one step may make of one generator before it would reach the next step's.
_DRAWS_PER_STEP = 256
_PREDICTION_BATCH = 256


class Program:
    """A model, its optimizer and its data, compiled.

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
        self.inputs, self.targets = tf.constant(inputs), tf.constant(targets)
        self.generators = RandomStates(model, seed)
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        compiled = tf.function(jit_compile=jit, autograph=False)
        self._train = compiled(self._train_loop)
        self._predict = compiled(self._predict_batch)

    def train(self, plan: BatchPlan, rates: np.ndarray, first_step: int) -> np.ndarray:
        """Take the steps of a plan.

        Args:
            plan: the batches; plans of one shape share one compilation.
            rates: (steps,) learning rate of each step.
            first_step: gradient steps taken before, over the whole run.

        Returns:
            (steps,) mean loss of each step's real rows, before its update.
        """
        # The plan enters as tensors: as constants every epoch would compile anew.
        arguments = (
            tf.constant(plan.indices),
            tf.constant(plan.weights),
            tf.constant(rates, tf.float32),
            tf.constant(first_step, tf.int64),
        )
        return self._train(*arguments).numpy()

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Outputs of resident rows without dropout, in order: (len(rows), ...)."""
        if len(rows) == 0:
            return np.zeros((0, *self.targets.shape[1:]), np.float32)
        plan = filled_plan(np.asarray(rows), _PREDICTION_BATCH)
        outputs = [self._predict(tf.constant(indices)).numpy() for indices in plan.indices]
        return np.concatenate(outputs)[: len(rows)]

    def evaluate(self, rows: np.ndarray) -> float:
        """Mean loss over resident rows, each of equal weight."""
        outputs = tf.constant(self.predict(rows))
        losses = self.loss(tf.gather(self.targets, rows), outputs)
        return float(np.mean(np.asarray(losses, np.float64)))

    def _train_loop(self, indices, weights, rates, first_step):
        steps = indices.shape[0]

        def body(step, losses):
            self.generators.set(first_step + tf.cast(step, tf.int64))
            self.optimizer.learning_rate = tf.gather(rates, step)
            loss = self._step(tf.gather(indices, step), tf.gather(weights, step))
            return step + 1, tf.tensor_scatter_nd_update(losses, [[step]], [loss])

        start = (tf.constant(0), tf.zeros((steps,)))
        return tf.while_loop(lambda step, _: step < steps, body, start)[1]

    def _step(self, rows: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        # tf.gather, not slicing: slicing makes the order a compile-time constant.
        batch, targets = tf.gather(self.inputs, rows), tf.gather(self.targets, rows)
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            losses = self.loss(targets, self.model(batch, training=True))
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        self.optimizer.apply(gradients, variables)
        return loss

    def _predict_batch(self, rows: tf.Tensor) -> tf.Tensor:
        return self.model(tf.gather(self.inputs, rows), training=False)


class RandomStates:
    """The seed states of a model's random layers, made a function of (seed, step)."""

    def __init__(self, model: keras.Model, seed: int) -> None:
        self.states: Sequence[keras.Variable] = [
            variable
            for variable in model.non_trainable_variables
            if variable.path.endswith("seed_generator_state")
        ]
        self.seeds = np.random.SeedSequence(seed).generate_state(len(self.states) + 1)

    def set(self, step: tf.Tensor) -> None:
        """Put every state where `step` has it, whatever was drawn before."""
        counter = tf.cast(step * _DRAWS_PER_STEP, tf.uint32)
        for state, seed in zip(self.states, self.seeds, strict=False):
            state.assign(tf.stack([tf.constant(seed, tf.uint32), counter]))
