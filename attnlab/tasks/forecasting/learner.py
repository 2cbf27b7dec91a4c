"""Learning to forecast: one compiled program takes the steps of an epoch over resident windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.tasks.base import Losses
from attnlab.tasks.forecasting.data.intervals import FEWEST, interval_ends
from attnlab.training.batches import BatchPlan, shuffled_plan
from attnlab.training.epoch_program import Compiled, Program
from attnlab.training.optimizers import make_optimizer
from attnlab.training.program_cache import shared_program

if TYPE_CHECKING:
    from attnlab.tasks.base import Report
    from attnlab.tasks.forecasting.data.windows import Splits
    from attnlab.tasks.forecasting.task import ForecastingTask

_EXAMPLES = 8  # windows whose attention weights are kept for the figure
_CHUNK = 1024  # steps between two looks at the progress: most epochs have fewer


class ForecastLearner:
    """A model of a loaded forecasting task on its windows; see `Learner`."""

    def __init__(self, config: RunConfig, task: ForecastingTask, model: keras.Model) -> None:
        self._task, self._seed = task, config.seed
        self._batch_size = config.trainer.batch_size
        self._rows, inputs, targets = _resident(task.splits)
        settings, jit = config.optimizer, config.trainer.jit is not False
        parts = model, make_optimizer(settings.name, settings.settings), task.loss
        shapes = (inputs.shape, targets.shape, self._batch_size)
        compiled = shared_program(config, model, lambda: Compiled(*parts, jit=jit), *shapes)
        self._program = Program(*parts, inputs, targets, seed=config.seed, compiled=compiled)
        batch = min(self._batch_size, len(self._rows["train"]))
        dropout = [part.settings.get("dropout") for part in (config.model, config.attention)]
        # What draws random numbers draws them for one run.
        self.stackable = 1 if any(dropout) else model.stackable(batch)

    @property
    def model(self) -> keras.Model:
        """What is trained."""
        return self._program.model

    @property
    def optimizer(self) -> keras.Optimizer:
        """What trains it."""
        return self._program.optimizer

    @property
    def width(self) -> int:
        """How many runs there are in the stack in which its steps are taken."""
        return self._program.width

    @width.setter
    def width(self, width: int) -> None:
        self._program.width = width

    def chunks(self, epoch: int) -> list[BatchPlan]:
        """The whole epoch as one chunk, a long one as several."""
        plan = shuffled_plan(self._rows["train"], self._batch_size, self._seed, epoch)
        parts = [slice(first, first + _CHUNK) for first in range(0, plan.steps, _CHUNK)]
        return [BatchPlan(plan.indices[part], plan.weights[part]) for part in parts]

    def train(self, chunk: BatchPlan, rates: np.ndarray, first_step: int) -> Losses:
        """Take the steps of a chunk; see `Program.train`."""
        return Losses(self._program.train(chunk, rates, first_step), chunk.sizes)

    def validate(self, epoch: int) -> dict[str, float]:
        """`val_loss`, the mean over the validation windows."""
        rows = self._rows["validation"]
        return {"val_loss": self._program.evaluate(rows)} if len(rows) else {}

    def report(self) -> Report:
        """The test part's forecast beside the baselines, in its interval where one is known."""
        forecast = self._program.predict(self._rows["test"])
        if not len(self._rows["validation"]):
            return self._task.report(forecast, "test")
        ends = interval_ends(self._validation_errors())
        known = bool(np.isfinite(ends[:, : forecast.shape[1]]).all())
        report = self._task.report(forecast, "test", ends if known else None)
        if not known:
            report.notes.append(f"No 95 % interval: it takes {FEWEST} validation windows.")
        return report

    def _validation_errors(self) -> np.ndarray:
        """Target - forecast, (n, K); beyond the horizon forecasts become history."""
        rows, expected = self._rows["validation"], self._task.validation_targets()
        known, steps = self._program.inputs.numpy(), self._program.inputs.shape[1]
        forecast = self._program.predict(rows)
        while forecast.shape[1] < expected.shape[1]:
            inputs = known.copy()
            inputs[rows, :, 0] = np.hstack([known[rows, :, 0], forecast])[:, -steps:]
            forecast = np.hstack([forecast, self._program.predict(rows, inputs)])
        return expected - self._task.report_units(forecast[:, : expected.shape[1]])

    def extra_reports(self) -> dict[str, Any]:
        """Metrics on the task's extra parts; None where the weights fit one length only."""
        found: dict[str, Any] = {}
        for name, windows in self._task.splits.extra.items():
            if self.model.fixed_length not in (None, windows.history.shape[1]):
                found[name] = None
                continue
            found[name] = self._task.evaluate(self.model, name).brief()
        return found

    def examples(self) -> dict[str, np.ndarray] | None:
        """On a few test windows, `weights` (N, H, T, S), `history` (N, S) in the report's units.

        The windows are those at `index` (N,). Of a decoder's queries, `ahead` (T,) is the first
        step that each forecasts.
        """
        test = self._task.splits.test
        chosen = test.spread(_EXAMPLES)
        weights = self._program.attend(test.history[chosen])
        if weights is None:
            return None
        ahead = self.model.ahead
        return {
            "weights": np.asarray(weights, np.float32),
            "history": self._task.report_units(test.history[chosen, :, 0]).astype(np.float32),
            "index": test.index[chosen],
            **({} if ahead is None else {"ahead": np.array(ahead)}),
        }

    def draw_epoch(self, epoch: int, folder: Path) -> list[Path]:
        """Nothing: an epoch is over before a figure is drawn."""
        return []


def _resident(splits: Splits) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """All parts in one array, so that one compiled program serves them; and each part's rows."""
    parts = splits.parts()
    rows, first = {"validation": np.arange(0)}, 0
    for name, windows in parts.items():
        rows[name] = np.arange(first, first + len(windows))
        first += len(windows)
    inputs = np.concatenate([windows.history for windows in parts.values()])
    targets = np.concatenate([windows.target for windows in parts.values()])
    return rows, inputs, targets
