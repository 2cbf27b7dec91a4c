"""One run from its configuration to its results."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from attnlab import __version__, console, outcome
from attnlab.assembly import make_model, make_task, start_afresh
from attnlab.errors import RequestError, RunFailed
from attnlab.learning.base import Learner, make_learner
from attnlab.records import files
from attnlab.records.environment import environment
from attnlab.records.logs import logging_to
from attnlab.records.run_directory import RunDirectory
from attnlab.records.tracker import NullTracker, Tracker, default_uri
from attnlab.schema import RunConfig

if TYPE_CHECKING:
    from attnlab.tasks.base import Report, Task, TaskData
    from attnlab.training.stopping import Monitor

log = logging.getLogger("attnlab")


def run(config: RunConfig) -> Path:
    """Train, evaluate and report one run.

    Args:
        config: what to run, checked.

    Returns:
        The run's folder.

    Raises:
        RequestError: the settings don't fit the data, or the runs folder can't be written.
        RunFailed: the loss was not finite.
        KeyboardInterrupt: interrupted; the folder and MLflow say `killed`.
    """
    started = time.perf_counter()
    task = make_task(config)
    with console.preparation() as progress:
        data = task.load(config.seed, progress)
    folder = RunDirectory.create(
        Path(config.paths.runs).expanduser(), config.task.name, config.attention.name, config.seed
    )
    with logging_to(folder.path / "run.log"), tempfile.TemporaryDirectory() as scratch:
        tracker = start_tracker(config, folder)
        session = Session(config, task, data, folder, tracker, started)
        try:
            metrics = session.execute(Path(scratch))
        except KeyboardInterrupt:
            session.close("killed", "interrupted")
            raise
        except Exception as error:
            log.info("the run failed", exc_info=True)
            session.close("failed", f"{type(error).__name__}: {error}")
            raise
        session.close("completed")
    console.print_result(metrics, folder.path)
    return folder.path


def start_tracker(config: RunConfig, folder: RunDirectory) -> NullTracker:
    """The run's copy in MLflow, begun; it never stops the run."""
    if not config.tracking.enabled:
        return NullTracker()
    runs = Path(config.paths.runs).expanduser()
    return Tracker.start(
        config.tracking.uri or default_uri(runs),
        config.task.name,
        f"{config.task.name}-{config.attention.name}-s{config.seed}",
        config.document,
        {"attnlab.folder": str(folder.path), "attnlab.config_hash": config.digest},
        runs / "artifacts",
        timeout=config.tracking.timeout,
        on_run_id=lambda run_id: folder.write_status(mlflow_run_id=run_id),
    )


