"""An epoch as one compiled program, of one run or of several at once.

`keras.Model.fit` spends Python code, callbacks and dozens of kernel launches on every step; for
small models that is nearly all of its time. Here the data stay on the device, and one XLA program
gathers each batch and loops over the steps, so Python runs once per epoch. Weights and optimizer
states are arguments and results of the program, so runs of equal shapes share one compilation. The
arguments of several runs may be stacked; then each operation computes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from attnlab.training.compilation import compile_function
from attnlab.training.optimizers import OptimizerFunction
from attnlab.training.plan import BatchPlan, StepLosses, plan_in_order
from attnlab.training.step import (
    WHOLE,
    InMemoryModel,
    Parts,
    Step,
    StepOnDevices,
    gather_rows,
    substitute_values,
)

if TYPE_CHECKING:
    from attnlab.training.stacking import StackScheduler

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
_PREDICTION_BATCH = 256
# Runs' draws are made one after another, about which TensorFlow would warn.
_for_each_run = partial(tf.vectorized_map, warn=False)


class RowsStep(Step):
    """A step on rows of arrays in memory: a batch is inputs, targets, and weights, 0 for padding.

    Args:
        model: a built model.
        update: the optimizer's formula.
        parts: of each batch.
        loss: `loss(target, output) -> (B,)`, one value per item.
    """

    def __init__(self, model: InMemoryModel, update: Any, parts: Parts, loss: Loss) -> None:
        super().__init__(model, update, parts)
        self.row_losses = loss

    def size(self, batch):
        """Return the number of real rows."""
        return tf.reduce_sum(batch[2], axis=-1)

    def loss(self, rows):
        """Return the sum of the real rows' losses."""
        inputs, targets, weights = rows
        outputs = self.model.decode(self.model.encode(inputs, training=True), training=True)
        return tf.reduce_sum(self.row_losses(targets, outputs) * weights)


class StackedStep(RowsStep):
    """A step of several runs; all arguments except the number of steps have an axis of runs."""

    rows_axis = 1

    def draws(self, seeds, number, batch):
        """Return the states (runs, 2) of the random generators before a step."""
        runs = range(seeds.shape[0])
        draws = [super(StackedStep, self).draws(seeds[run], number[run], batch) for run in runs]
        return [tf.stack(states) for states in zip(*draws, strict=True)]

    def gradients(self, values, draws, rows, size):
        """Return each run's loss (runs,) and gradients; `encode` computes all runs at once."""
        inputs, targets, weights = rows
        with tf.GradientTape() as tape, self.substitute(values, draws):
            tape.watch(values)
            encoded = self.model.encode(inputs, training=True)

        def of_run(parts):
            values, draws, encoded, targets, weights, size = parts
            with tf.GradientTape() as tape, self.substitute(values, draws):
                # Token numbers have no gradient.
                inputs = tf.nest.flatten(encoded)
                tape.watch([*values, *(part for part in inputs if part.dtype.is_floating)])
                losses = self.row_losses(targets, self.model.decode(encoded, training=True))
                loss = tf.reduce_sum(losses * weights) / size
            return loss, tape.gradient(loss, [values, encoded], unconnected_gradients="zero")

        # The gradient is inside the map: outside, XLA would compile again for every value.
        parts = (values, draws, encoded, targets, weights, size)
        loss, (gradients, of_encoded) = _for_each_run(of_run, parts)
        of_encoded = tape.gradient(encoded, values, of_encoded, unconnected_gradients="zero")
        return loss, [tf.add(*pair) for pair in zip(gradients, of_encoded, strict=True)]


class TrainRequest(NamedTuple):
    """Gradient steps to take, with the values to start from."""

    values: list[np.ndarray]  # of the model's trainable variables
    states: list[np.ndarray]  # of the optimizer's variables
    inputs: tf.Tensor  # (N, ...) the run's data
    targets: tf.Tensor  # (N, ...)
    seeds: tf.Tensor  # of `RandomStates.seeds`
    plan: BatchPlan  # which rows each step takes
    widths: np.ndarray | None  # (steps,) positions of the inputs that a step reads; None: all
    rates: np.ndarray  # (steps,) learning rates
    first_step: int  # gradient steps that the run took before

    @property
    def shape(self) -> tuple[int, ...]:
        """(steps, batch), the shape that a program is compiled for."""
        return self.plan.indices.shape


class TrainResult(NamedTuple):
    """The result of a `TrainRequest`."""

    losses: np.ndarray  # (steps,) mean loss of each step's real rows, before its update
    values: list[np.ndarray]
    states: list[np.ndarray]


