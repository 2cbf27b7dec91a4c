"""Write the files of a run's folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError
from attnlab.records import files
from attnlab.records.environment import environment
from attnlab.records.logs import in_words
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.attention import FILE as ATTENTION
from attnlab.tasks.attention import (
    Arrays,
    Recorded,
    epochs_to_record,
    read_attention,
    write_attention,
)
from attnlab.tasks.base import Learner, Report, Task, TaskData

if TYPE_CHECKING:
    from attnlab.training.weights_file import WeightsFiles

log = logging.getLogger("attnlab")
_disk = ThreadPoolExecutor(8, "disk")  # each run writes one epoch at a time


class Recorder:
    """Writes a run's folder."""

    def __init__(self, config: RunConfig, folder: RunDirectory) -> None:
        self.config, self.folder = config, folder
        self._write_failed = False
        self._writing: Future[None] | None = None  # writes the last epoch
        self._weights_files: WeightsFiles | None = None
        self._attention: dict[int, Arrays] = {}  # epoch -> what the learner's examples were

    def write_request(self, task: Task, data: TaskData) -> None:
        """Write configuration, environment and the task's assets, before training starts."""
        log.info("configuration %s", self.config.digest)
        log.info("data: %s", in_words(data.describe()))
        with self.writing("config.yaml"):
            self.folder.write_config(self.config.document)
            now, earlier = environment(), self.folder.read_environment()
            if earlier is not None:  # each resume appends its environment
                now = {**earlier, "resumed": [*earlier.get("resumed", []), now]}
            self.folder.write_json("environment.json", now)
            self.folder.status.write(
                config_hash=self.config.digest,
                data_digest=data.digest,
                data={"name": data.name, "source": data.source, "counts": data.counts()},
            )
            task.save(self.folder.assets)
            example = {}
            for name, value in zip(("input", "output"), task.served, strict=True):
                array = np.array([value])
                kind = str(array.dtype) if array.dtype.kind in "fi" else "object"
                example[name] = {"values": array.tolist(), "dtype": kind}
            self.folder.write_json("served.json", example)

    def rewind(self, history: Sequence[Mapping[str, float]]) -> None:
        """Remove later epochs, and incomplete files, from the folder."""
        with self.writing("history.csv"):
            self.folder.discard_after(len(history))
            self.folder.history.replace(history)
            self.folder.status.write(epoch=len(history))
        with suppress(RequestError):  # a damaged file is written again
            if recorded := read_attention(self.folder):
                epochs = recorded.by_epoch.items()
                self._attention = {
                    epoch: arrays for epoch, arrays in epochs if epoch <= len(history)
                }

    def write_epoch(self, learner: Learner, row: Mapping[str, float]) -> None:
        """Write an epoch's weights, history row and attention, while the next epoch trains."""
        from attnlab.training.weights_file import WeightsFiles

        epoch, content = int(row["epoch"]), None
        path = self.folder.weights_path(epoch)
        with self.writing(path.name):
            self._weights_files = self._weights_files or WeightsFiles(learner.model)
            content = self._weights_files.next(learner.values(), files.temporary(path))
        if epoch in epochs_to_record(self.config.trainer.epochs):
            self._record_attention(learner, epoch)

        def write() -> None:
            if content is not None:
                with self._errors_reported(path.name), files.replacing(path) as temporary:
                    temporary.write_bytes(content)
            with self._errors_reported("history.csv"):
                self.folder.history.append(row)
                self.folder.status.write(epoch=epoch)
            if epoch in self._attention:
                with self._errors_reported(ATTENTION):
                    write_attention(self.folder, Recorded(self._attention, epoch))

        # In a copy of this context, so that log records go to this run's log.
        self._writing = _disk.submit(copy_context().run, write)

    def write_results(self, learner: Learner, metrics: dict[str, Any], report: Report) -> None:
        """Write metrics, predictions and attention; the learner's model has the best weights."""
        best = metrics["best_epoch"]
        with self.writing("the result"):  # before the large files
            self.folder.write_json("metrics.json", metrics)
        with self.writing("the predictions"):
            self.folder.write_predictions(report.predictions)
        if best not in self._attention:
            self._record_attention(learner, best)
        if self._attention:
            with self.writing(ATTENTION):
                write_attention(self.folder, Recorded(self._attention, best))

    def _record_attention(self, learner: Learner, epoch: int) -> None:
        if (examples := learner.examples()) is not None:
            self._attention = dict(sorted({**self._attention, epoch: examples}.items()))

    def write_state(self, state: str, error: str | None = None, **entries: Any) -> None:
        """Write the final state."""
        with self.writing("status.json"):
            self.folder.status.write(state, error=error, **entries)

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Turn errors of writing into one warning, so that a full disk doesn't end the run."""
        self.settle()
        with self._errors_reported(what):
            yield

    def settle(self) -> None:
        """Wait until the last epoch is written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    @contextmanager
    def _errors_reported(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, RequestError) as error:
            if not self._write_failed:
                log.warning(
                    "%s: could not write %s (%s); the run continues, its folder is incomplete",
                    self.folder.path,
                    what,
                    getattr(error, "strerror", None) or error,
                )
            self._write_failed = True
