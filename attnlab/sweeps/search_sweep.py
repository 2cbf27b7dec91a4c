"""A sweep in which each job's values are chosen by what came of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab.errors import RequestError, RunFailed
from attnlab.records.run_directory import RunDirectory
from attnlab.sweeps.conductor import Conductor
from attnlab.sweeps.grid import varied
from attnlab.sweeps.jobs import DONE, FAILED, PRUNED, Job, record_key, words
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.table import Row

if TYPE_CHECKING:
    from attnlab.schema import RunConfig
    from attnlab.sweeps.launching import Launching
    from attnlab.sweeps.request import Request
    from attnlab.sweeps.search import Suggestion, TrialOutcome
    from attnlab.sweeps.search_settings import SearchSettings


class SearchSweep(Conductor):
    """Trials are launched in batches, one for each worker; several processes may share the study.

    Args:
        request: what is asked for.
        launching: runs jobs.
        search: settings of the search.
    """

    def __init__(self, request: Request, launching: Launching, search: SearchSettings):
        super().__init__(request, launching)
        request.check_space()
        self._settings = search

    def preview(self) -> None:  # noqa: D102
        done = len([*self.folder.path.glob("jobs/trial_*.json")])
        keys = ", ".join(dimension.key for dimension in self._settings.space.dimensions)
        print(
            f"{max(self._settings.trials - done, 0)} of {self._settings.trials} trials would run, "
            f"chosen by {self._settings.sampler} over {keys}. Sweep folder: {self.folder.path}"
        )

    def work(self) -> None:  # noqa: D102
        from attnlab.sweeps.search import Search

        self._search = Search.open(self._settings, self.folder.path, self.folder.name)
        self.before = sum(row["state"] != "running" for row in self._search.summary())
        batch = self._search.restore(self.request.settings.retry_failed)
        batch = batch or self._search.ask(self.launching.workers)
        if batch:
            self.start_parents()
        with Progress(self.folder, self._settings.trials, self.before) as progress:
            while batch:
                self._run(batch, progress)
                batch = self._search.ask(self.launching.workers)

    def rows(self) -> list[Row]:
        """The trials, the best first."""
        rows = []
        for trial in self._search.summary():
            record = self.folder.record(record_key("", trial["number"]))
            rows.append(
                Row(
                    trial["number"],
                    self.request.first.task.name,
                    varied(trial["overrides"]),
                    record.get("state", trial["state"]),
                    record.get("results", {}),
                    record.get("error"),
                    record.get("folder"),
                )
            )
        return rows

    def best(self, rows: Sequence[Row]) -> list[Row]:
        """The best trial, or the front of those that none beats in all metrics."""
        numbers = [trial["number"] for trial in self._search.summary() if trial["best"]]
        return [row for row in rows if row.number in numbers and row.results]

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """The overrides of the best trials, to go on with."""
        return [f"best: trial {row.number}: {words(row.varying)}" for row in self.best(rows)]

    def configs(self) -> list[RunConfig]:  # noqa: D102
        return [self.request.first]

    def _run(self, batch: Sequence[Suggestion], progress: Progress) -> None:
        """Run trials, and tell the study what came of them, even when they are interrupted."""
        jobs = [job for job in map(self._job, batch) if job is not None]
        todo = self.prepare(jobs)
        progress.follow(jobs)
        try:
            if todo:
                self.run(todo, progress)
        finally:
            for job in jobs:
                self._search.tell(job.number, self._outcome(job))

    def _job(self, suggestion: Suggestion) -> Job | None:
        """The job of a trial; one whose values can't be combined fails without being run."""
        from attnlab.sweeps.search import TrialOutcome

        try:
            return self.request.trial(suggestion)
        except RequestError as error:
            self.folder.write_record(
                record_key("", suggestion.number), state=FAILED, error=str(error), folder=None
            )
            self._search.tell(suggestion.number, TrialOutcome("failed"))
            return None

    def _outcome(self, job: Job) -> TrialOutcome:
        from attnlab.sweeps.search import TrialOutcome

        if job.state == DONE and job.folder is not None:
            try:
                metrics = RunDirectory(job.folder).read_metrics()
                return TrialOutcome("completed", self._settings.objectives(metrics))
            except (RequestError, RunFailed) as error:
                self.folder.write_record(job.key, state=FAILED, error=str(error))
                return TrialOutcome("failed")
        return TrialOutcome(job.state if job.state in (FAILED, PRUNED) else "killed")