class PredictRequest(NamedTuple):
    """Rows to predict without dropout, with the weights to use."""

    values: list[np.ndarray]  # of the model's trainable variables
    inputs: tf.Tensor  # (N, ...) the run's data
    plan: BatchPlan  # which rows each batch reads
    widths: np.ndarray | None  # (steps,) positions of the inputs that a batch reads; None: all

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape that a program is compiled for, different from any `TrainRequest.shape`."""
        return "rows", *self.plan.indices.shape


class Compiled:
    """The compiled functions of a model, an optimizer and a loss; all values are arguments.

    Args:
        model: a built model, `(B, ...) -> (B, ...)`; only its operations are used.
        optimizer: a Keras optimizer; only its formula is used, with a rate per step.
        loss: `loss(target, output) -> (B,)`, one value per item.
        jit: compile with XLA; false keeps a TensorFlow graph.
        parts: of each step; they divide the rows of the plans.
        strategy: of several devices, without XLA; None for one device.
    """

    def __init__(
        self,
        model: InMemoryModel,
        optimizer: keras.Optimizer,
        loss: Loss,
        *,
        jit: bool = True,
        parts: Parts = WHOLE,
        strategy: tf.distribute.Strategy | None = None,
    ) -> None:
        self.model, self._jit = model, jit
        variables = model.trainable_variables
        not_decayed = [v for v in variables if not model.is_decayed(v)]
        update = OptimizerFunction(optimizer, variables, model.rate_factors, not_decayed)
        self.optimizer = update.optimizer
        self._step: Any = RowsStep(model, update, parts, loss)

        def update_each(*arguments):
            return _for_each_run(lambda run: update(*run), arguments)

        self._stacked_step = StackedStep(model, update_each, parts, loss)
        self.random = self._step.random
        if strategy is not None:
            self._step = StepOnDevices(self._step, strategy, self.optimizer.variables)
        self._train = compile_function(self._train_loop, jit and strategy is None)
        self._predict = compile_function(self._predict_batch, jit)
        self._predict_together = compile_function(self._predict_batches, jit)
        self._attend = compile_function(self._attend_batch, jit=False)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Execute requests of several runs, all for training or all for prediction."""
        is_training = isinstance(requests[0], TrainRequest)
        return self.train(requests) if is_training else self.predict(requests)

    def train(self, runs: Sequence[TrainRequest]) -> list[TrainResult]:
        """Take the steps of one run, or of several runs with equal shapes, stacked."""
        data = [(run.inputs, run.targets) for run in runs]
        plans = [(run.plan.indices, run.plan.weights) for run in runs]
        if runs[0].widths is not None:
            plans = [(*plan, run.widths) for plan, run in zip(plans, runs, strict=True)]
        # Everything that differs is a tensor: constants would cause a new compilation every epoch.
        arguments = (
            [tf.stack(arrays) for arrays in zip(*data, strict=True)],
            tf.stack([run.seeds for run in runs]),
            _stack(plans),
            tf.constant(np.asarray([run.rates for run in runs], np.float32)),
            tf.constant([run.first_step for run in runs], tf.int64),
        )
        if isinstance(self._step, StepOnDevices):
            (run,) = runs
            self._step.fill(run.values, run.states)
            losses, *_ = self._train([], [], *arguments)
            return [TrainResult(losses.numpy()[:, 0], *self._step.read())]
        values = (_stack([run.values for run in runs]), _stack([run.states for run in runs]))
        losses, values, states = self._train(*values, *arguments)
        parts = [losses.numpy(), [v.numpy() for v in values], [v.numpy() for v in states]]
        return [
            TrainResult(parts[0][:, at], [v[at] for v in parts[1]], [v[at] for v in parts[2]])
            for at in range(len(runs))
        ]

    def widths(self, plan: BatchPlan, lengths: np.ndarray | None) -> np.ndarray | None:
        """Return (steps,) the longest real row of each step; None if steps read whole rows."""
        if lengths is None or self._jit:
            return None
        return np.where(plan.weights > 0, lengths[plan.indices], 1).max(axis=1).astype(np.int32)

    def predict(self, runs: Sequence[PredictRequest]) -> list[np.ndarray]:
        """Return the outputs (rows, ...) that each run requests; several runs are stacked."""
        plans = [run.plan.indices for run in runs]
        if len(runs) > 1:
            values = _stack([run.values for run in runs])
            inputs = tf.stack([run.inputs for run in runs])
            batches = [tf.constant(rows) for rows in np.stack(plans, axis=1)]
            outputs = [self._predict_together(values, inputs, rows).numpy() for rows in batches]
            return list(np.concatenate(outputs, axis=1))
        (run,) = runs
        values = [tf.constant(value) for value in run.values]
        widths = [None] * run.plan.steps if run.widths is None else tf.constant(run.widths)
        outputs = [
            self._predict(values, run.inputs, tf.constant(rows), width)
            for rows, width in zip(*plans, widths, strict=True)
        ]
        return [np.concatenate([output.numpy() for output in outputs])]

    def attention_weights(self, values: list[np.ndarray], inputs: np.ndarray) -> np.ndarray | None:
        """Return the model's attention weights for some inputs; None without attention."""
        weights = self._attend([tf.constant(value) for value in values], tf.constant(inputs))
        return None if weights is None else weights.numpy()

    def _train_loop(self, values, states, data, seeds, plans, rates, first_step):
        """Return losses (steps, runs), and values and states (runs, ...), for stacked arguments."""
        runs, steps = rates.shape
        alone = runs == 1
        take_step = self._step if alone else self._stacked_step
        if alone:  # remove the axis of runs
            values, states = ([v[0] for v in part] for part in (values, states))

        def body(step, losses, values, states):
            # tf.gather, not slicing: slicing makes the order a compile-time constant.
            rows, weights, *widths = (tf.gather(part, step, axis=1) for part in plans)
            inputs, targets = self.model.batch(data, rows)
            if widths:
                inputs = inputs[:, :, : tf.reduce_max(widths)]
            number = first_step + tf.cast(step, tf.int64)
            arguments = (seeds, number, tf.gather(rates, step, axis=1), (inputs, targets, weights))
            if alone:
                arguments = tf.nest.map_structure(lambda part: part[0], arguments)
            loss, values, states = take_step(values, states, *arguments)
            losses = tf.tensor_scatter_nd_update(losses, [[step]], [tf.reshape(loss, (runs,))])
            return step + 1, losses, values, states

        start = (tf.constant(0), tf.zeros((steps, runs)), values, states)
        _, losses, values, states = tf.while_loop(lambda step, *_: step < steps, body, start)
        if alone:
            values, states = ([v[None] for v in part] for part in (values, states))
        return losses, values, states

    def _predict_batch(self, values, inputs, rows, width):
        batch = tf.gather(inputs, rows)
        with substitute_values(self.model.trainable_variables, values):
            return self.model(batch if width is None else batch[:, :width], training=False)

    def _predict_batches(self, values, inputs, rows):
        """Return the outputs of stacked runs, (runs, B, ...)."""
        with substitute_values(self.model.trainable_variables, values):
            encoded = self.model.encode(gather_rows(inputs, rows), training=False)

        def output(parts):
            values, encoded = parts
            with substitute_values(self.model.trainable_variables, values):
                return self.model.decode(encoded, training=False)

        return _for_each_run(output, (values, encoded))

    def _attend_batch(self, values, inputs):
        with substitute_values(self.model.trainable_variables, values):
            return self.model.attention_weights(inputs)


