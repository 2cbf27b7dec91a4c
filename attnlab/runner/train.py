"""One run, from its configuration to its result."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.config.options import failure
from attnlab.config.sections import RunConfig
from attnlab.errors import CannotResume, Pruned, RequestError, RunFailed
from attnlab.records.checkpoints import Checkpoint, Checkpoints
from attnlab.records.environment import differences, environment
from attnlab.records.logs import in_words, logging_to
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import hold
from attnlab.runner import console
from attnlab.runner.building import (
    check_devices,
    check_model,
    make_learner,
    make_task,
    memory_errors_explained,
    start_afresh,
)
from attnlab.runner.command import check_for_interrupt
from attnlab.runner.console import Screen, screen
from attnlab.runner.follow import Follower, start_following, wait_for
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


def run(config: RunConfig, sweep: SweepMember | None = None, quiet: bool = False) -> Path:
    """Train and evaluate a run, with its figures and its copy in MLflow; returns its folder.

    A run of a sweep prints nothing, and the sweep makes its figures and its copy.

    Args:
        config: the configuration.
        sweep: the sweep that the run belongs to.
        quiet: whether the result is not printed.

    Raises:
        RequestError: the settings don't fit the data, or the runs folder can't be written. Nothing
            is left behind, except a failed run of a sweep.
        RunFailed: the loss was not finite, or the result could not be written.
        Pruned: the search stopped the run.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    started, follower = time.perf_counter(), None
    with screen(quiet=sweep is not None) as shown:
        if sweep is None:
            task, data = prepare(config, shown)
        folder = RunDirectory.create(
            Path(config.paths.runs).expanduser(),
            config.task.name,
            config.attention.name,
            config.seed,
            config.document,
            config_hash=config.digest,
            **status_entries(config, sweep),
        )
        with hold(folder.path):
            if sweep is None:
                follower = start_following(folder.path)
            else:
                with _failure_recorded(folder.status.write):
                    task, data = prepare(config, shown)
            metrics = Training(config, task, data, folder, shown, started, sweep).execute()
    finish(config, folder, metrics, follower, quiet or sweep is not None)
    return folder.path


def status_entries(config: RunConfig, sweep: SweepMember | None) -> dict[str, Any]:
    """Return what status.json has of a run apart from its settings and its progress."""
    return {**config.beyond_settings, **({"sweep": sweep.name} if sweep else {})}


def prepare(config: RunConfig, shown: Screen) -> tuple[Task, TaskData]:
    """Return the task and its data; refuse settings that don't fit before a folder is made."""
    task = make_task(config)
    check_devices(config)
    check_model(config, task)
    data = task.load(config.seed, shown.working)
    if not data.counts().get("validation"):
        needs = {"trainer.patience": config.trainer.patience}
        if config.schedule.name == "plateau":
            needs["schedule"] = "plateau"
        for key, value in needs.items():
            if value is not None:
                raise RequestError(
                    f"{key}={value} needs validation data, and these data have none: add a "
                    f"validation part, or leave {key} out."
                )
    config.require_same_files()  # the files just read have the hashes in the digest
    return task, data


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
    def step(self) -> int:
        """Gradient steps taken."""
        return self.steps_taken + sum(map(len, self.losses))

    def end_epoch(self, row: dict[str, float]) -> None:
        """Finish the current epoch with its row of the history."""
        self.steps_taken = self.step
        self.history.append(row)
        self.chunks_done, self.epoch_seconds, self.losses, self.sizes = 0, 0.0, [], []

    def scores(self, metric: str) -> tuple[list[float], list[float]]:
        """Return the monitored value and the validation loss per epoch.

        NaN stands for epochs without one. Without validation data there are no monitored values.
        """
        values = [row[metric] for row in self.history if metric in row]
        return values, [row.get("val_loss", math.nan) for row in self.history]

    def best_epoch(self, monitor: Monitor) -> int:
        """Return the best epoch so far; without validation data the last one."""
        return monitor.best_epoch(*self.scores(monitor.metric)) or len(self.history)


