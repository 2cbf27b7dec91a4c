"""What a run under way leaves behind, in its folder and in MLflow."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab import __version__
from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.environment import environment
from attnlab.records.mlflow.final_metrics import baseline_metrics, tracked_metrics
from attnlab.records.mlflow.tracker import NullTracker
from attnlab.records.run_directory import RunDirectory
from attnlab.run import result as outcome
from attnlab.tasks.base import Learner, load
from attnlab.tasks.kinds import kind_of

if TYPE_CHECKING:
    from attnlab.tasks.base import Report, Task, TaskData

log = logging.getLogger("attnlab")


class Keeper:
    """Writes a run's folder and its copy in MLflow.

    Writing to the run folder may fail (a full disk) without stopping the training: the result is
    still computed and printed.

    Args:
        config: what is run.
        folder: the run's folder, owned by this process.
        tracker: the run's copy in MLflow.
    """

    def __init__(self, config: RunConfig, folder: RunDirectory, tracker: NullTracker) -> None:
        self.config, self.folder, self.tracker = config, folder, tracker
        self._write_failed = False

    def write_request(self, task: Task, data: TaskData) -> None:
        """What is about to run: before anything is computed."""
        log.info("config %s", self.config.digest)
        log.info("data %s", data.describe())
        with self.writing("config.yaml"):
            self.folder.write_config(self.config.document)
            self._write_environment()
            self.folder.write_status(
                config_hash=self.config.digest,
                data_digest=data.digest,
                data={"name": data.name, "source": data.source, "counts": data.counts()},
            )
            task.save(self.folder.assets)
        self.tracker.log_dataset(data.name, data.source, data.digest, data.counts())

    def _write_environment(self) -> None:
        """Where the run began stays; where it went on is added."""
        now, earlier = environment(), self.folder.read_environment()
        if earlier is not None:
            now = {**earlier, "resumed": [*earlier.get("resumed", []), now]}
        self.folder.write_json("environment.json", now)

    def rewind(self, history: Sequence[Mapping[str, float]]) -> None:
        """Take back what the folder holds of later epochs, and what was half written."""
        with self.writing("history.csv"):
            self.folder.discard_after(len(history))
            self.folder.write_history(history)
        for row in history:  # MLflow may lack some; it keeps those that it has
            self.tracker.log_metrics(int(row["epoch"]), _tracked(row))

    def write_epoch(self, learner: Learner, row: Mapping[str, float]) -> None:
        """An epoch's weights, numbers and figures."""
        epoch = int(row["epoch"])
        with self.writing(f"the weights of epoch {epoch}"):
            path = self.folder.weights_path(epoch)
            with files.replacing(path) as temporary:
                outcome.save_weights(learner.model, temporary)
        with self.writing("history.csv"):
            self.folder.append_history(row)
            self.folder.write_status(epoch=epoch)
        if self.config.tracking.weights == "all":
            self.tracker.log_artifacts(self.folder.weights_path(epoch), folder="weights")
        self.tracker.log_metrics(epoch, _tracked(row))
        with self.writing("a figure"):
            drawn = learner.draw_epoch(epoch, self.folder.plots)
            if drawn:
                self.tracker.log_artifacts(*drawn, folder="plots")

    def write_results(
        self, learner: Learner, metrics: dict[str, Any], report: Report, scratch: Path
    ) -> None:
        """The result, as files, in MLflow and as figures.

        Args:
            learner: its model has the best weights.
            metrics: for metrics.json.
            report: of the best weights on the test part.
            scratch: an empty folder.
        """
        with self.writing("the results"):
            self.folder.write_predictions(report.predictions)
            self._write_attention(learner)
            self.folder.write_json("metrics.json", metrics)
        self._track_results(learner, metrics, scratch)
        # Last, while MLflow is busy with what it was just sent.
        self._draw()

    def close(self, state: str, error: str | None = None, **entries: Any) -> None:
        """Write the final state to the folder and to MLflow."""
        with self.writing("status.json"):
            self.folder.write_status(state, error=error, **entries)
        status = {"completed": "FINISHED", "failed": "FAILED", "killed": "KILLED"}[state]
        self.tracker.finish(status)

    def _draw(self) -> None:
        from attnlab.figures.run import draw_run

        with self.writing("the figures"):
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
        self.tracker.log_metrics(0, baseline_metrics(metrics))
        names = ("config.yaml", "metrics.json", "history.csv", "predictions.csv")
        self.tracker.log_artifacts(*(folder.path / name for name in names))
        if self.config.tracking.weights == "best":
            self.tracker.log_artifacts(folder.weights_path(best), folder="weights")
        if self.config.tracking.weights != "none":
            with self.writing("the MLflow model"):
                self._track_model(learner, best, scratch)

    def _track_model(self, learner: Learner, epoch: int, scratch: Path) -> None:
        """The best weights with all that `attnlab.run.loading` needs to load them."""
        shutil.copy(self.folder.path / "config.yaml", scratch)
        shutil.copytree(self.folder.assets, scratch / "assets")
        outcome.save_weights(learner.model, scratch / "best.weights.h5")
        example, output = load(kind_of(self.config.task.name).served)(self.config.document)
        self.tracker.log_model(
            scratch,
            requirements=[f"attnlab=={__version__}"],
            input_example=example,
            output_example=output,
            step=epoch,
        )

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
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


def _tracked(row: Mapping[str, float]) -> dict[str, float]:
    """The numbers of an epoch that MLflow gets."""
    return {key: value for key, value in row.items() if value == value and key != "epoch"}
