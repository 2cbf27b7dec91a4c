"""The training loop of one run: epochs, checkpoints, evaluation."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.errors import CannotResume, RequestError, RunFailed
from attnlab.records.checkpoints import Checkpoint, Checkpoints
from attnlab.records.logs import in_words
from attnlab.records.run_directory import RunDirectory
from attnlab.runner.building import make_learner, start_afresh
from attnlab.runner.command import check_for_interrupt
from attnlab.runner.console import Screen, about_losses
from attnlab.runner.loading import load_weights
from attnlab.runner.recorder import Recorder
from attnlab.tasks.base import Learner, Report, Task, TaskData, assign
from attnlab.training.schedules import Monitor, learning_rates
from attnlab.training.stacking import runs_here, width_of

log = logging.getLogger("attnlab")
OnEpoch = Callable[[Mapping[str, float]], None]
# The next checkpoint waits until training took this many times as long as saving the last one.
_TRAINING_PER_SAVING = 20.0
_TRAINED_LONGER = (
    "The run was first trained with trainer.epochs={}, then longer. A run with all epochs from the "
    "start may have other learning rates, or be scored in other epochs."
)


@dataclass(frozen=True)
class SweepMember:
    """A run's place in a sweep."""

    name: str
    # called with each row of the history, also those before a resumption; may raise `Pruned`
    on_epoch: OnEpoch | None = None
    retry_failed: bool = False  # whether a failed run is repeated


