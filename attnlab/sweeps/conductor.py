"""Carries a sweep out: what is missing is run, and what came out is shown and kept."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import SweepFailed
from attnlab.records import files
from attnlab.records.lock import FolderLock
from attnlab.records.logs import logging_to
from attnlab.records.processes import is_running, this_process
from attnlab.run.building import import_tensorflow
from attnlab.sweeps.job import ORPHANED_SECONDS, Launch, StoppedEarly
from attnlab.sweeps.jobs import DONE, FAILED, KILLED, NEW, PRUNED, RUNNING, WAITING, Job, survey
from attnlab.sweeps.parents import Parents
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.request import Request
from attnlab.sweeps.sweep_folder import GRID
from attnlab.sweeps.table import NOT_RUN, Row, csv_text, print_table

if TYPE_CHECKING:
    from attnlab.config.sections import RunConfig
    from attnlab.sweeps.launching import Launching

# How long to wait for processes of an earlier launch, which notice that they are alone.
_SECONDS_FOR_ORPHANS = ORPHANED_SECONDS + 5.0


class Conductor(ABC):
    """What grids and searches have in common.

    Args:
        request: what is asked for, checked.
        launching: runs jobs.
    """

    def __init__(self, request: Request, launching: Launching):
        self.request, self.launching, self.folder = request, launching, request.folder
        self.before = 0  # how many jobs were done when this process began
        self.elsewhere: list[Job] = []  # those that another process was found to run
        self._launched = False
        self.launch = Launch(
            self.folder.path,
            uuid.uuid4().hex,
            this_process(),
            launching.threads,
            launching.bound,
            request.settings.fail_fast,
            request.search,
        )

    @abstractmethod
    def preview(self) -> None:
        """Say what would run."""

    @abstractmethod
    def work(self) -> None:
        """Run what is missing."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The table of all jobs, as they stand."""

    @abstractmethod
    def best(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that stand out."""

    @abstractmethod
    def configs(self) -> list[RunConfig]:
        """A configuration of each task."""

    def others_at_work(self) -> bool:
        """Whether other processes have jobs of the sweep under way."""
        return any(job.state == RUNNING for job in self.elsewhere)

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Lines below the table."""
        return []

    def conduct(self) -> None:
        """Run what is missing, print the table, and keep it.

        Raises:
            RequestError: the folder belongs to another command, or to a process that lives.
            SweepFailed: jobs failed, or are not done.
            KeyboardInterrupt: interrupted; what is done stays done.
        """
        self.folder.create()
        with self._owned(), logging_to(self.folder.log):
            self._begin()
            stop: BaseException | None = None
            try:
                self.work()
            except (KeyboardInterrupt, StoppedEarly) as error:
                self.launch.stop_path.touch()
                stop = error
            try:
                self._look_elsewhere()
                rows = self.rows()
                if rows:
                    self._keep(rows, stop)
                    self._print(rows)
            finally:
                self._forget_stop()
        self._end(rows, stop)

    def run(self, jobs: Sequence[Job], progress: Progress) -> None:
        """Run jobs that wait, and note how they stand then."""
        progress.follow(jobs)
        self._launched = True
        try:
            self.launching(jobs, self.launch)
        finally:
            self._settle(jobs)

    def prepare(self, jobs: Sequence[Job]) -> list[Job]:
        """Find out how jobs stand, and write the records of those to run, which are returned."""
        waited = time.monotonic() + _SECONDS_FOR_ORPHANS
        while self._has_orphans(jobs) and time.monotonic() < waited:
            time.sleep(0.5)
        self.survey(jobs)
        self.elsewhere += [job for job in jobs if job.state == RUNNING]
        todo = [job for job in jobs if self.is_to_run(job)]
        for job in jobs:
            self._write_record(job, job in todo)
        return todo

    def survey(self, jobs: Sequence[Job]) -> None:
        """Find out how jobs stand."""
        records = {job.key: self.folder.record(job.key) for job in jobs}
        survey(jobs, self.request.runs, records)

    def is_to_run(self, job: Job) -> bool:
        """Whether a job is to be run, or gone on with."""
        retried = job.state == FAILED and self.request.settings.retry_failed
        return job.state in (NEW, KILLED) or retried

    def start_parents(self) -> None:
        """Begin the sweep's own runs in MLflow."""
        self.parents = Parents.start(
            self.folder,
            self.configs(),
            meanwhile=import_tensorflow if self.launching.here else None,
        )

    def _owned(self) -> AbstractContextManager[object]:
        """One process at a time runs a grid; a search may have several."""
        return FolderLock(self.folder.path) if self.request.kind == GRID else nullcontext()

    def _begin(self) -> None:
        self.parents = Parents({}, self.folder)
        before = self.folder.change(self._beginning)
        self.launches = int(before.get("launches", 0)) + 1
        if self.request.kind == GRID:  # what is queued of an earlier launch knows that it is over
            for path in self.folder.path.glob(".stopped-*"):
                path.unlink(missing_ok=True)

    def _beginning(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """What sweep.json says of this launch, by what it said before."""
        known = before.get("varying", {})
        varying = {
            key: list(dict.fromkeys([*known.get(key, []), *self.request.varying.get(key, [])]))
            for key in [*known, *self.request.varying]
        }
        return {
            "kind": self.request.kind,
            "command": list(self.request.command),
            "fixed": self.request.fixed,
            "varying": varying,
            "launch": self.launch.token,
            "launches": int(before.get("launches", 0)) + 1,
        }

    def _forget_stop(self) -> None:
        """Remove the file that stops jobs, unless some may still wait in a cluster's queue."""
        if self.launching.bound or not self._launched:
            self.launch.stop_path.unlink(missing_ok=True)

    def _has_orphans(self, jobs: Sequence[Job]) -> bool:
        """Whether a job runs that an earlier launch of this sweep began on this machine."""
        host = this_process()["host"]
        records = [self.folder.record(job.key) for job in jobs] if self.launching.bound else []
        return any(
            record.get("state") == RUNNING and record.get("host") == host and is_running(record)
            for record in records
        )

    def _look_elsewhere(self) -> None:
        """Find out what became of the jobs that other processes run."""
        self.survey(self.elsewhere)
        for job in self.elsewhere:
            if job.state == NEW:
                job.stand(RUNNING)  # it has no folder yet

    def _write_record(self, job: Job, to_run: bool) -> None:
        """Note how a job stands before the launch."""
        wanted = {
            "state": WAITING if to_run else job.state,
            "folder": str(job.folder) if job.folder and not to_run else None,
            "resume": str(job.folder) if job.folder and job.state == KILLED else None,
            "error": None if to_run else job.error,
        }
        known = self.folder.record(job.key)
        if any(known.get(key) != value for key, value in wanted.items()):
            about = {
                "overrides": list(job.overrides),
                "varying": dict(job.varying),
                "task": job.config.task.name,
            }
            self.folder.write_record(job.key, **about, **wanted, results=job.results)

    def _settle(self, jobs: Sequence[Job]) -> None:
        """Note how jobs stand after the launch."""
        for job in jobs:
            record = self.folder.record(job.key)
            state, folder = record.get("state", WAITING), record.get("folder")
            if state == RUNNING and (self.launching.bound or not is_running(record)):
                state = KILLED
                self.folder.write_record(job.key, state=KILLED, error="interrupted")
            job.stand(state, Path(folder) if folder else job.folder, record.get("error"))
            if state == RUNNING:
                self.elsewhere.append(job)

    def _keep(self, rows: Sequence[Row], stop: BaseException | None) -> None:
        files.write_text(self.folder.table, csv_text(rows))
        best = {row.task: row for row in reversed(self.best(rows))}
        failed = any(row.state == FAILED for row in rows)
        state = "killed" if stop else "failed" if failed else "completed"
        others = self.others_at_work()
        self.parents.finish("running" if others else state, rows, best, self.launches)
        self.folder.update(finished=stop is None and not others)

    def _print(self, rows: Sequence[Row]) -> None:
        print_table(rows, [row.number for row in self.best(rows)], self.folder.table)
        for line in self.remarks(rows):
            print(line)
        print(f"sweep {self.folder.name}: {self._summary(rows)}")
        print(f"sweep folder: {self.folder.path}", flush=True)

    def _summary(self, rows: Sequence[Row]) -> str:
        counts = {state: sum(row.state == state for row in rows) for state in _COUNTED}
        words = [f"{number} {_COUNTED[state]}" for state, number in counts.items() if number]
        if self.before:
            words[0] += f" ({min(self.before, counts[DONE])} of them before)"
        return ", ".join(words)

    def _end(self, rows: Sequence[Row], stop: BaseException | None) -> None:
        """Tell how it ended by an error, unless it ended well."""
        done, failed = (sum(row.state == state for row in rows) for state in (DONE, FAILED))
        if isinstance(stop, KeyboardInterrupt):
            if not rows:
                raise KeyboardInterrupt
            raise KeyboardInterrupt(
                f"{done} of {len(rows)} jobs are done; the same command goes on with the others"
            )
        if failed:
            raise SweepFailed(f"{failed} of {len(rows)} jobs failed{self._advice(stop)}")
        if killed := sum(row.state == KILLED for row in rows):
            raise SweepFailed(
                f"{killed} of {len(rows)} jobs were ended from outside; the same command goes on"
            )
        if running := sum(job.state == RUNNING for job in self.elsewhere):
            raise SweepFailed(
                f"{running} of {len(rows)} jobs are still under way in another process; the same "
                "command, later, takes in what comes of them"
            )

    def _advice(self, stop: BaseException | None) -> str:
        """What to do about jobs that failed."""
        if stop:
            return ", and sweep.fail_fast=true stopped the sweep there"
        if self.request.settings.retry_failed:
            return ""
        return "; sweep.retry_failed=true runs them again"


_COUNTED = {
    DONE: "completed",
    PRUNED: "pruned",
    FAILED: "failed",
    KILLED: "interrupted",
    RUNNING: "under way in another process",
    NOT_RUN: NOT_RUN,
}


def first_of_each_task(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """One configuration of each task."""
    found: dict[str, RunConfig] = {}
    for config in configs:
        found.setdefault(config.task.name, config)
    return list(found.values())
