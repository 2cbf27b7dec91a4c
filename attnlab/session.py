"""A run under way: its epochs, what they leave in the folder and in MLflow, its checkpoints."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab import __version__, console, outcome
from attnlab.assembly import make_model, start_afresh
from attnlab.errors import RequestError, RunFailed
from attnlab.learning.base import Learner, make_learner
from attnlab.records import files
from attnlab.records.checkpoints import Checkpoint, Checkpoints
from attnlab.records.environment import environment
from attnlab.records.final_metrics import tracked_metrics
from attnlab.records.run_directory import RunDirectory
from attnlab.records.tracker import NullTracker
from attnlab.schema import RunConfig

if TYPE_CHECKING:
    from attnlab.tasks.base import Report, Task, TaskData
    from attnlab.training.stopping import Monitor

log = logging.getLogger("attnlab")
OnEpoch = Callable[[Mapping[str, float]], None]
# A checkpoint waits until training has taken this many times what saving the last one took.
_TRAINING_PER_SAVING = 20.0


@dataclass
class Progress:
    """How far a run is: what its checkpoints hold beside the variables.

    Attributes:
        history: a row for each epoch that is over.
        steps_taken: gradient steps of those epochs.
        steps_an_epoch: of the first epoch, by which the schedule reckons; 0 before it.
        chunks_done: of the epoch under way.
        seconds: that earlier processes spent on the run.
        epoch_seconds: that they spent on the epoch under way.
        losses: of the epoch under way, an array for each chunk done.
        sizes: the number of items or tokens of each of these losses.
    """

    history: list[dict[str, float]] = field(default_factory=list)
    steps_taken: int = 0
    steps_an_epoch: int = 0
    chunks_done: int = 0
    seconds: float = 0.0
    epoch_seconds: float = 0.0
    losses: list[np.ndarray] = field(default_factory=list)
    sizes: list[np.ndarray] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """How many are over."""
        return len(self.history)

    @property
    def steps_in_epoch(self) -> int:
        """Gradient steps of the epoch under way."""
        return sum(map(len, self.losses))

    def end_epoch(self, row: dict[str, float]) -> None:
        """Count the epoch under way as over."""
        self.steps_taken += self.steps_in_epoch
        self.history.append(row)
        self.chunks_done, self.epoch_seconds, self.losses, self.sizes = 0, 0.0, [], []

    def state(self) -> dict[str, Any]:
        """All but the arrays, JSON-ready."""
        return {k: v for k, v in asdict(self).items() if k not in ("losses", "sizes")}


class Session:
    """A run under way: the parts that its steps share.

    Writing to the run folder may fail (a full disk) without stopping the training: the result is
    still computed and printed.

    Args:
        config: what is run.
        task: its task, loaded.
        data: the task's data.
        folder: the run's folder, owned by this process.
        tracker: the run's copy in MLflow.
        started: `time.perf_counter()` when the run began in this process.
        resumed: whether the folder holds a part of the run already.
        on_epoch: gets each row of the history; may raise `Pruned`.
    """

    def __init__(
        self,
        config: RunConfig,
        task: Task,
        data: TaskData,
        folder: RunDirectory,
        tracker: NullTracker,
        started: float,
        *,
        resumed: bool = False,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        self.config, self.task, self.data = config, task, data
        self.folder, self.tracker, self.started = folder, tracker, started
        self.resumed, self.on_epoch = resumed, on_epoch
        self.progress = Progress()
        self._checkpoints = Checkpoints(folder.checkpoint)
        self._best_weights: list[np.ndarray] = []
        self._epoch_started = 0.0
        self._saved, self._saved_at, self._saving_took = (-1, -1), time.perf_counter(), 0.0
        self._write_failed = False

    def execute(self, scratch: Path, *, quiet: bool = False) -> dict[str, Any]:
        """Train, choose the best epoch, evaluate it, and leave everything in the folder.

        Args:
            scratch: an empty folder.
            quiet: show no progress.
        """
        self._write_request()
        checkpoint = self._checkpoints.newest() if self.resumed else None
        start_afresh(self.config.seed)
        title = f"{self.config.task.name} / {self.config.attention.name}"
        done = checkpoint.state["history"] if checkpoint else []
        bar = console.progress_bar(title, self.config.trainer.epochs, len(done))
        with nullcontext(console.Bar()) if quiet else bar as shown:
            learner = make_learner(self.config, self.task, make_model(self.config, self.task))
            self._best_weights = learner.model.get_weights()
            if self.resumed:
                self._restore(learner, checkpoint)
            self._train(learner, shown)
        learner.model.set_weights(self._best_weights)
        metrics, report = self._evaluate(learner)
        self._write_results(learner, metrics, report)
        self._track_results(learner, metrics, scratch)
        # Last, while MLflow is busy with what it was just sent.
        self._draw()
        log.info("best epoch %d, test %s", metrics["best_epoch"], metrics["test"])
        return metrics

    def close(self, state: str, error: str | None = None, **entries: Any) -> None:
        """Write the final state to the folder and to MLflow."""
        with self._writing("status.json"):
            self.folder.write_status(state, error=error, **entries)
        status = {"completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}[state]
        self.tracker.finish(status)

    def _write_request(self) -> None:
        """What is about to run: before anything is computed."""
        data = self.data
        log.info("config %s", self.config.digest)
        log.info("data %s", data.describe())
        with self._writing("config.yaml"):
            self.folder.write_config(self.config.document)
            self._write_environment()
            self.folder.write_status(
                config_hash=self.config.digest,
                data_digest=data.digest,
                data={"name": data.name, "source": data.source, "counts": data.counts()},
            )
            self.task.save(self.folder.assets)
        self.tracker.log_dataset(data.name, data.source, data.digest, data.counts())

    def _write_environment(self) -> None:
        """Where the run began stays; where it went on is added."""
        now, earlier = environment(), self.folder.read_environment()
        if earlier is not None:
            now = {**earlier, "resumed": [*earlier.get("resumed", []), now]}
        self.folder.write_json("environment.json", now)

    def _monitor(self) -> Monitor:
        from attnlab.training.stopping import Monitor

        metric, mode = self.task.monitor
        return Monitor(metric, mode, self.config.trainer.min_delta)

    def _monitored(self, monitor: Monitor) -> list[float]:
        history = self.progress.history
        return [row[monitor.metric] for row in history if monitor.metric in row]

    # Training

    def _train(self, learner: Learner, bar: console.Bar) -> None:
        """The epochs that are left; keeps the weights of the best one of all.

        Without a validation part there is nothing to choose by: the last epoch is kept.
        """
        monitor, trainer = self._monitor(), self.config.trainer
        while self.progress.epochs < trainer.epochs:
            if monitor.should_stop(self._monitored(monitor), trainer.patience):
                log.info("stopped after epoch %d: nothing better since", self.progress.epochs)
                break
            row = self._epoch(learner, monitor, bar)
            self.progress.end_epoch(row)
            if self._best_epoch(monitor) == self.progress.epochs:
                self._best_weights = learner.model.get_weights()
            self._record_epoch(learner, row)
            if time.perf_counter() - self._saved_at >= _TRAINING_PER_SAVING * self._saving_took:
                self._save_checkpoint(learner)
            bar.advance(row)
            if self.on_epoch is not None:
                self.on_epoch(row)
        self._save_checkpoint(learner)

    def _best_epoch(self, monitor: Monitor) -> int:
        monitored = self._monitored(monitor)
        return monitor.best_epoch(monitored) if monitored else self.progress.epochs

    def _epoch(self, learner: Learner, monitor: Monitor, bar: console.Bar) -> dict[str, float]:
        """Train and validate once, from where the epoch stands; returns the history's row."""
        progress, epoch = self.progress, self.progress.epochs + 1
        self._epoch_started = time.perf_counter()
        chunks = learner.chunks(epoch)
        steps = sum(chunk.steps for chunk in chunks)
        progress.steps_an_epoch = progress.steps_an_epoch or steps
        rates = self._learning_rates(steps, monitor)
        for chunk in chunks[progress.chunks_done :]:
            done = progress.steps_in_epoch
            own_rates = rates[done : done + chunk.steps]
            losses = learner.train(chunk, own_rates, progress.steps_taken + done)
            _require_finite(losses.values, epoch, done)
            progress.losses.append(np.asarray(losses.values))
            progress.sizes.append(np.asarray(losses.sizes))
            progress.chunks_done += 1
            bar.within((done + chunk.steps) / steps)
            if self._is_due():
                self._save_checkpoint(learner)
        values, sizes = map(np.concatenate, (progress.losses, progress.sizes))
        loss = np.average(values.astype(np.float64), weights=sizes)
        row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
        row |= {"train_loss": float(loss), **learner.validate(epoch)}
        row["seconds"] = round(self._seconds_in_epoch(), 6)
        return row

    def _seconds_in_epoch(self) -> float:
        return self.progress.epoch_seconds + time.perf_counter() - self._epoch_started

    def _learning_rates(self, steps: int, monitor: Monitor) -> np.ndarray:
        """The rates of the next epoch's steps; every epoch is taken to be as long as the first."""
        from attnlab.training.schedules import learning_rates

        config = self.config
        return learning_rates(
            config.schedule.name,
            config.schedule.settings,
            peak=config.optimizer.settings["learning_rate"],
            first_step=self.progress.steps_taken,
            steps=steps,
            total_steps=config.trainer.epochs * self.progress.steps_an_epoch,
            monitored=self._monitored(monitor),
            monitor=monitor,
        )

    # Checkpoints

    def _is_due(self) -> bool:
        """Whether a checkpoint is wanted inside the epoch."""
        every = self.config.trainer.checkpoint_every_seconds
        return every is not None and time.perf_counter() - self._saved_at >= every

    def _save_checkpoint(self, learner: Learner) -> None:
        """Save all that the next step depends on; once for a step."""
        progress, started = self.progress, time.perf_counter()
        step = progress.steps_taken + progress.steps_in_epoch
        if (progress.epochs, step) == self._saved:
            return
        state = progress.state()
        state["seconds"] += started - self.started
        if progress.chunks_done:
            state["epoch_seconds"] = self._seconds_in_epoch()
        arrays = [variable.numpy() for variable in _variables(learner)]
        with self._writing("a checkpoint"):
            self._checkpoints.save(step, state, [*arrays, *progress.losses, *progress.sizes])
        self._saved, self._saved_at = (progress.epochs, step), time.perf_counter()
        self._saving_took = self._saved_at - started

    def _restore(self, learner: Learner, checkpoint: Checkpoint | None) -> None:
        """Put everything where the checkpoint has it; without one the run begins again.

        Raises:
            RequestError: the checkpoint is of another model, or the best weights are missing.
        """
        if checkpoint is None:
            self._rewind(0)
            return
        variables, state = _variables(learner), checkpoint.state
        arrays, rest = checkpoint.arrays[: len(variables)], checkpoint.arrays[len(variables) :]
        shapes = [tuple(variable.shape) for variable in variables]
        if [array.shape for array in arrays] != shapes or len(rest) != 2 * state["chunks_done"]:
            raise RequestError(
                f"{self.folder.checkpoint}: expected a checkpoint of this model, but its variables "
                "have other shapes: the code has changed since; train it again."
            )
        half = state["chunks_done"]
        self.progress = Progress(**state, losses=rest[:half], sizes=rest[half:])
        self._rewind(self.progress.epochs)
        if self.progress.epochs:
            self._best_weights = self._load_best_weights(learner)
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        log.info("resumed after epoch %d, chunk %d", self.progress.epochs, half)

    def _load_best_weights(self, learner: Learner) -> list[np.ndarray]:
        path = self.folder.weights_path(self._best_epoch(self._monitor()))
        try:
            learner.model.load_weights(path)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise RequestError(
                f"{path}: expected the best weights so far, but: {reason}"
            ) from error
        return learner.model.get_weights()

    def _rewind(self, epochs: int) -> None:
        """Take back what the folder holds of later epochs, and what was half written."""
        with self._writing("history.csv"):
            self.folder.discard_after(epochs)
            self.folder.write_history(self.progress.history)
        for row in self.progress.history:  # MLflow may lack some; it keeps those that it has
            self.tracker.log_metrics(int(row["epoch"]), _tracked(row))

    # Records

    def _record_epoch(self, learner: Learner, row: Mapping[str, float]) -> None:
        epoch = int(row["epoch"])
        with self._writing(f"the weights of epoch {epoch}"):
            path = self.folder.weights_path(epoch)
            with files.replacing(path) as temporary:
                outcome.save_weights(learner.model, temporary)
        with self._writing("history.csv"):
            self.folder.append_history(row)
            self.folder.write_status(epoch=epoch)
        if self.config.tracking.weights == "all":
            self.tracker.log_artifacts(self.folder.weights_path(epoch), folder="weights")
        self.tracker.log_metrics(epoch, _tracked(row))
        with self._writing("a figure"):
            drawn = learner.draw_epoch(epoch, self.folder.plots)
            if drawn:
                self.tracker.log_artifacts(*drawn, folder="plots")

    def _evaluate(self, learner: Learner) -> tuple[dict[str, Any], Report]:
        monitor = self._monitor()
        report = learner.report()
        metrics = outcome.summary(
            self.config,
            self.task,
            learner,
            report,
            epochs=self.progress.epochs,
            best_epoch=self._best_epoch(monitor),
            monitored=self._monitored(monitor),
            seconds=self.progress.seconds + time.perf_counter() - self.started,
        )
        return metrics, report

    def _write_results(self, learner: Learner, metrics: dict[str, Any], report: Report) -> None:
        with self._writing("the results"):
            self.folder.write_predictions(report.predictions)
            self._write_attention(learner)
            self.folder.write_json("metrics.json", metrics)

    def _draw(self) -> None:
        from attnlab.analysis.plots import draw_run

        with self._writing("the figures"):
            self.tracker.log_artifacts(*draw_run(self.folder), folder="plots")

    def _write_attention(self, learner: Learner) -> None:
        examples = learner.examples()
        if examples is not None:
            with files.replacing(self.folder.path / "attention.npz") as temporary:
                np.savez_compressed(temporary, **examples)  # type: ignore[arg-type]

    def _track_results(self, learner: Learner, metrics: Mapping[str, Any], scratch: Path) -> None:
        """The numbers, the files and the best model, to MLflow."""
        folder, best = self.folder, metrics["best_epoch"]
        self.tracker.log_metrics(best, tracked_metrics(metrics))
        names = ("config.yaml", "metrics.json", "history.csv", "predictions.csv")
        self.tracker.log_artifacts(*(folder.path / name for name in names))
        if self.config.tracking.weights == "best":
            self.tracker.log_artifacts(folder.weights_path(best), folder="weights")
        if self.config.tracking.weights != "none":
            with self._writing("the MLflow model"):
                self._track_model(learner, best, scratch)

    def _track_model(self, learner: Learner, epoch: int, scratch: Path) -> None:
        """The best weights with all that `attnlab.trained` needs to load them."""
        shutil.copy(self.folder.path / "config.yaml", scratch)
        shutil.copytree(self.folder.assets, scratch / "assets")
        outcome.save_weights(learner.model, scratch / "best.weights.h5")
        example, output = learner.served_example()
        self.tracker.log_model(
            scratch,
            requirements=[f"attnlab=={__version__}"],
            input_example=example,
            output_example=output,
            step=epoch,
        )

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """Let a failing disk cost what is being written, not the run; say so once."""
        try:
            yield
        except (OSError, RequestError) as error:  # a figure asks for files that may be missing
            if not self._write_failed:
                log.warning(
                    "%s: %s could not be written (%s); the run goes on, its folder is incomplete",
                    self.folder.path,
                    what,
                    getattr(error, "strerror", None) or error,
                )
            self._write_failed = True


def _variables(learner: Learner) -> list[Any]:
    """All that training changes, in an order that follows from the configuration."""
    return [*learner.model.variables, *learner.optimizer.variables]


def _tracked(row: Mapping[str, float]) -> dict[str, float]:
    """The numbers of an epoch that MLflow gets."""
    return {key: value for key, value in row.items() if value == value and key != "epoch"}


def _require_finite(losses: np.ndarray, epoch: int, before: int) -> None:
    """Stop at the first loss that is not finite; raises `RunFailed` with its epoch and step."""
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        step = int(wrong[0])
        raise RunFailed(
            f"epoch {epoch}, step {before + step + 1}: the loss is {losses[step]}. "
            "A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
        )
