"""A sweep over every combination of some values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlab.sweeps.conductor import Conductor, first_of_each_task
from attnlab.sweeps.jobs import DONE, FAILED, KILLED, NEW, RUNNING, WAITING
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.table import Row, csv_text, print_table

if TYPE_CHECKING:
    from attnlab.config.sections import RunConfig
    from attnlab.sweeps.launching import Launching
    from attnlab.sweeps.request import Request

_WOULD = {
    NEW: "would run",
    KILLED: "would go on",
    FAILED: "failed before",
    RUNNING: "runs elsewhere",
    DONE: "done",
}


class GridSweep(Conductor):
    """All jobs are known and checked before the first begins, and are launched together.

    Args:
        request: what is asked for.
        launching: runs jobs.
    """

    def __init__(self, request: Request, launching: Launching):
        super().__init__(request, launching)
        self.jobs, self.twins = request.jobs()

    def preview(self) -> None:  # noqa: D102
        self.survey(self.jobs)
        todo = [job for job in self.jobs if self.is_to_run(job)]
        rows = [
            Row(
                job.number,
                job.config.task.name,
                job.varying,
                "would run again" if job in todo and job.state == FAILED else _WOULD[job.state],
                job.results,
            )
            for job in self.jobs
        ]
        print_table(rows, [])
        self._say_twins()
        print(f"{len(todo)} of {len(rows)} jobs would run. Sweep folder: {self.folder.path}")

    def work(self) -> None:  # noqa: D102
        self._say_twins()
        todo = self.prepare(self.jobs)
        self.before = sum(job.state == DONE for job in self.jobs)
        if todo or self._is_unfinished():
            self.start_parents()
        for job in todo:
            job.state = WAITING
        with Progress(self.folder, len(self.jobs), len(self.jobs) - len(todo)) as progress:
            if len(todo) < len(self.jobs):
                progress.say(self._standing(todo))
            if todo:
                self.run(todo, progress)

    def rows(self) -> list[Row]:  # noqa: D102
        return [Row.of(job) for job in self.jobs]

    def best(self, rows: Sequence[Row]) -> list[Row]:
        """The best row of each task, by what the task monitors."""
        from attnlab.run.building import make_task

        found = []
        for config in self.configs():
            sign = 1 if make_task(config).monitor[1] == "min" else -1
            own = [r for r in rows if r.task == config.task.name]
            known = [row for row in own if row.results.get("best") is not None]
            if known:
                found.append(min(known, key=lambda row: sign * row.results["best"]))
        return found

    def configs(self) -> list[RunConfig]:  # noqa: D102
        return first_of_each_task(job.config for job in self.jobs)

    def _is_unfinished(self) -> bool:
        """Whether MLflow lacks what the table says, as after a process that was killed."""
        try:
            kept = self.folder.table.read_text(encoding="utf-8")
        except OSError:
            return True
        return not self.folder.read().get("finished") or kept != csv_text(self.rows())

    def _standing(self, todo: Sequence[object]) -> str:
        counts = {
            "done before": self.before,
            "failed before": sum(j.state == FAILED for j in self.jobs),
            "under way in another process": sum(j.state == RUNNING for j in self.jobs),
        }
        words = [f"{number} {what}" for what, number in counts.items() if number]
        return f"{len(self.jobs)} jobs: {', '.join(words)}, {len(todo)} to run"

    def _say_twins(self) -> None:
        if self.twins:
            print(f"{self.twins} jobs have the configuration of another one and are left out.")
