"""What a run under way leaves behind in its folder, of which MLflow gets a copy."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.environment import environment
from attnlab.records.logs import in_words
from attnlab.records.mlflow.tracker import Tracker
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.base import Learner, Report, Task, TaskData, load

if TYPE_CHECKING:
    import keras

log = logging.getLogger("attnlab")
# Bytes of a file that each variable takes beside its numbers, amply.
_HDF5_OVERHEAD = 8192


class Recorder:
    """Writes a run's folder, and tells its copy in MLflow when there is something new."""

    def __init__(self, config: RunConfig, folder: RunDirectory, tracker: Tracker) -> None:
        self.config, self.folder, self._tracker = config, folder, tracker
        self._write_failed = False

    def write_request(self, task: Task, data: TaskData) -> None:
        """What is about to run: before anything is computed."""
        log.info("configuration %s", self.config.digest)
        log.info("data: %s", in_words(data.describe()))
        with self.writing("config.yaml"):
            self.folder.write_config(self.config.document)
            now, earlier = environment(), self.folder.read_environment()
            if earlier is not None:  # where the run began stays; where it went on is added
                now = {**earlier, "resumed": [*earlier.get("resumed", []), now]}
            self.folder.write_json("environment.json", now)
            self.folder.status.write(
                config_hash=self.config.digest,
                data_digest=data.digest,
                data={"name": data.name, "source": data.source, "counts": data.counts()},
            )
            task.save(self.folder.assets)
            taken, given = load(task.kind.served)(self.config.document)
            self.folder.write_json("served.json", {"input": taken, "output": given})
        self._tracker.changed()

    def rewind(self, history: Sequence[Mapping[str, float]]) -> None:
        """Take back what the folder holds of later epochs, and what was half written."""
        with self.writing("history.csv"):
            self.folder.discard_after(len(history))
            self.folder.history.replace(history)

    def write_epoch(self, learner: Learner, row: Mapping[str, float]) -> None:
        """An epoch's weights, numbers and figures."""
        epoch = int(row["epoch"])
        with self.writing(f"the weights of epoch {epoch}"):
            with files.replacing(self.folder.weights_path(epoch)) as temporary:
                save_weights(learner.model, temporary)
        with self.writing("history.csv"):
            self.folder.history.append(row)
            self.folder.status.write(epoch=epoch)
        with self.writing("a figure"):
            learner.draw_epoch(epoch, self.folder.plots)
        self._tracker.changed()

    def write_results(self, learner: Learner, metrics: dict[str, Any], report: Report) -> None:
        """The result, as files; the learner's model has the best weights."""
        with self.writing("the results"):
            self.folder.write_predictions(report.predictions)
            examples = learner.examples()
            if examples is not None:
                with files.replacing(self.folder.path / "attention.npz") as temporary:
                    np.savez_compressed(temporary, **examples)  # type: ignore[arg-type]
            self.folder.write_json("metrics.json", metrics)
        self._tracker.changed()

    def draw(self) -> None:
        """The result as figures: last, while MLflow is busy with the rest."""
        from attnlab.figures.run import draw_run

        with self.writing("the figures"):
            draw_run(self.folder)

    def close(self, state: str, error: str | None = None, **entries: Any) -> None:
        """Write the final state to the folder and to MLflow."""
        with self.writing("status.json"):
            self.folder.status.write(state, error=error, **entries)
        self._tracker.ended(state)

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Let a failing disk cost what is being written, not the run or its result; say so once."""
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


def save_weights(model: keras.Model, path: Path) -> None:
    """Save a model's weights as HDF5; raises `OSError`, of which HDF5 has several kinds."""
    size = 4 * model.count_params() + _HDF5_OVERHEAD * (len(model.weights) + 1)
    if shutil.disk_usage(path.parent).free < size:  # HDF5 may crash where it finds that out itself
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    try:
        model.save_weights(path)
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found.group(1)), os.strerror(int(found.group(1)))) from error
