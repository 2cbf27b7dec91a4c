"""Train a language model: one compiled program runs an epoch."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.attention.head_measures import measured, recorded
from attnlab.config.sections import RunConfig
from attnlab.tasks.in_memory import InMemoryLearner
from attnlab.tasks.language.data import Asked, Stream, asked_rows
from attnlab.tasks.language.generation import Generator, sample
from attnlab.tasks.language.report import build_report, examples
from attnlab.tasks.language.scoring import Scorer
from attnlab.training.batches import BatchPlan, filled_plan
from attnlab.training.steps import is_faster_with_xla, step_operations

if TYPE_CHECKING:
    from attnlab.tasks.base import Losses, Report
    from attnlab.tasks.language.models.model import LanguageModel
    from attnlab.tasks.language.task import LanguageTask

_MEASURED = 64  # windows on which the heads are measured
_STEPS_FOR_XLA = 500  # of a run: compiling takes about 10 CPU s, a step 6 to 50 CPU ms less
_VALIDATED = 4096  # windows that validation scores at least, if the text has as many
_SHOWN = 48  # tokens on the picture of attention


class LanguageLearner(InMemoryLearner):
    """Trains a model on windows of a stream, or on rows; see `Learner`.

    An epoch of a stream has `task.windows` windows, whose first tokens are drawn with replacement
    from (seed, epoch), as in nanoGPT. The compiled program gets the windows of a chunk one after
    the other, so a stream may be larger than memory.
    """

    def __init__(self, config: RunConfig, task: LanguageTask, model: LanguageModel) -> None:
        self._task, train = task, task.data.parts["train"]
        self._places = 0  # possible first tokens of a window
        if isinstance(train, Stream):
            self._places = len(train) - task.context
            inputs = targets = np.zeros(config.trainer.step_size, train.tokens.dtype)
        else:
            asked = asked_rows(train)
            inputs = np.concatenate([asked.tokens, asked.places], axis=1)
            targets = asked.targets
        super().__init__(
            config,
            model,
            task.loss,
            {"train": inputs},
            {"train": targets},
            faster_with_xla=self._is_faster_with_xla(config, model, len(targets)),
            sizes=(task.context,),
        )
        self._scorer = Scorer(model)
        self._line: np.ndarray | None = None  # the sample of a text

    def _is_faster_with_xla(self, config: RunConfig, model: LanguageModel, rows: int) -> bool:
        """Return whether XLA gains more in the steps of a run than compiling costs."""
        batch, items = config.trainer.batch_size, rows
        if self._places:
            items = self._task.windows_per_epoch
        steps = config.trainer.epochs * -(-items // config.trainer.step_size)
        if model.border is None or steps < _STEPS_FOR_XLA:
            return False
        operations = step_operations(model, min(batch, items) * self._task.context)
        return is_faster_with_xla(operations, model.border)

    def chunks(self, epoch: int) -> list[BatchPlan]:
        """Return the epoch's steps, as windows with other first tokens in every epoch."""
        if not self._places:
            return super().chunks(epoch)
        random = np.random.default_rng([self._seed, epoch])
        starts = random.integers(0, self._places, self._task.windows_per_epoch)
        return self.in_chunks(filled_plan(starts, min(self._batch_size, len(starts))))

    def train(self, chunk: BatchPlan, rates: np.ndarray, first_step: int) -> Losses:
        """Run the steps of a chunk; see `InMemoryLearner.train`."""
        if not self._places:
            return super().train(chunk, rates, first_step)
        train, width = self._task.data.parts["train"], self._task.context + 1
        windows = train.tokens[chunk.indices[..., None] + np.arange(width)]
        self.program.feed(windows.reshape(-1), windows[0, 0])
        firsts = np.arange(chunk.indices.size, dtype=np.int32) * width
        plan = BatchPlan(firsts.reshape(chunk.indices.shape), chunk.weights)
        return super().train(plan, rates, first_step)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return `val_loss` (nats per token) and `val_bits_per_byte`; of rows `val_accuracy`."""
        asked, size = self._validation
        self.program.fill_model()  # the scorer reads its variables
        scores = self._scorer(asked)
        if self._places:
            nats = scores.losses.sum(dtype=np.float64)
            return {
                "val_loss": scores.loss,
                "val_bits_per_byte": float(nats / (math.log(2) * size)),
            }
        right = scores.tokens == asked.targets
        return {"val_loss": scores.loss, "val_accuracy": float(right[scores.known].mean())}

    @cached_property
    def _validation(self) -> tuple[Asked, float]:
        """The windows or rows of the validation part that are scored, and their bytes if a text.

        Of a long text, these are windows at equal distances: as many as an epoch has, but at least
        4,096.
        """
        part, asked = self._task.data.parts["validation"], self._task.asked("validation")
        if not isinstance(part, Stream):
            return asked, 0.0
        all_windows = len(asked.tokens)
        most = min(max(self._task.windows_per_epoch, _VALIDATED), all_windows)
        chosen = np.arange(most) * all_windows // most
        return asked.at(chosen), float(part.bytes_of(asked)[chosen].sum())

    def report(self) -> Report:
        """Score the test part and the baselines, and continue the start of a text as a sample."""
        self.program.fill_model()
        found = build_report(self._task, "test", self._scorer(self._task.asked("test")))
        if not self._places:
            return found
        self._line = sample(Generator(self.model), self._task, self._seed)
        text = self._task.vocabulary.decode(self._line)
        notes = [*found.notes, f"a sample: {' '.join(text.split())}"]
        details = {**found.details, "sample": text, **self._first_token()}
        return replace(found, notes=notes, details=details)

    def _first_token(self) -> dict[str, float]:
        """Return `first_token`, the mean of `first` in `head_measures` over all heads and layers.

        It is missing if no layer attends.
        """
        inputs, tokens = self._task.head_inputs(self.model, "test", _MEASURED)
        with recorded(self.model) as found:
            self.model(inputs, training=False)
        first = [measured(looked, tokens)["first"].mean() for looked in found.values()]
        return {"first_token": round(float(np.mean(first)), 5)} if first else {}

    def examples(self) -> dict[str, Any] | None:
        """Return attention on the sample of `report`, or on a test row; see `examples`."""
        tokens = self._line
        if tokens is None:
            rows = self._task.asked("test")
            last = int(rows.places[0][rows.known[0]].max())  # padding follows
            tokens = rows.tokens[0] if self.model.fixed_length else rows.tokens[0, : last + 1]
        return examples(self._task, tokens[: min(_SHOWN, self._task.context)], self.program.attend)
