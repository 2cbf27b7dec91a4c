"""Train on data that fit into memory, with one compiled program per epoch."""

from __future__ import annotations

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.base import Learner
from attnlab.training.compilation import program_from_cache, trains_with_xla
from attnlab.training.optimizers import make_optimizer
from attnlab.training.plan import BatchPlan, shuffled_plan, similar_plan
from attnlab.training.program import Compiled, Loss, Program
from attnlab.training.step import InMemoryModel, Parts, strategy_for

_CHUNK = 1024  # steps between two updates of the progress; most epochs have fewer


class InMemoryLearner(Program, Learner):
    """A `Learner` whose data are arrays in memory.

    Args:
        config: the run's configuration.
        model: the model to train.
        loss: `loss(target, output) -> (B,)`, one value per item.
        inputs: part, such as `train` -> inputs (N, ...).
        targets: part -> targets (N, ...).
        faster_with_xla: whether XLA trains the model faster than the graph on this CPU.
        lengths: part -> number of tokens of each input without padding, (N,). Batches then have
            inputs of similar lengths; see `Program`. None: inputs are not padded.
        sizes: further numbers on which the compiled program depends.
    """

    def __init__(
        self,
        config: RunConfig,
        model: InMemoryModel,
        loss: Loss,
        inputs: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        *,
        faster_with_xla: bool = True,
        lengths: dict[str, np.ndarray] | None = None,
        sizes: tuple[int, ...] = (),
    ) -> None:
        self._seed, self._batch_size = config.seed, config.trainer.step_size
        strategy = strategy_for(config.trainer)
        self._parts = Parts.of(config.trainer.accumulate, strategy)
        self.jit = trains_with_xla(config.trainer.jit, faster_with_xla)
        # All parts in one array, so that one compiled program serves them.
        ends = np.cumsum([len(part) for part in targets.values()])
        numbers = np.split(np.arange(ends[-1]), ends[:-1])
        self.rows = {"validation": np.arange(0), **dict(zip(targets, numbers, strict=True))}
        data = [np.concatenate([*parts.values()]) for parts in (inputs, targets)]
        settings = config.optimizer
        trained = model, make_optimizer(settings.name, settings.settings), loss

        def make() -> Compiled:
            return Compiled(*trained, jit=self.jit, parts=self._parts, strategy=strategy)

        shapes = (*(array.shape for array in data), self._batch_size, *sizes)
        compiled = program_from_cache(config, model, make, *shapes, self._parts.devices)
        joined = None if lengths is None else np.concatenate([*lengths.values()])
        super().__init__(*trained, *data, lengths=joined, seed=config.seed, compiled=compiled)
        batch = min(self._batch_size, len(self.rows["train"]))
        # TensorFlow's own kernels round by position in the stack: other runs would change results.
        self.stackable = model.stackable(batch) if self.jit and strategy is None else 1

    def chunks(self, epoch: int) -> list[BatchPlan]:
        """Return the epoch as one chunk, or a long epoch as several."""
        rows = self.rows["train"]
        return self.planned(rows, None if self._lengths is None else self._lengths[rows], epoch)

    def planned(self, rows: np.ndarray, lengths: np.ndarray | None, epoch: int) -> list[BatchPlan]:
        """Return the chunks of an epoch that takes each row once; rows may differ in length."""
        drawn = self._batch_size, self._seed, epoch
        if lengths is None:
            return self.in_chunks(shuffled_plan(rows, *drawn))
        return self.in_chunks(similar_plan(rows, lengths, *drawn))

    def in_chunks(self, plan: BatchPlan) -> list[BatchPlan]:
        """Return a plan as one chunk, or a long one as several, with batches of equal parts."""
        arrays = [self._parts.pad(array, 0) for array in (plan.indices, plan.weights)]
        steps = [slice(first, first + _CHUNK) for first in range(0, plan.steps, _CHUNK)]
        return [BatchPlan(*(array[part] for array in arrays)) for part in steps]
