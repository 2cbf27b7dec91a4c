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
from attnlab.data.batches import shuffled_plan
from attnlab.errors import RequestError, RunFailed
from attnlab.records import files
from attnlab.records.environment import environment
from attnlab.records.logs import logging_to
from attnlab.records.run_directory import RunDirectory
from attnlab.records.tracker import NullTracker, Tracker, default_uri
from attnlab.schema import RunConfig

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.base import Report, Splits
    from attnlab.tasks.forecasting import ForecastingTask
    from attnlab.training.program import Program
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
    task = make_task(config.task)
    splits = task.load(config.seed)
    folder = RunDirectory.create(
        Path(config.paths.runs).expanduser(), config.task.name, config.attention.name, config.seed
    )
    with logging_to(folder.path / "run.log"), tempfile.TemporaryDirectory() as scratch:
        tracker = start_tracker(config, folder)
        session = Session(config, task, splits, folder, tracker, started)
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
        task: ForecastingTask,
        splits: Splits,
        folder: RunDirectory,
        tracker: NullTracker,
        started: float,
    ) -> None:
        self.config, self.task, self.splits = config, task, splits
        self.folder, self.tracker, self.started = folder, tracker, started
        self.history: list[dict[str, float]] = []
        self._write_failed = False

    def execute(self, scratch: Path) -> dict[str, Any]:
        """Train, choose the best epoch, evaluate it, and leave everything in the folder."""
        self._write_request()
        title = f"{self.config.task.name} / {self.config.attention.name}"
        with console.progress_bar(title, self.config.trainer.epochs) as advance:
            start_afresh(self.config.seed)
            model = make_model(self.config, self.task)
            program = self._compile(model)
            best_weights = self._train(program, advance)
        model.set_weights(best_weights)
        metrics, report = self._evaluate(program)
        self._write_results(model, metrics, report)
        self._track_results(model, metrics, scratch)
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
        log.info("data %s", self.splits.describe())
        with self._writing("config.yaml"):
            document = yaml.safe_dump(dict(self.config.document), sort_keys=False)
            self.folder.write_text("config.yaml", document)
            self.folder.write_json("environment.json", environment())
            self.folder.write_status(config_hash=self.config.digest, data_digest=self.splits.digest)
            self.task.save(self.folder.assets)
        splits = self.splits
        counts = {part: len(windows) for part, windows in splits.parts().items()}
        self.tracker.log_dataset(splits.name, splits.source, splits.digest, counts)

    def _compile(self, model: keras.Model) -> Program:
        from attnlab.training.optimizers import make_optimizer
        from attnlab.training.program import Program

        self.rows, inputs, targets = _resident(self.splits)
        optimizer = make_optimizer(self.config.optimizer.name, self.config.optimizer.settings)
        return Program(
            model,
            optimizer,
            self.task.loss,
            inputs,
            targets,
            seed=self.config.seed,
            jit=self.config.trainer.jit,
        )

    def _monitor(self) -> Monitor:
        from attnlab.training.stopping import Monitor

        metric, mode = self.task.monitor
        return Monitor(metric, mode, self.config.trainer.min_delta)

    def _train(self, program: Program, advance: console.Advance) -> list[np.ndarray]:
        """All epochs; returns the weights of the best one.

        Without a validation part there is nothing to choose by: the last epoch is kept.
        """
        monitor, trainer = self._monitor(), self.config.trainer
        best_weights = program.model.get_weights()
        for epoch in range(1, trainer.epochs + 1):
            row = self._epoch(program, epoch, monitor)
            self.history.append(row)
            self._record_epoch(program.model, row)
            advance(row)
            monitored = self._monitored(monitor)
            if not monitored or monitor.best_epoch(monitored) == epoch:
                best_weights = program.model.get_weights()
            if monitor.should_stop(monitored, trainer.patience):
                log.info("stopped after epoch %d: nothing better since", epoch)
                break
        return best_weights

    def _epoch(self, program: Program, epoch: int, monitor: Monitor) -> dict[str, float]:
        """Train and validate once; returns the history's row."""
        from attnlab.training.schedules import learning_rates

        started = time.perf_counter()
        config = self.config
        plan = shuffled_plan(self.rows["train"], config.trainer.batch_size, config.seed, epoch)
        steps = len(plan.indices)
        rates = learning_rates(
            config.schedule.name,
            config.schedule.settings,
            peak=config.optimizer.settings["learning_rate"],
            first_step=(epoch - 1) * steps,
            steps=steps,
            total_steps=config.trainer.epochs * steps,
            monitored=self._monitored(monitor),
            monitor=monitor,
        )
        losses = program.train(plan, rates, (epoch - 1) * steps)
        _require_finite(losses, epoch)
        row = {"epoch": epoch, "seconds": 0.0, "learning_rate": float(rates[-1])}
        row["train_loss"] = float(np.average(losses.astype(np.float64), weights=plan.sizes))
        if len(self.rows["validation"]):
            row["val_loss"] = program.evaluate(self.rows["validation"])
        row["seconds"] = round(time.perf_counter() - started, 6)
        return row

    def _monitored(self, monitor: Monitor) -> list[float]:
        return [row[monitor.metric] for row in self.history if monitor.metric in row]

    def _record_epoch(self, model: keras.Model, row: Mapping[str, float]) -> None:
        epoch = int(row["epoch"])
        with self._writing(f"the weights of epoch {epoch}"):
            path = self.folder.weights_path(epoch)
            with files.replacing(path) as temporary:
                outcome.save_weights(model, temporary)
        with self._writing("history.csv"):
            self.folder.append_history(row)
            self.folder.write_status(epoch=epoch)
        if self.config.tracking.weights == "all":
            self.tracker.log_artifacts(self.folder.weights_path(epoch), folder="weights")
        measured = {key: value for key, value in row.items() if key != "epoch"}
        self.tracker.log_metrics(epoch, measured)

    def _evaluate(self, program: Program) -> tuple[dict[str, Any], Report]:
        monitor = self._monitor()
        monitored = self._monitored(monitor)
        report = self.task.report(program.predict(self.rows["test"]), "test")
        metrics = outcome.summary(
            self.config,
            self.task,
            program.model,
            report,
            epochs=len(self.history),
            best_epoch=monitor.best_epoch(monitored) if monitored else len(self.history),
            monitored=monitored,
            seconds=time.perf_counter() - self.started,
        )
        return metrics, report

    def _write_results(self, model: keras.Model, metrics: dict[str, Any], report: Report) -> None:
        with self._writing("the results"):
            self.folder.write_predictions(report.predictions)
            self._write_attention(model)
            self.folder.write_json("metrics.json", metrics)

    def _draw(self) -> None:
        from attnlab.analysis.plots import draw_run

        with self._writing("the figures"):
            self.tracker.log_artifacts(*draw_run(self.folder), folder="plots")

    def _write_attention(self, model: keras.Model) -> None:
        examples = outcome.attention_examples(model, self.task)
        if examples is not None:
            with files.replacing(self.folder.path / "attention.npz") as temporary:
                np.savez_compressed(temporary, **examples)  # type: ignore[arg-type]

    def _track_results(self, model: keras.Model, metrics: Mapping[str, Any], scratch: Path) -> None:
        """The numbers, the files and the best model, to MLflow."""
        folder, best = self.folder, metrics["best_epoch"]
        self.tracker.log_metrics(best, outcome.tracked_metrics(metrics))
        names = ("config.yaml", "metrics.json", "history.csv", "predictions.csv")
        self.tracker.log_artifacts(*(folder.path / name for name in names))
        if self.config.tracking.weights == "best":
            self.tracker.log_artifacts(folder.weights_path(best), folder="weights")
        if self.config.tracking.weights != "none":
            with self._writing("the MLflow model"):
                self._track_model(model, best, scratch)

    def _track_model(self, model: keras.Model, epoch: int, scratch: Path) -> None:
        """The best weights with all that `attnlab.trained` needs to load them."""
        shutil.copy(self.folder.path / "config.yaml", scratch)
        shutil.copytree(self.folder.assets, scratch / "assets")
        outcome.save_weights(model, scratch / "best.weights.h5")
        example = self.task.last_history()[None].astype(np.float64)
        self.tracker.log_model(
            scratch,
            requirements=[f"attnlab=={__version__}"],
            input_example=example,
            output_example=np.zeros((1, self.task.horizon)),
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


def _require_finite(losses: np.ndarray, epoch: int) -> None:
    """Stop at the first loss that is not finite; raises `RunFailed` with its epoch and step."""
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        step = int(wrong[0])
        raise RunFailed(
            f"epoch {epoch}, step {step + 1}: the loss is {losses[step]}. "
            "A smaller optimizer.learning_rate or optimizer.clip_norm=1 may help."
        )