class Session:
    """A run under way: the parts that its steps share.

    Writing to the run folder may fail (a full disk) without stopping the training: the result is
    still computed and printed.
    """

    def __init__(
        self,
        config: RunConfig,
        task: Task,
        data: TaskData,
        folder: RunDirectory,
        tracker: NullTracker,
        started: float,
    ) -> None:
        self.config, self.task, self.data = config, task, data
        self.folder, self.tracker, self.started = folder, tracker, started
        self.history: list[dict[str, float]] = []
        self.steps_taken = 0
        self._write_failed = False

    def execute(self, scratch: Path) -> dict[str, Any]:
        """Train, choose the best epoch, evaluate it, and leave everything in the folder."""
        self._write_request()
        title = f"{self.config.task.name} / {self.config.attention.name}"
        with console.progress_bar(title, self.config.trainer.epochs) as bar:
            start_afresh(self.config.seed)
            learner = make_learner(self.config, self.task, make_model(self.config, self.task))
            best_weights = self._train(learner, bar)
        learner.model.set_weights(best_weights)
        metrics, report = self._evaluate(learner)
        self._write_results(learner, metrics, report)
        self._track_results(learner, metrics, scratch)
        # Last, while MLflow is busy with what it was just sent.
        self._draw()
        log.info("best epoch %d, test %s", metrics["best_epoch"], metrics["test"])
        return metrics

    def close(self, state: str, error: str | None = None) -> None:
        """Write the final state to the folder and to MLflow."""
        with self._writing("status.json"):
            self.folder.write_status(state, error=error)
        status = {"completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}[state]
        self.tracker.finish(status)

    def _write_request(self) -> None:
        """What is about to run: before anything is computed."""
        log.info("config %s", self.config.digest)
        log.info("data %s", self.data.describe())
        with self._writing("config.yaml"):
            document = yaml.safe_dump(dict(self.config.document), sort_keys=False)
            self.folder.write_text("config.yaml", document)
            self.folder.write_json("environment.json", environment())
            self.folder.write_status(config_hash=self.config.digest, data_digest=self.data.digest)
            self.task.save(self.folder.assets)
        data = self.data
        self.tracker.log_dataset(data.name, data.source, data.digest, data.counts())

    def _monitor(self) -> Monitor:
        from attnlab.training.stopping import Monitor

        metric, mode = self.task.monitor
        return Monitor(metric, mode, self.config.trainer.min_delta)

    def _train(self, learner: Learner, bar: console.Bar) -> list[np.ndarray]:
        """All epochs; returns the weights of the best one.

        Without a validation part there is nothing to choose by: the last epoch is kept.
        """
        monitor, trainer = self._monitor(), self.config.trainer
        best_weights = learner.model.get_weights()
        for epoch in range(1, trainer.epochs + 1):
            row = self._epoch(learner, epoch, monitor, bar)
            self.history.append(row)
            self._record_epoch(learner, row)
            bar.advance(row)
            monitored = self._monitored(monitor)
            if not monitored or monitor.best_epoch(monitored) == epoch:
                best_weights = learner.model.get_weights()
            if monitor.should_stop(monitored, trainer.patience):
                log.info("stopped after epoch %d: nothing better since", epoch)
                break
        return best_weights

    def _epoch(
        self, learner: Learner, epoch: int, monitor: Monitor, bar: console.Bar
    ) -> dict[str, float]:
        """Train and validate once; returns the history's row."""
        started = time.perf_counter()
        chunks = learner.chunks(epoch)
        steps = sum(chunk.steps for chunk in chunks)
        rates = self._learning_rates(steps, monitor)
        values, sizes, done = [], [], 0
        for chunk in chunks:
            own_rates = rates[done : done + chunk.steps]
            losses = learner.train(chunk, own_rates, self.steps_taken + done)
            _require_finite(losses.values, epoch, done)
            values.append(losses.values)
            sizes.append(losses.sizes)
            done += chunk.steps
            bar.within(done / steps)
        self.steps_taken += steps
        loss = np.average(np.concatenate(values).astype(np.float64), weights=np.concatenate(sizes))
        row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
        row |= {"train_loss": float(loss), **learner.validate(epoch)}
        row["seconds"] = round(time.perf_counter() - started, 6)
        return row

    def _learning_rates(self, steps: int, monitor: Monitor) -> np.ndarray:
        """The rates of the next epoch's steps."""
        from attnlab.training.schedules import learning_rates

        config = self.config
        return learning_rates(
            config.schedule.name,
            config.schedule.settings,
            peak=config.optimizer.settings["learning_rate"],
            first_step=self.steps_taken,
            steps=steps,
            total_steps=self._total_steps(steps),
            monitored=self._monitored(monitor),
            monitor=monitor,
        )

    def _total_steps(self, steps: int) -> int:
        """Of the run: every epoch is taken to be as long as the first one."""
        if not self.history:
            self._steps_an_epoch = steps
        return self.config.trainer.epochs * self._steps_an_epoch

    def _monitored(self, monitor: Monitor) -> list[float]:
        return [row[monitor.metric] for row in self.history if monitor.metric in row]

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
        known = {key: value for key, value in row.items() if value == value and key != "epoch"}
        self.tracker.log_metrics(epoch, known)
        with self._writing("a figure"):
            drawn = learner.draw_epoch(epoch, self.folder.plots)
            if drawn:
                self.tracker.log_artifacts(*drawn, folder="plots")

    def _evaluate(self, learner: Learner) -> tuple[dict[str, Any], Report]:
        monitor = self._monitor()
        monitored = self._monitored(monitor)
        report = learner.report()
        metrics = outcome.summary(
            self.config,
            self.task,
            learner,
            report,
            epochs=len(self.history),
            best_epoch=monitor.best_epoch(monitored) if monitored else len(self.history),
            monitored=monitored,
            seconds=time.perf_counter() - self.started,
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
        self.tracker.log_metrics(best, outcome.tracked_metrics(metrics))
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


def _require_finite(losses: np.ndarray, epoch: int, before: int) -> None:
    """Stop at the first loss that is not finite; raises `RunFailed` with its epoch and step."""
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        step = int(wrong[0])
        raise RunFailed(
            f"epoch {epoch}, step {before + step + 1}: the loss is {losses[step]}. "
            "A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
        )