@dataclass
class TrainingState:
    """The progress of a run's training, as checkpoints store it."""

    history: list[dict[str, float]] = field(default_factory=list)  # a row per finished epoch
    steps_taken: int = 0  # gradient steps of the finished epochs
    steps_an_epoch: int = 0  # steps of the first epoch, which the schedule uses; 0 before it
    chunks_done: int = 0  # of the current epoch
    seconds: float = 0.0  # spent on the run by earlier processes
    epoch_seconds: float = 0.0  # spent on the current epoch by earlier processes
    losses: list[np.ndarray] = field(default_factory=list)  # of this epoch, an array per chunk
    sizes: list[np.ndarray] = field(default_factory=list)  # items or tokens that each loss averages

    @property
    def epochs(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    @property
    def steps_in_epoch(self) -> int:
        """Gradient steps taken in the current epoch."""
        return sum(map(len, self.losses))

    def end_epoch(self, row: dict[str, float]) -> None:
        """Finish the current epoch with its row of the history."""
        self.steps_taken += self.steps_in_epoch
        self.history.append(row)
        self.chunks_done, self.epoch_seconds, self.losses, self.sizes = 0, 0.0, [], []

    def to_json(self) -> dict[str, Any]:
        """Return everything but the arrays, JSON-ready."""
        return {k: v for k, v in asdict(self).items() if k not in ("losses", "sizes")}


@dataclass(eq=False)
class Session:
    """One run in this process: trains, evaluates and saves it."""

    config: RunConfig
    task: Task  # loaded
    data: TaskData
    folder: RunDirectory
    started: float  # `time.perf_counter()` when the run started in this process
    screen: Screen
    sweep: SweepMember | None = None
    resumed: bool = False  # whether the folder already has part of the run

    def __post_init__(self) -> None:
        self.state = TrainingState()
        self._monitor = Monitor(*self.task.monitor, self.config.trainer.min_delta)
        self._checkpoints = Checkpoints(self.folder.checkpoint)
        self._best_values: list[np.ndarray] = []  # of the model's variables
        self._epoch_started = 0.0
        self._saved, self._saved_at, self._saving_took = (-1, -1), time.perf_counter(), 0.0

    def execute(self, recorder: Recorder) -> dict[str, Any]:
        """Train, choose the best epoch, evaluate it and save everything; returns the metrics."""
        self.recorder = recorder
        self.recorder.write_request(self.task, self.data)
        self.screen.say(self.data.notes)
        checkpoint = self._checkpoints.newest() if self.resumed else None
        config = self._as_compiled()
        start_afresh(self.config.seed)
        done = checkpoint.state["history"] if checkpoint else []
        learner = make_learner(config, self.task)
        learner.progress = self.screen.working
        self._fix_program(learner, checkpoint)
        self._best_values = learner.values()
        if self.resumed:
            self._restore(learner, checkpoint)
        self.screen.say(about_losses(self.config.document))
        self.screen.training(self.config.trainer.epochs, len(done), self.task.kind.scoring.bars)
        self._train(learner)
        assign(learner.model.variables, self._best_values)
        self.screen.working(0, None, "scoring the test part")
        metrics, report = self._evaluate(learner)
        self.recorder.write_results(learner, metrics, report)
        with self.recorder.writing("the checkpoints"):
            self._checkpoints.keep(1)  # `resume` may train the run longer
        log.info("best epoch %d; test: %s", metrics["best_epoch"], in_words(metrics["test"]))
        return metrics

    def _as_compiled(self) -> RunConfig:
        """Return the configuration with the compiler that the run started with, if it has."""
        xla = self.folder.status.read().get("xla")
        if xla is None:
            return self.config
        return self.config.with_values({"trainer.jit": xla})

    def _fix_program(self, learner: Any, checkpoint: Checkpoint | None) -> None:
        """Record the compiler and the stack width: a resumed run needs both for equal bits."""
        status = self.folder.status.read()
        entries: dict[str, Any] = {} if "xla" in status else {"xla": learner.jit}
        width = status.get("together", 1 if checkpoint else None)
        if width is None:  # nothing is trained yet
            width = width_of(learner.stackable)
            entries |= {"together": width} if width > 1 else {}
        if entries:
            with self.recorder.writing("status.json"):
                self.folder.status.write(**entries)
        if width > 1:
            learner.width = width

    def _monitored(self) -> list[float]:
        """The monitored value per epoch, NaN for epochs without a score; [] without validation."""
        metric = self._monitor.metric
        return [row[metric] for row in self.state.history if metric in row]

    def _losses(self) -> list[float]:
        """The validation loss per epoch; NaN for epochs without one."""
        return [row.get("val_loss", math.nan) for row in self.state.history]

    # Training

    def _train(self, learner: Learner) -> None:
        """Train the remaining epochs and store the weights of the best epoch so far.

        Without validation data the best epoch is the last one.
        """
        trainer, on_epoch = self.config.trainer, self.sweep.on_epoch if self.sweep else None
        for row in self.state.history if on_epoch else ():  # of a resumed run
            on_epoch(row)
        while self.state.epochs < trainer.epochs:
            if self._monitor.should_stop(self._monitored(), trainer.patience, self._losses()):
                log.info("early stopping after epoch %d", self.state.epochs)
                break
            row = self._epoch(learner)
            self.state.end_epoch(row)
            if self._best_epoch() == self.state.epochs:
                self._best_values = learner.values()
            self.recorder.write_epoch(learner, row)
            training = (time.perf_counter() - self._saved_at) / runs_here()
            if training >= _TRAINING_PER_SAVING * self._saving_took:
                self._save_checkpoint(learner)
            self.screen.advance(row)
            if on_epoch:
                on_epoch(row)
        self._save_checkpoint(learner)

    def _best_epoch(self) -> int:
        return self._monitor.best_epoch(self._monitored(), self._losses()) or self.state.epochs

    def _epoch(self, learner: Learner) -> dict[str, float]:
        """Train the rest of the current epoch and validate; returns its row of the history."""
        state, epoch = self.state, self.state.epochs + 1
        self._epoch_started = time.perf_counter()
        chunks = learner.chunks(epoch)
        steps = sum(chunk.steps for chunk in chunks)
        if not state.steps_an_epoch:
            state.steps_an_epoch = steps
            log.debug("batch plan: %d steps an epoch, in %d chunks", steps, len(chunks))
        rates = self._learning_rates(steps)
        for chunk in chunks[state.chunks_done :]:
            done = state.steps_in_epoch
            own_rates = rates[done : done + chunk.steps]
            first = state.steps_taken + done
            losses = learner.train(chunk, own_rates, first)
            if first == 0:
                took = time.perf_counter() - self._epoch_started
                log.debug("the first %d steps took %.2f s with compilation", chunk.steps, took)
            _require_finite(losses.values, epoch, done)
            state.losses.append(np.asarray(losses.values))
            state.sizes.append(np.asarray(losses.sizes))
            state.chunks_done += 1
            self.screen.within((done + chunk.steps) / steps)
            check_for_interrupt()
            every = self.config.trainer.checkpoint_every_seconds
            if every is not None and time.perf_counter() - self._saved_at >= every:
                self._save_checkpoint(learner)
        self.screen.within(1.0, "validating")
        values, sizes = map(np.concatenate, (state.losses, state.sizes))
        loss = np.average(values.astype(np.float64), weights=sizes)
        row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
        row |= {"train_loss": float(loss), **learner.validate(epoch)}
        row["seconds"] = round(self._seconds_in_epoch(), 6)
        return row

    def _seconds_in_epoch(self) -> float:
        return self.state.epoch_seconds + time.perf_counter() - self._epoch_started

    def _learning_rates(self, steps: int) -> np.ndarray:
        """Return the rate of each step of the next epoch, assuming epochs as long as the first."""
        config = self.config
        return learning_rates(
            config.schedule.name,
            config.schedule.settings,
            peak=config.optimizer.settings["learning_rate"],
            first_step=self.state.steps_taken,
            steps=steps,
            total_steps=config.trainer.epochs * self.state.steps_an_epoch,
            monitored=self._monitored(),
            monitor=self._monitor,
        )

    # Checkpoints

    def _save_checkpoint(self, learner: Learner) -> None:
        """Save everything that the next step depends on, at most once per step."""
        state, started = self.state, time.perf_counter()
        step = state.steps_taken + state.steps_in_epoch
        if (state.epochs, step) == self._saved:
            return
        content = state.to_json()
        content["seconds"] += started - self.started
        if state.chunks_done:
            content["epoch_seconds"] = self._seconds_in_epoch()
        arrays = learner.trained_values()
        with self.recorder.writing("a checkpoint"):
            self._checkpoints.save(step, content, [*arrays, *state.losses, *state.sizes])
        self._saved, self._saved_at = (state.epochs, step), time.perf_counter()
        self._saving_took = self._saved_at - started

    def _restore(self, learner: Learner, checkpoint: Checkpoint | None) -> None:
        """Restore the state of the checkpoint; without one the run starts again.

        Raises `CannotResume` if the checkpoint belongs to another model, or the best weights are
        missing.
        """
        if checkpoint is None:
            self.recorder.rewind([])
            return
        trained, saved = learner.trained_variables(), checkpoint.state
        arrays, rest = checkpoint.arrays[: len(trained)], checkpoint.arrays[len(trained) :]
        shapes = [tuple(variable.shape) for variable in trained]
        if [array.shape for array in arrays] != shapes or len(rest) != 2 * saved["chunks_done"]:
            raise CannotResume(
                f"{self.folder.checkpoint}: the variables of the checkpoint and of the model have "
                "different shapes, because the code has changed: train the run again."
            )
        half = saved["chunks_done"]
        self.state = TrainingState(**saved, losses=rest[:half], sizes=rest[half:])
        self.recorder.rewind(self.state.history)
        if self.state.epochs:
            path = self.folder.weights_path(self._best_epoch())
            try:
                load_weights(learner.model, [path], "the best weights so far")
            except RequestError as error:
                raise CannotResume(str(error)) from error
            self._best_values = learner.values()
        assign(learner.trained_variables(), arrays)
        log.info("resumed after epoch %d, chunk %d", self.state.epochs, half)

    # The result

    def _evaluate(self, learner: Learner) -> tuple[dict[str, Any], Report]:
        """Return the content of metrics.json, and the report on the test split."""
        config, report = self.config, learner.report()
        monitored, best_epoch = self._monitored(), self._best_epoch()
        scores, notes = report.scores(), list(report.notes)
        if not monitored:
            notes.append("There are no validation data, so the result is of the last epoch.")
        if earlier := config.earlier_epochs:
            notes.append(_TRAINED_LONGER.format(" and ".join(map(str, earlier))))
        metrics = {
            "task": config.task.name,
            "attention": config.attention.name,
            "model": config.model.name,
            "seed": config.seed,
            "monitor": self._monitor.metric if monitored else None,
            "best_epoch": best_epoch,
            "best_value": monitored[best_epoch - 1] if monitored else None,
            "epochs": self.state.epochs,
            "test": scores.pop("metrics"),
            **scores,
            "extra": learner.extra_reports(),
            "parameters": learner.model.count_params(),
            "seconds": self.state.seconds + time.perf_counter() - self.started,
            "notes": notes,
        }
        return metrics, report


def _require_finite(losses: np.ndarray, epoch: int, before: int) -> None:
    """Raise `RunFailed` with epoch and step of the first loss that is not finite."""
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        step = int(wrong[0])
        raise RunFailed(
            f"epoch {epoch}, step {before + step + 1}: the loss is {losses[step]}. "
            "A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
        )
