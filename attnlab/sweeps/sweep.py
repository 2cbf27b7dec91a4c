"""A sweep: run what is missing, print the table, and store the results."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any

from attnlab.config.sections import RunConfig
from attnlab.errors import RequestError, SweepFailed
from attnlab.records import files, logs
from attnlab.records.environment import environment
from attnlab.records.logs import logging_to
from attnlab.records.mlflow.settings import default_uri
from attnlab.records.mlflow.tracker import Tracker
from attnlab.records.status import hold
from attnlab.run.building import import_tensorflow
from attnlab.run.console import number
from attnlab.run.find_or_run import COMPLETED, FAILED, KILLED, PRUNED, RUNNING, RunIndex
from attnlab.run.runner import wait_for_finishes
from attnlab.sweeps.launching import Launcher
from attnlab.sweeps.plan import SweepPlan
from attnlab.sweeps.sweep_folder import GRID
from attnlab.sweeps.table import NOT_RUN, TableRow, csv_text, print_table, read_results, words
from attnlab.sweeps.worker import ORPHANED_SECONDS, Launch, StoppedEarly

# How long to wait for workers of an earlier launch to notice that their owner is gone, and to stop.
_SECONDS_FOR_ORPHANS = ORPHANED_SECONDS + 5.0

log = logging.getLogger("attnlab")


class Sweep(ABC):
    """What grids and searches have in common."""

    def __init__(self, plan: SweepPlan, launcher: Launcher):
        self.plan, self.launcher, self.folder = plan, launcher, plan.folder
        self.index = RunIndex(plan.folder.path.parents[1])
        self.before = 0  # number of runs completed before this process started
        self.asked = 0  # number of trials of a search, of which the table may have fewer
        self._trackers: dict[str, Tracker] = {}  # by task, for the sweep's own MLflow run
        self.results_of = cache(read_results)  # reads a completed run once

    @abstractmethod
    def preview(self) -> None:
        """Print what would run."""

    @abstractmethod
    def work(self) -> None:
        """Run what is missing."""

    @abstractmethod
    def rows(self, noted: bool = False) -> list[TableRow]:
        """Return the table; with `noted`, only stored states without results, which is fast."""

    @abstractmethod
    def best(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Return the best rows."""

    @abstractmethod
    def has_orphans(self) -> bool:
        """Whether a worker whose owner was killed still runs on this machine."""

    def execute(self) -> None:
        """Run what is missing, then print and store the table; in a dry run, only preview.

        Raises:
            RequestError: Another process is running this sweep.
            SweepFailed: Runs failed or are not completed.
            KeyboardInterrupt: Interrupted. Completed runs stay completed.
        """
        if self.plan.settings.dry_run:
            return self.preview()
        self.folder.create()
        # Only one process at a time runs a grid; several may share a search.
        owned = hold(self.folder.path) if self.plan.kind == GRID else nullcontext()
        with owned, logging_to(self.folder.log):
            self._begin()
            stop: BaseException | None = None
            try:
                self.work()
                wait_for_finishes()
            except (KeyboardInterrupt, StoppedEarly) as error:
                stop = error
                if self.launcher.spreads:  # a cluster's queue may still have jobs
                    self.launch.stop()
            finally:
                self.launcher.close()
            rows = self.rows()
            if rows:
                try:
                    self._keep(rows, stop)
                except (OSError, RequestError) as error:  # the runs' own folders are complete
                    log.warning("%s: the table can't be stored: %s", self.folder.path, error)
                self._print(rows)
        self._end(rows, stop)

    def start_parents(self, configs: Iterable[RunConfig]) -> None:
        """Start the sweep's own MLflow runs, or continue those of an earlier process.

        There is one per task, the parent of the runs of all jobs, so it must exist before the first
        job. This also creates the store and the experiments, which several jobs could not create at
        the same time.
        """
        files.write_json(self.folder.path / "environment.json", environment())
        self.folder.update(state=None, ended=None)
        tracked = {c.task.name: c for c in configs if c.tracking.enabled}
        trackers = {
            task: Tracker(
                config.tracking.uri or default_uri(Path(config.paths.runs).expanduser()),
                self.folder.path,
                task=task,
                timeout=config.tracking.timeout,
                on_run_id=partial(self.folder.add_parent, task),
            )
            for task, config in tracked.items()
        }
        if self.launcher.here:
            import_tensorflow()  # while MLflow starts
        for task, config in tracked.items():
            trackers[task].wait_run_id(config.tracking.timeout)
        self._trackers = trackers

    def wait_for_orphans(self) -> None:
        """Wait until workers whose owner was killed have stopped."""
        end = time.monotonic() + _SECONDS_FOR_ORPHANS
        while self.has_orphans() and time.monotonic() < end:
            time.sleep(0.5)

    def _begin(self) -> None:
        self.earlier = self.folder.read()
        entries = {
            "kind": self.plan.kind,
            "command": list(self.plan.command),
            "fixed": self.plan.fixed,
            "bound": self.launcher.bound,
        }
        self.launch = Launch(
            self.folder.path,
            self.folder.begin_launch(entries, self.plan.varying),
            threads=self.launcher.threads,
            bound=self.launcher.bound,
            fail_fast=self.plan.settings.fail_fast,
        )

    def _keep(self, rows: Sequence[TableRow], stop: BaseException | None) -> None:
        files.write_text(self.folder.table, csv_text(rows))
        best = {row.task: row for row in reversed(self.best(rows))}
        for task in dict.fromkeys(row.task for row in rows):
            states = Counter(row.state for row in rows if row.task == task)
            results = {"jobs": ", ".join(f"{n} {state}" for state, n in states.items())}
            if row := best.get(task):
                results["by"] = self.plan.judged_by
                results["best"] = words(row.varying) or str(row.path or "")
                results["monitored"] = f"{row.results['monitor']} {number(row.results['best'])}"
            self.folder.add_results(task, results)
        failed = any(row.state == FAILED for row in rows)
        others = any(row.state == RUNNING for row in rows)
        state = "running" if others else "killed" if stop else "failed" if failed else "completed"
        if self._trackers and not others:
            self.folder.end(state)
        for tracker in self._trackers.values():
            tracker.ended(state)
        self.folder.update(finished=stop is None and not others)

    def _print(self, rows: Sequence[TableRow]) -> None:
        if logs.verbosity < 0:
            print(self.folder.path, flush=True)
            return
        best = self.best(rows)
        print_table(rows, [row.number for row in best], self.folder.table)
        for row in best if self.plan.search else ():
            print(f"best: trial {row.number}: {words(row.varying)}")  # to copy into a command
        counts = self._counts(rows)
        parts = [f"{number} {_COUNTED[state]}" for state, number in counts.items() if number]
        if self.before and counts[COMPLETED]:
            parts[0] += f" ({min(self.before, counts[COMPLETED])} of them earlier)"
        print(f"sweep {self.folder.name}: {', '.join(parts)}")
        print(f"sweep folder: {self.folder.path}", flush=True)

    def _counts(self, rows: Sequence[TableRow]) -> dict[str, int]:
        counts = {state: sum(row.state == state for row in rows) for state in _COUNTED}
        counts[NOT_RUN] += max(0, self.asked - len(rows))
        return counts

    def _end(self, rows: Sequence[TableRow], stop: BaseException | None) -> None:
        """Raise an error that describes how the sweep ended, unless all jobs are completed."""
        counts, total = self._counts(rows), max(len(rows), self.asked)
        if isinstance(stop, KeyboardInterrupt):
            if not rows:
                raise KeyboardInterrupt
            raise KeyboardInterrupt(
                f"{counts[COMPLETED]} of {total} jobs are done; the same command runs the others"
            )
        if failed := counts[FAILED]:
            advice = "; sweep.retry_failed=true runs them again"
            if stop:
                advice = ", and sweep.fail_fast=true stopped the sweep there"
            elif self.plan.settings.retry_failed:
                advice = ""
            raise SweepFailed(f"{failed} of {total} jobs failed{advice}")
        if stop is not None:
            raise SweepFailed(f"sweep.fail_fast=true stopped the sweep: {stop}")
        for state, what in _UNDONE.items():
            if counts[state]:
                raise SweepFailed(f"{counts[state]} of {total} jobs {what}")


_COUNTED = {
    COMPLETED: "completed",
    PRUNED: "pruned",
    FAILED: "failed",
    KILLED: "interrupted",
    RUNNING: "running in another process",
    NOT_RUN: NOT_RUN,
}
_UNDONE = {
    KILLED: "were interrupted; the same command resumes them",
    RUNNING: "are still running in another process; run the same command later for their results",
    NOT_RUN: "were not run; the same command runs them",
}


def plain_error(text: Any) -> str | None:
    """Return an error of status.json without the names of internal error classes."""
    for kind in ("RunFailed: ", "RequestError: "):
        text = str(text).removeprefix(kind) if text else None
    return text
