"""A sweep over every combination of some values."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from attnlab.errors import SweepFailed
from attnlab.records import files, logs
from attnlab.records.environment import has_gpu, processors
from attnlab.records.run_directory import ListedRun
from attnlab.records.status import this_process, write_ended
from attnlab.run.find_or_run import COMPLETED, FAILED, KILLED, RUNNING
from attnlab.run.memory import most_that_fit
from attnlab.sweeps.launching import Launcher, LauncherDied, one_line
from attnlab.sweeps.plan import Point, SweepPlan
from attnlab.sweeps.progress import Progress, failure
from attnlab.sweeps.sweep import Sweep, plain_error
from attnlab.sweeps.table import MOST_ROWS, NOT_RUN, TableRow, csv_text, print_table, words
from attnlab.sweeps.worker import MOST_PROGRAMS, MOST_TOGETHER, Outcome, at_a_time, run_points
from attnlab.tasks.kinds import kind_of

_MOST_NAMED = 5  # jobs that failed before
_EACH_FOR_ITSELF = (
    "each joblib process imports TensorFlow and compiles on its own: without hydra/launcher these "
    "jobs would train stacked in one process, which is usually faster"
)
# Memory of a process of a sweep besides its model, mostly for TensorFlow.
_BYTES_OF_A_PROCESS = 2**30
_WOULD = {
    NOT_RUN: "would run",
    KILLED: "would continue",
    FAILED: "failed before",
    RUNNING: "running in another process",
    COMPLETED: "done",
}


class GridSweep(Sweep):
    """All points are known and checked before the first run starts; one launch runs them all."""

    def __init__(self, plan: SweepPlan, launcher: Launcher):
        super().__init__(plan, launcher)
        self.points, self.duplicates = plan.points()
        self._launched = self._is_short_of_memory = False
        self._most_that_fit = cache(self._count_what_fits)
        # errors by digest, of runs without a folder or that can't be resumed
        self._failures: dict[str, str | None] = {}
        self._ended: set[str] = set()  # digests of runs whose process the system ended
        self._killed_before: set[tuple[Path, Any]] = set()  # folder and time of the last update

    def preview(self) -> None:  # noqa: D102
        rows = self.rows()
        todo = [row for row in rows if self._is_to_run(row)]
        would = {**_WOULD, FAILED: "would run again"} if self.plan.settings.retry_failed else _WOULD
        shown = rows if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS - 1], rows[-1]]
        print_table([dataclasses.replace(row, state=would[row.state]) for row in shown], [])
        if len(rows) > len(shown):
            print(f"{len(rows) - len(shown):,} more jobs are between the last two rows.")
        self._print_duplicates()
        print(f"{len(todo)} of {len(rows)} jobs would run. Sweep folder: {self.folder.path}")

    def work(self) -> None:  # noqa: D102
        self._print_duplicates()
        self.wait_for_orphans()
        rows = self.rows()
        numbers = {row.number for row in rows if self._is_to_run(row)}
        todo = [point for point in self.points if point.number in numbers]
        self.before = sum(row.state == COMPLETED for row in rows)
        killed = {row.number for row in rows if row.state == KILLED}
        lost = [point.digest for point in todo if point.number in killed]
        if self.launcher.spreads:
            for run in filter(None, map(self.index.find, lost)):
                write_ended(run.path, run.status)
            self.index.refresh()
        found = [*map(self.index.find, lost)]
        self._killed_before = {
            (run.path, run.status.get("updated")) for run in found if run and run.state == KILLED
        }
        asked = self.launcher.threads is not None
        if todo:
            self.launcher.open()
        if todo and self.launcher.here:
            self._divide()
        if todo or self._is_unfinished(rows):
            self.start_parents(point.config for point in self.points)
        if todo:  # the runs that were found are stored before anything else
            files.write_text(self.folder.table, csv_text(rows))
        if self.plan.settings.retry_failed:
            failed = frozenset(row.path for row in rows if row.state == FAILED and row.path)
            self.launch = dataclasses.replace(self.launch, retry_failed=failed)
        with Progress(self.folder.name, len(rows), len(rows) - len(todo), self.rows) as progress:
            together = any(_trains_together(point) for point in self.points)
            if todo and asked and together and not self.launcher.spreads:
                progress.say(_EACH_FOR_ITSELF)
            if len(todo) < len(rows):
                progress.say(self._summary(rows, len(todo)))
            for row in [row for row in rows if row.state == FAILED][:_MOST_NAMED]:
                progress.say(failure(row))
            groups = self._groups(todo)
            if self.launcher.here and len(groups) < len(todo):
                more = "; more don't fit into memory" if self._is_short_of_memory else ""
                most = max(min(len(group), at_a_time(p.config for p in group)) for group in groups)
                progress.say(f"{most} jobs at a time train together{more}")
            elif self.launcher.threads and len(todo) > 1 and (self.launcher.spreads or not asked):
                workers = min(self.launcher.workers, len(todo))
                progress.say(f"{workers} jobs at a time, each in its own process")
            self._run(todo)

    def rows(self, noted: bool = False) -> list[TableRow]:  # noqa: D102
        self.index.refresh()
        return [self._row(point, noted) for point in self.points]

    def best(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Return the best row of each task, by the task's monitored metric."""
        found = []
        for task in dict.fromkeys(row.task for row in rows):
            own = [row for row in rows if row.task == task and row.results.get("best") is not None]
            if own:
                lower = kind_of(task).scoring.is_lower_better(own[0].results["monitor"])
                found.append((min if lower else max)(own, key=lambda row: row.results["best"]))
        return found

    def has_orphans(self) -> bool:  # noqa: D102
        if not self.earlier.get("bound", True):
            return False
        self.index.refresh()
        found = [self.index.find(point.digest) for point in self.points]
        running = [run.status for run in found if run is not None and run.state == RUNNING]
        mine = self.folder.name, this_process()["host"]
        return any((status.get("sweep"), status.get("host")) == mine for status in running)

    def _is_to_run(self, row: TableRow) -> bool:
        retried = row.state == FAILED and self.plan.settings.retry_failed
        return row.state in (NOT_RUN, KILLED) or retried

    def _is_unfinished(self, rows: Sequence[TableRow]) -> bool:
        """Whether MLflow may lack results of the table, as after a killed process."""
        kept = None
        with suppress(OSError):
            kept = self.folder.table.read_text(encoding="utf-8")
        return not self.earlier.get("finished") or kept != csv_text(rows)

    def _row(self, point: Point, noted: bool) -> TableRow:
        found = self.index.find(point.digest, noted)
        task, label = point.config.task.name, words(point.varying)
        label = label or f"{task} / {point.config.attention.name}"
        epochs = point.config.trainer.epochs
        row = TableRow(point.number, task, point.varying, label, epochs=epochs)
        # A failed run that is to be retried counts as not run until then.
        if found is None or (self._launched and found.path in self.launch.retry_failed):
            if point.digest not in self._failures:
                return row
            return dataclasses.replace(row, state=FAILED, error=self._failures[point.digest])
        state, status = found.noted_state if noted else found.state, found.status
        if state == RUNNING and (found.path, status.get("updated")) in self._killed_before:
            state = KILLED
        if state == KILLED and not noted and point.digest in self._failures:  # it can't be resumed
            error = self._failures[point.digest]
            return dataclasses.replace(row, state=FAILED, error=error, path=found.path)
        if state == RUNNING and not noted:
            process = (status.get("host"), status.get("pid"))
            here = process == (this_process()["host"], os.getpid())
            if point.digest in self._ended or (self._launched and here):
                state = KILLED  # its launch has ended, although its status says running
        done = state == COMPLETED and not noted
        return dataclasses.replace(
            row,
            state=state,
            results=self.results_of(found.path) if done else {},
            error=plain_error(status.get("error")),
            path=found.path,
            epoch=int(status.get("epoch") or 0),
        )

    def _divide(self) -> None:
        """Divide jobs that don't train stacked among processes, one per processor.

        The number of processes depends on the whole grid, even if few jobs are left, because it
        sets the number of threads, on which the rounding of a resumed run may depend.
        """
        if has_gpu() or any(_trains_together(point) for point in self.points):
            return
        if any(point.config.trainer.together == "never" for point in self.points):
            return
        most = min(len(self.points), processors())
        programs = {point.config.program: point.config for point in self.points}
        for config in programs.values():
            most = most_that_fit(config, most, extra=_BYTES_OF_A_PROCESS)
        if most > 1:
            self.launcher.divide(most)
            self.launch = dataclasses.replace(self.launch, threads=self.launcher.threads)

    def _run(self, points: Sequence[Point]) -> None:
        """Launch points; if a process dies, launch the unfinished points again."""
        self._launched = True
        waiting = list(points)
        while waiting:
            before = self._stamps(waiting)
            death = self._launch(waiting)
            if death is None:
                return
            after = self._stamps(waiting)
            begun = [point for point in waiting if after[point.digest] != before[point.digest]]
            if not begun:
                raise SweepFailed(f"the launcher failed: {death}") from death
            # One run that exhausts memory ends all: run each alone to find which one it was.
            for point in filter(self._killed, begun):
                death, found = self._launch([point]), self._killed(point)
                if death is not None and found is not None:
                    error = f"its process died again ({death})"
                    write_ended(found.path, found.status, FAILED, error=error)
            numbers = {point.number for point in begun}
            waiting = [point for point in waiting if point.number not in numbers]

    def _launch(self, points: Sequence[Point]) -> LauncherDied | None:
        """Launch once; returns the error if the launcher died."""
        programs = len({point.config.program for point in points})
        calls = 0 if programs <= MOST_PROGRAMS else MOST_PROGRAMS
        for groups in self._parts(self._groups(points)):
            settings = [group[0].config.digest_of_settings for group in groups]
            configs = {
                key: [point.config for point in group]
                for key, group in zip(settings, groups, strict=True)
            }
            work = partial(run_points, launch=self.launch, groups=configs)
            try:
                returned = self.launcher(work, [group[0].overrides for group in groups], calls)
            except LauncherDied as death:
                return death
            for group, results in zip(groups, returned, strict=True):
                each = results if isinstance(results, list) else [results] * len(group)
                for point, result in zip(group, each, strict=True):
                    self._record(point, result)
        return None

    def _parts(self, groups: Sequence[list[Point]]) -> list[list[list[Point]]]:
        """Divide groups into parts whose programs fit into one process."""
        if not self.launcher.here:
            return [list(groups)]
        parts: list[list[list[Point]]] = [[]]
        shapes: set[str] = set()
        for group in groups:
            own = {point.config.program for point in group}
            if parts[-1] and len(shapes | own) > MOST_PROGRAMS:
                parts.append([])
                shapes = set()
            parts[-1].append(group)
            shapes |= own
        return parts

    def _record(self, point: Point, result: Outcome | Exception) -> None:
        self.index.forget(point.digest)
        if isinstance(result, Outcome) and result.state == FAILED:
            self._failures[point.digest] = result.error
        elif self.launcher.was_ended(result):
            self._ended.add(point.digest)
        elif isinstance(result, Exception):
            self._failures[point.digest] = one_line(result)

    def _groups(self, points: Sequence[Point]) -> list[list[Point]]:
        """Divide points into groups that a process trains at a time, equal shapes together."""
        alike: dict[tuple[int, str], list[Point]] = {}
        for point in points:
            most = self._most_together(point, len(points))
            alike.setdefault((most, point.config.program), []).append(point)
        groups: list[list[Point]] = []
        room = 0
        programs: set[str] = set()
        for (most, program), found in alike.items():
            for point in found:
                full = not groups or len(groups[-1]) >= min(room, most)
                if full or len(programs | {program}) > MOST_PROGRAMS:
                    groups.append([])
                    room, programs = most, set()
                groups[-1].append(point)
                room = min(room, most)
                programs.add(program)
        return groups

    def _most_together(self, point: Point, points: int) -> int:
        """Return how many points a process may train at a time, if this one is among them."""
        wanted = point.config.trainer.together
        # On a cluster, each point is a job of its own.
        if wanted == "never" or not _trains_together(point) or self.launcher.spreads:
            return 1
        share = -(-points // self.launcher.workers)
        most = min(MOST_TOGETHER, share) if wanted == "auto" else wanted
        return self._most_that_fit(point.config.program, most)

    def _count_what_fits(self, program: str, wanted: int) -> int:
        config = next(p.config for p in self.points if p.config.program == program)
        most = most_that_fit(config, wanted)
        self._is_short_of_memory |= most < wanted
        return most

    def _stamps(self, points: Sequence[Point]) -> dict[str, tuple[Any, ...]]:
        """Return a value per digest that changes when a process starts or resumes its run."""
        self.index.refresh()
        found = {p.digest: self.index.find(p.digest, noted=True) for p in points}
        return {
            digest: (run.path, run.status.get("updated")) if run else ()
            for digest, run in found.items()
        }

    def _killed(self, point: Point) -> ListedRun | None:
        found = self.index.refresh().find(point.digest)
        return found if found is not None and found.state == KILLED else None

    def _summary(self, rows: Sequence[TableRow], todo: int) -> str:
        counts = {
            "done before": self.before,
            "failed before": sum(row.state == FAILED for row in rows),
            "running in another process": sum(row.state == RUNNING for row in rows),
        }
        words = [f"{number} {what}" for what, number in counts.items() if number]
        return f"{len(rows)} job{'s' * (len(rows) != 1)}: {', '.join(words)}, {todo} to run"

    def _print_duplicates(self) -> None:
        if self.duplicates and logs.verbosity >= 0:
            print(f"{self.duplicates} jobs left out: they have the same configuration as others.")


def _trains_together(point: Point) -> bool:
    """Whether runs of its kind train faster stacked than one by one."""
    return kind_of(point.config.task.name).models.together > 1