class Program:
    """A run's model and optimizer with its data.

    The compiled functions depend only on shapes; runs of equal shapes share `compiled`.

    Args:
        model: a built model, `(B, ...) -> (B, ...)`.
        optimizer: a Keras optimizer; its learning rate is set at every step from `train`'s `rates`.
        loss: `loss(target, output) -> (B,)`, one value per item.
        inputs: (N, ...) all inputs of the run, which stay on the device.
        targets: (N, ...) their targets.
        lengths: (N,) number of positions in each input without padding. Each batch is cut to its
            longest input, but not with XLA, which needs one shape. None: no batch is cut.
        seed: the seed of dropout and other random layers. (seed, step) determines each draw.
        compiled: the compiled functions of this program or of another one of equal shapes.
    """

    stack: StackScheduler | None = None  # executes the requests of runs that train together
    width: int = 1  # number of runs in its stack

    def __init__(
        self,
        model: InMemoryModel,
        optimizer: keras.Optimizer,
        loss: Loss,
        inputs: Any,
        targets: Any,
        *,
        lengths: np.ndarray | None = None,
        seed: int = 0,
        compiled: Compiled,
    ) -> None:
        self._model, self._optimizer, self.loss = model, optimizer, loss
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        # Trained values that the variables don't have yet: copying them after each call is slow.
        self._values: list[np.ndarray] | None = None
        self._states: list[np.ndarray] | None = None
        self.compiled = compiled
        self.feed(inputs, targets, lengths)
        self.seeds = compiled.random.seeds(seed)

    def feed(self, inputs: Any, targets: Any, lengths: np.ndarray | None = None) -> None:
        """Replace the data, for example by those of the next steps only."""
        self.inputs, self.targets = tf.convert_to_tensor(inputs), tf.convert_to_tensor(targets)
        self._lengths = lengths

    @property
    def model(self) -> InMemoryModel:
        """The model with its trained values."""
        self.fill_model()
        return self._model

    def fill_model(self) -> None:
        """Copy the trained values into the model's variables."""
        self._values = _put(self._values, self._model.trainable_variables)

    def values(self) -> list[np.ndarray]:
        """Return the values of all variables of the model, also those not yet copied to it."""
        trained = zip(self._model.trainable_variables, self._trained_values(), strict=True)
        values = {id(variable): value for variable, value in trained}
        return [values[id(v)] if id(v) in values else v.numpy() for v in self._model.variables]

    @property
    def optimizer(self) -> keras.Optimizer:
        """The optimizer with its trained states."""
        self._states = _put(self._states, self._optimizer.variables)
        return self._optimizer

    def train(self, plan: BatchPlan, rates: np.ndarray, first_step: int) -> StepLosses:
        """Take the steps of a plan; returns the losses of real rows before each update.

        Plans of one shape share one compilation. `rates` (steps,) are the learning rates;
        `first_step` is the number of gradient steps that the run took before.
        """
        request = self.request(plan, rates, first_step)
        if self.stack is None:
            (result,) = self.compiled.train([request])
        else:
            result = self.stack.submit(self.compiled, request, self.width)
        self._values, self._states = result.values, result.states
        return StepLosses(result.losses, plan.sizes)

    def request(self, plan: BatchPlan, rates: np.ndarray, first_step: int) -> TrainRequest:
        """Return the request for `train`, which may be executed with those of other runs."""
        states = self._states or _read(self._optimizer.variables)
        data = self.inputs, self.targets, self.seeds
        widths = self.compiled.widths(plan, self._lengths)
        return TrainRequest(self._trained_values(), states, *data, plan, widths, rates, first_step)

    def predict(self, rows: np.ndarray, inputs: Any = None) -> np.ndarray:
        """Return the outputs (len(rows), ...) of some rows, without dropout, in their order.

        `inputs` of the same shape may replace the run's inputs. If there are lengths, a batch has
        rows of similar length. Stacked runs predict together as they train.
        """
        if len(rows) == 0:
            return np.zeros((0, *self.targets.shape[1:]), np.float32)
        inputs = self.inputs if inputs is None else tf.convert_to_tensor(inputs)
        rows, order = np.asarray(rows), np.arange(len(rows))
        if self._lengths is not None:
            order = np.argsort(self._lengths[rows], kind="stable")
        plan = plan_in_order(rows[order], _PREDICTION_BATCH)
        widths = self.compiled.widths(plan, self._lengths)
        request = PredictRequest(self._trained_values(), inputs, plan, widths)
        if self.stack is None:
            (outputs,) = self.compiled.predict([request])
        else:
            outputs = self.stack.submit(self.compiled, request, self.width)
        return outputs[: len(rows)][np.argsort(order)]

    def attention_weights(self, inputs: np.ndarray) -> np.ndarray | None:
        """Return the model's attention weights for some inputs; None without attention."""
        return self.compiled.attention_weights(self._trained_values(), inputs)

    def evaluate(self, rows: np.ndarray) -> float:
        """Return the mean loss over some rows, each with equal weight."""
        outputs = tf.constant(self.predict(rows))
        losses = self.loss(tf.gather(self.targets, rows), outputs)
        return float(np.mean(np.asarray(losses, np.float64)))

    def _trained_values(self) -> list[np.ndarray]:
        return self._values or _read(self._model.trainable_variables)


def _read(variables: Sequence[keras.Variable]) -> list[np.ndarray]:
    return [variable.numpy() for variable in variables]


def _put(values: Sequence[np.ndarray] | None, variables: Sequence[keras.Variable]) -> None:
    """Assign values to variables, unless there are none; returns None, the new pending values."""
    if values is not None:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


def _stack(parts: Sequence[Sequence[Any]]) -> list[tf.Tensor]:
    """Stack the runs' arrays: runs of several arrays become several arrays (runs, ...)."""
    return [tf.constant(np.stack(arrays)) for arrays in zip(*parts, strict=True)]