@dataclass(eq=False)
class Training:
    """One run in this process: trains it, chooses the best epoch, and evaluates it."""

    config: RunConfig
    task: Task  # with its data loaded
    data: TaskData
    folder: RunDirectory  # this process holds its lock
    shown: Screen
    started: float  # `time.perf_counter()` when the run started in this process
    sweep: SweepMember | None = None
    resumed: bool = False  # whether the folder already has part of the run

    def __post_init__(self) -> None:
        self.state, self.recorder = TrainingState(), Recorder(self.config, self.folder)
        self.monitor = Monitor(*self.task.monitor, self.config.trainer.min_delta)
        self.checkpoints = Checkpoints(self.folder.checkpoint)
        self.saved, self.saved_at, self.saving_took = (-1, -1), time.perf_counter(), 0.0

    def execute(self) -> dict[str, Any]:
        """Train and evaluate the run, recorded in its folder; returns its metrics.json."""
        with logging_to(self.folder.path / "run.log"), _interruption_explained(self.folder):
            earlier = self.folder.read_environment() if self.resumed else None
            if changes := differences(earlier, environment()) if earlier else []:
                log.warning(
                    "the environment has changed since the run started (%s): the result may "
                    "differ from that of an uninterrupted run",
                    "; ".join(changes),
                )
            try:
                recorded = _failure_recorded(self.recorder.write_state)
                with recorded, memory_errors_explained(self.config):
                    metrics = self._execute()
            finally:
                self.recorder.settle()
            self.recorder.write_state("completed")
        return metrics

    def _execute(self) -> dict[str, Any]:
        trainer, on_epoch = self.config.trainer, self.sweep.on_epoch if self.sweep else None
        self.recorder.write_request(self.task, self.data)
        self.shown.say(self.data.notes)

        # The model, and the weights of the best epoch so far
        checkpoint = self.checkpoints.newest() if self.resumed else None
        learner = self._build(checkpoint)
        best_values = self._restore(learner, checkpoint) if self.resumed else learner.values()
        state = self.state
        self.shown.training(trainer.epochs, len(state.history), self.task.kind.scoring.bars)
        for row in state.history if on_epoch else ():
            on_epoch(row)

        # Epochs
        while len(state.history) < trainer.epochs:
            values, losses = state.scores(self.monitor.metric)
            if self.monitor.should_stop(values, trainer.patience, losses):
                self.shown.say([f"early stopping after epoch {len(state.history)}"])
                break
            row = self._train_epoch(learner)
            state.end_epoch(row)
            if state.best_epoch(self.monitor) == len(state.history):
                best_values = learner.values()
            self.recorder.write_epoch(learner, row)
            trained_for = (time.perf_counter() - self.saved_at) / runs_here()
            if trained_for >= _TRAINING_PER_SAVING * self.saving_took:
                self._save_checkpoint(learner)
            self.shown.advance(row)
            if on_epoch:
                on_epoch(row)
        self._save_checkpoint(learner)

        # The test part
        assign(learner.model.variables, best_values)
        self.shown.working(0, None, "scoring the test part")
        metrics, report = self._evaluate(learner)
        self.recorder.write_results(learner, metrics, report)
        with self.recorder.writing("the checkpoints"):
            self.checkpoints.keep(1)  # `resume` may train the run longer
        log.info("best epoch %d; test: %s", metrics["best_epoch"], in_words(metrics["test"]))
        return metrics

    def _build(self, checkpoint: Checkpoint | None) -> Learner:
        """Return the learner, with the compiler and the stack width that the run started with."""
        status = self.folder.status.read()
        compiler = {"trainer.jit": status["xla"]} if "xla" in status else {}
        start_afresh(self.config.seed)
        learner: Any = make_learner(self.config.with_values(compiler), self.task)
        learner.progress = self.shown.working
        width = status.get("together", 1 if checkpoint else None) or width_of(learner.stackable)
        if width > 1:
            learner.width = width
        with self.recorder.writing("status.json"):
            self.folder.status.write(xla=learner.jit, together=width)
        return learner

    def _restore(self, learner: Learner, checkpoint: Checkpoint | None) -> list[np.ndarray]:
        """Restore the state of the checkpoint; returns the values of the best epoch so far.

        Without a checkpoint the run starts again. Raises `CannotResume` if the checkpoint belongs
        to another model, or the best weights are missing.
        """
        if checkpoint is None:
            self.recorder.rewind([])
            return learner.values()
        trained, saved = learner.trained_variables(), checkpoint.state
        arrays, of_epoch = checkpoint.arrays[: len(trained)], checkpoint.arrays[len(trained) :]
        chunks, shapes = saved["chunks_done"], [tuple(variable.shape) for variable in trained]
        if [array.shape for array in arrays] != shapes or len(of_epoch) != 2 * chunks:
            raise CannotResume(
                f"{self.folder.checkpoint}: the variables of the checkpoint and of the model have "
                "different shapes, because the code has changed: train the run again."
            )
        self.state = TrainingState(**saved, losses=of_epoch[:chunks], sizes=of_epoch[chunks:])
        self.recorder.rewind(self.state.history)
        if self.state.history:
            path = self.folder.weights_path(self.state.best_epoch(self.monitor))
            try:
                load_weights(learner.model, [path], "the best weights so far")
            except RequestError as error:
                raise CannotResume(str(error)) from error
        best_values = learner.values()
        assign(learner.trained_variables(), arrays)
        log.info("resumed after epoch %d, chunk %d", len(self.state.history), chunks)
        return best_values

    def _train_epoch(self, learner: Learner) -> dict[str, float]:
        """Train the remaining chunks of the epoch and validate; returns its row of the history."""
        config, state, epoch = self.config, self.state, len(self.state.history) + 1
        self.epoch_started = time.perf_counter()
        chunks = learner.chunks(epoch)
        steps = sum(chunk.steps for chunk in chunks)
        # Rates assume that all epochs are as long as the first one.
        state.steps_an_epoch = state.steps_an_epoch or steps
        rates = learning_rates(
            config.schedule.name,
            config.schedule.settings,
            peak=config.optimizer.settings["learning_rate"],
            first_step=state.steps_taken,
            steps=steps,
            total_steps=config.trainer.epochs * state.steps_an_epoch,
            monitored=state.scores(self.monitor.metric)[0],
            monitor=self.monitor,
        )
        for chunk in chunks[state.chunks_done :]:
            first = state.step
            done = first - state.steps_taken
            losses = learner.train(chunk, rates[done : done + chunk.steps], first)
            wrong = np.flatnonzero(~np.isfinite(losses.values))
            if len(wrong):
                raise RunFailed(
                    f"epoch {epoch}, step {done + wrong[0] + 1}: the loss is "
                    f"{losses.values[wrong[0]]}. "
                    "A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
                )
            state.losses.append(np.asarray(losses.values))
            state.sizes.append(np.asarray(losses.sizes))
            state.chunks_done += 1
            self.shown.within((done + chunk.steps) / steps)
            check_for_interrupt()
            every = config.trainer.checkpoint_every_seconds
            if every is not None and time.perf_counter() - self.saved_at >= every:
                self._save_checkpoint(learner)
        self.shown.within(1.0, "validating")
        values, sizes = map(np.concatenate, (state.losses, state.sizes))
        loss = np.average(values.astype(np.float64), weights=sizes)
        row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
        row |= {"train_loss": float(loss), **learner.validate(epoch)}
        row["seconds"] = round(state.epoch_seconds + time.perf_counter() - self.epoch_started, 6)
        return row

    def _save_checkpoint(self, learner: Learner) -> None:
        """Save everything that the next step depends on, at most once per step."""
        state, now = self.state, time.perf_counter()
        if (len(state.history), state.step) == self.saved:
            return
        content = asdict(state)
        del content["losses"], content["sizes"]  # arrays
        content["seconds"] += now - self.started
        if state.chunks_done:
            content["epoch_seconds"] += now - self.epoch_started
        with self.recorder.writing("a checkpoint"):
            arrays = [*learner.trained_values(), *state.losses, *state.sizes]
            self.checkpoints.save(state.step, content, arrays)
        self.saved, self.saved_at = (len(state.history), state.step), time.perf_counter()
        self.saving_took = self.saved_at - now

    def _evaluate(self, learner: Learner) -> tuple[dict[str, Any], Report]:
        """Return the content of metrics.json, and the report on the test split."""
        config, report = self.config, learner.report()
        monitored, _ = self.state.scores(self.monitor.metric)
        best_epoch = self.state.best_epoch(self.monitor)
        scores, notes = report.scores(), list(report.notes)
        if not monitored:
            notes.append("There are no validation data, so the result is of the last epoch.")
        if config.earlier_epochs:
            notes.append(_TRAINED_LONGER.format(" and ".join(map(str, config.earlier_epochs))))
        metrics = {
            "task": config.task.name,
            "attention": config.attention.name,
            "model": config.model.name,
            "seed": config.seed,
            "monitor": self.monitor.metric if monitored else None,
            "best_epoch": best_epoch,
            "best_value": monitored[best_epoch - 1] if monitored else None,
            "epochs": len(self.state.history),
            "test": scores.pop("metrics"),
            **scores,
            "extra": learner.extra_reports(),
            "parameters": learner.model.count_params(),
            "seconds": self.state.seconds + time.perf_counter() - self.started,
            "notes": notes,
        }
        return metrics, report


