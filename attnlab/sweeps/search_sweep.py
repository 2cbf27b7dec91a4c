"""A sweep in which each job's values are chosen by what came of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlab.errors import RequestError, RunFailed
from attnlab.records.processes import is_running
from attnlab.records.run_directory import RunDirectory
from attnlab.sweeps.conductor import Conductor
from attnlab.sweeps.grid import varied
from attnlab.sweeps.jobs import DONE, FAILED, PRUNED, RUNNING, Job, record_key, words
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.table import Row

if TYPE_CHECKING:
    from attnlab.config.sections import RunConfig
    from attnlab.sweeps.launching import Launching
    from attnlab.sweeps.request import Request
    from attnlab.sweeps.search import Search, Suggestion, TrialOutcome
    from attnlab.sweeps.search_settings import SearchSettings

# The record of a trial that failed, and that another trial has tried again.
_RETRIED = "retried"


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
        self._search: Search | None = None

    def preview(self) -> None:  # noqa: D102
        records = [self.folder.record(p.stem) for p in self.folder.path.glob("jobs/trial_*.json")]
        taken = sum(self._is_taken(record) for record in records)
        keys = ", ".join(dimension.key for dimension in self._settings.space.dimensions)
        print(
            f"{max(self._settings.trials - taken, 0)} of {self._settings.trials} trials would run, "
            f"chosen by {self._settings.sampler} over {keys}. Sweep folder: {self.folder.path}"
        )

    def work(self) -> None:  # noqa: D102
        from attnlab.sweeps.search import Search

        search = self._search = Search.open(self._settings, self.folder.path, self.folder.name)
        self.before = sum(row["state"] != "running" for row in search.summary())
        batch = search.restore(self.request.settings.retry_failed)
        for number in search.replaced():
            self.folder.write_record(record_key("", number), state=_RETRIED)
        batch = batch or search.ask(self.launching.workers)
        if batch:
            self.start_parents()
        with Progress(self.folder, self._settings.trials, self.before) as progress:
            while batch:
                self._run(search, batch, progress)
                batch = search.ask(self.launching.workers)

    def rows(self) -> list[Row]:
        """The trials, the best first."""
        rows = []
        for trial in self._summary_of_trials():
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
        numbers = [trial["number"] for trial in self._summary_of_trials() if trial["best"]]
        return [row for row in rows if row.number in numbers and row.results]

    def others_at_work(self) -> bool:  # noqa: D102
        others = self._search is not None and self._search.others_at_work()
        return others or super().others_at_work()

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """The overrides of the best trials, to go on with."""
        return [f"best: trial {row.number}: {words(row.varying)}" for row in self.best(rows)]

    def configs(self) -> list[RunConfig]:  # noqa: D102
        return [self.request.first]

    def _summary_of_trials(self) -> list[dict[str, Any]]:
        """What the study says; nothing before it is open."""
        return self._search.summary() if self._search is not None else []

    def _is_taken(self, record: Mapping[str, Any]) -> bool:
        """Whether a trial of this record is none that would be run, or gone on with."""
        state = record.get("state")
        if state == FAILED:
            return not self.request.settings.retry_failed
        return state in (DONE, PRUNED) or (state == RUNNING and is_running(record))

    def _run(self, search: Search, batch: Sequence[Suggestion], progress: Progress) -> None:
        """Run trials, and tell the study what came of them, even when they are interrupted."""
        jobs = [job for suggestion in batch if (job := self._job(search, suggestion)) is not None]
        todo = self.prepare(jobs)
        progress.follow(jobs)
        try:
            if todo:
                self.run(todo, progress)
        finally:
            for job in jobs:
                search.tell(job.number, self._outcome(job))

    def _job(self, search: Search, suggestion: Suggestion) -> Job | None:
        """The job of a trial; one whose values can't be combined fails without being run."""
        from attnlab.sweeps.search import TrialOutcome

        try:
            return self.request.trial(suggestion)
        except RequestError as error:
            self.folder.write_record(
                record_key("", suggestion.number), state=FAILED, error=str(error), folder=None
            )
            search.tell(suggestion.number, TrialOutcome("failed"))
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