def finish(
    config: RunConfig,
    folder: RunDirectory,
    metrics: Mapping[str, Any],
    follower: Follower | None,
    quiet: bool,
) -> None:
    """Print the result, and wait for the figures and MLflow's copy of a completed run.

    Raises `RunFailed` if the result isn't on disk, even if it was printed.
    """
    if not quiet:
        console.print_result(metrics, folder.path)
    if follower is not None:
        with logging_to(folder.path / "run.log"), _interruption_explained(folder):
            wait_for(follower, config.tracking.timeout)
    if stored_metrics(folder) is None:
        raise RunFailed(f"the result could not be written to {folder.path}")


def stored_metrics(folder: RunDirectory) -> dict[str, Any] | None:
    """Return the metrics.json of a completed run; None if it is missing or from fewer epochs.

    The disk may have been full when the run wrote its result.
    """
    with suppress(RequestError):
        status, metrics = folder.status.read(), folder.read_metrics()
        trained = status.get("epoch", 0)
        if status["state"] == "completed" and metrics.get("epochs", trained) >= trained:
            return metrics
    return None


@contextmanager
def _interruption_explained(folder: RunDirectory) -> Iterator[None]:
    """Add the way to resume the run to a `KeyboardInterrupt`."""
    try:
        yield
    except KeyboardInterrupt as stop:
        status = folder.status.read()
        then = f"attnlab resume {folder.word} continues it"
        if status["state"] == "completed":
            then = "it is complete, and attnlab runs sync sends it to MLflow"
        when = f"after epoch {status['epoch']}" if status["epoch"] else "in the first epoch"
        raise KeyboardInterrupt(f"{when}; run folder {folder.path}; {then}") from stop


@contextmanager
def _failure_recorded(write: Callable[..., None]) -> Iterator[None]:
    """Write the state and the error with `write` if the body raises."""
    try:
        yield
    except KeyboardInterrupt:
        write("killed", error="interrupted")
        raise
    except Pruned as pruned:
        write("killed", error=f"pruned: {pruned}", pruned=True)
        raise
    except Exception as error:
        log.info("the run failed", exc_info=True)
        write("failed", error=failure(error))
        raise
