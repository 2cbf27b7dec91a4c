"""A search: a sweep whose values are chosen by the results of earlier runs."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from omegaconf import DictConfig
from optuna.exceptions import OptunaError

from attnlab.errors import Pruned, RequestError, RunFailed, SweepFailed
from attnlab.records.run_directory import RunDirectory
from attnlab.records.status import is_running, this_process
from attnlab.run.command import check_for_interrupt
from attnlab.run.find_or_run import COMPLETED, FAILED, KILLED, RUNNING, find_run
from attnlab.run.memory import most_that_fit
from attnlab.sweeps.grid import varied
from attnlab.sweeps.launching import Launcher, LauncherDied
from attnlab.sweeps.plan import Point, SweepPlan
from attnlab.sweeps.progress import Progress
from attnlab.sweeps.search import storage
from attnlab.sweeps.search.settings import SearchSettings
from attnlab.sweeps.search.study import Study, Trial
from attnlab.sweeps.sweep import Sweep, plain_error
from attnlab.sweeps.table import TableRow, words
from attnlab.sweeps.worker import (
    MOST_PROGRAMS,
    Launch,
    Outcome,
    Room,
    prepare_process,
    run_or_find,
    run_together,
    stop_early,
)
from attnlab.tasks.kinds import kind_of

log = logging.getLogger("attnlab")
# Trials that train at a time if the search learns from results: with more, it learns from fewer.
_LEARNT_FROM = 8


class SearchSweep(Sweep):
    """A search whose workers share a study; several processes may work on it at the same time."""

    def __init__(self, plan: SweepPlan, launcher: Launcher, search: SearchSettings):
        super().__init__(plan, launcher)
        self._ends = plan.ends()
        self._settings, self.asked = search, search.trials
        self._study: Study | None = None
        self._points: dict[int, Point | None] = {}

    def preview(self) -> None:  # noqa: D102
        keys = ", ".join(dimension.key for dimension in self._settings.space.dimensions)
        print(
            f"{self._to_run()} of {self._settings.trials} trials would run, chosen by "
            f"{self._settings.sampler} over {keys}. Sweep folder: {self.folder.path}"
        )

    def work(self) -> None:  # noqa: D102
        study = self._study = self._open()
        self.wait_for_orphans()
        for number, owner in study.lost().items():
            study.release(number, owner)
        if self.plan.settings.retry_failed:
            self.index.refresh()
            paths = [self._row(trial, noted=True).path for trial in study.retry_failed()]
            retried = frozenset(path for path in paths if path is not None)
            self.launch = dataclasses.replace(self.launch, retry_failed=retried)
        states = [trial.state for trial in study.trials()]
        self.before, told = states.count(COMPLETED), len(states) - states.count(RUNNING)
        if left := study.left():
            self.launcher.open()
            self.start_parents([self.plan.first])
        most = self._most_together()
        with Progress(self.folder.name, self._settings.trials, told, self.rows) as progress:
            if most > 1 and left > 1:
                progress.say(f"{min(most, left)} trials at a time train together")
            self._run(study, most)
        try:
            if left:
                study.draw(self.folder.path / "plots")
        except (OSError, OptunaError, ValueError, RuntimeError) as error:
            log.warning("the search is not drawn: %s", error)

    def rows(self, noted: bool = False) -> list[TableRow]:
        """List the trials, the best first."""
        if self._study is None:
            return []
        self.index.refresh()
        return [self._row(trial, noted) for trial in self._study.trials()]

    def best(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Return the best trial; with several metrics, the Pareto front."""
        trials = self._study.trials() if self._study is not None else []
        numbers = [trial.number for trial in trials if trial.best]
        return [row for row in rows if row.number in numbers and row.results]

    def has_orphans(self) -> bool:  # noqa: D102
        trials, host = self._study.trials() if self._study else (), this_process()["host"]
        owners = [trial.owner or {} for trial in trials if trial.state == RUNNING]
        bound = [owner for owner in owners if owner.get("launcher") and owner.get("host") == host]
        return any(is_running(owner) and not is_running(owner["launcher"]) for owner in bound)

    def _open(self) -> Study:
        return Study.open(self._settings, self.folder.path, self.folder.name)

    def _to_run(self) -> int:
        """Return how many trials a launch would run, without writing anything."""
        place = storage.location(self._settings, self.folder.path)
        if not self.folder.read() or not (storage.is_url(place) or Path(place).exists()):
            return self._settings.trials
        study = self._open()
        again = (FAILED,) if self.plan.settings.retry_failed else ()
        lost = study.lost()
        begun = [trial for trial in study.trials() if trial.state in again or trial.number in lost]
        return study.left() + len(begun)

    def _row(self, trial: Trial, noted: bool) -> TableRow:
        point = self._point(trial)
        found = self.index.find(point.digest, noted) if point else None
        path = found.path if found else None
        if trial.run:
            path = self.folder.path.parents[1] / trial.run
        state, error = trial.state, trial.error
        if state == RUNNING and not noted:
            owned = bool(trial.owner) and is_running(trial.owner or {})
            under_way = owned or (found is not None and found.state == RUNNING)
            state = RUNNING if under_way else KILLED
        if state == FAILED and error is None and found is not None:
            error = plain_error(found.status.get("error"))
        task, varying = self.plan.first.task.name, varied(trial.overrides)
        results = self.results_of(path) if path and state == COMPLETED and not noted else {}
        epoch = int(found.status.get("epoch") or 0) if found else 0
        epochs, label = point.config.trainer.epochs if point else 0, words(varying)
        place = trial.number, task, varying, label
        return TableRow(*place, state, results, error, path, epoch, epochs)

    def _point(self, trial: Trial) -> Point | None:
        """Return the point of a trial; None without values, or if they can't be combined."""
        if not trial.overrides:
            return None
        if trial.number not in self._points:
            self._points[trial.number] = None
            with suppress(RequestError):
                self._points[trial.number] = self.plan.trial(trial.number, trial.overrides)
        return self._points[trial.number]

    def _most_together(self) -> int:
        """Return how many trials are suggested and trained at a time by a process."""
        wanted, kind = self.plan.first.trainer.together, kind_of(self.plan.first.task.name)
        alone = wanted == "never" or kind.models.together == 1 or not self.launcher.here
        alone |= "seconds" in self._settings.metrics  # stacked runs share their seconds
        # These two compare unfinished runs, so their result would depend on timing.
        if alone or self._settings.pruner in ("asha", "hyperband"):
            return 1
        if wanted == "auto":
            wanted = min(self._settings.population or _LEARNT_FROM, MOST_PROGRAMS)
            if self._settings.sampler in ("random", "grid") and self._settings.pruner == "none":
                wanted = MOST_PROGRAMS  # all shapes may differ
        return min((most_that_fit(end, wanted) for end in self._ends), default=wanted)

    def _run(self, study: Study, most: int) -> None:
        """Launch workers; after one dies, run each of its trials alone to find the cause."""
        while left := study.left():
            before = study.trials()
            try:
                if self._launch(min(self.launcher.workers, left), most):
                    continue
                return
            except LauncherDied as death:
                if study.trials() == before:
                    raise SweepFailed(f"the launcher failed: {death}") from death
            for number, owner in study.lost().items():
                study.release(number, owner)
                try:
                    self._launch(1, 1, only=number)
                except LauncherDied as death:
                    if again := study.lost().get(number):
                        error = f"its process died again ({death})"
                        study.tell(number, FAILED, error=error, owner=again)

    def _launch(self, workers: int, most: int, only: int | None = None) -> bool:
        """Launch workers once; returns whether one stopped because its process was full."""
        work = partial(run_trials, launch=self.launch, plan=self.plan, most=most, only=only)
        returned = self.launcher(work, [self.plan.words] * workers)
        for result in returned:
            if isinstance(result, Exception) and not self.launcher.was_ended(result):
                raise result
        return True in returned


def run_trials(
    cfg: DictConfig, *, launch: Launch, plan: SweepPlan, most: int = 1, only: int | None = None
) -> bool:
    """Run trials in a worker, `most` at a time, until all are taken or this process is full.

    Results of trials that train together are stored in order when all have ended.

    Returns:
        Whether the process is full.

    Raises:
        KeyboardInterrupt: Interrupted.
        StoppedEarly: A trial failed, and `sweep.fail_fast` is set.
    """
    check_for_interrupt()
    prepare_process(launch)
    assert plan.search is not None
    study = Study.open(plan.search, plan.folder.path, plan.folder.name)
    owner = {"launcher": dict(launch.owner) if launch.bound else None, **this_process()}
    busy: set[int] = set()
    room = Room()
    while launch.is_active() and not room.is_full():
        trials = study.take_round(owner, busy, most, only)
        if not trials:
            return False
        ended = _run_round(study, trials, launch, plan)
        for trial, outcome in zip(trials, ended, strict=True):
            if outcome.state == RUNNING:  # another process runs it
                study.release(trial.number, trial.owner)
                busy.add(trial.number)
            else:
                run = RunDirectory(outcome.folder).name if outcome.folder else None
                study.tell(trial.number, outcome.state, outcome.values, run, outcome.error)
        for outcome in ended:
            if outcome.state == FAILED:
                stop_early(launch, outcome)
    return room.is_full()


def _run_round(
    study: Study, trials: Sequence[Trial], launch: Launch, plan: SweepPlan
) -> list[Outcome]:
    try:
        programs, works = zip(*[_work(study, trial, launch, plan) for trial in trials], strict=True)
        return run_together(works, programs, launch)
    except BaseException:
        for trial in trials:
            study.release(trial.number, trial.owner)
        raise


def _work(
    study: Study, trial: Trial, launch: Launch, plan: SweepPlan
) -> tuple[str, Callable[[], Outcome]]:
    """Return the program of a trial's run, and the function that makes the run."""
    try:
        point = plan.trial(trial.number, trial.overrides)
    except RequestError as error:
        return "", partial(Outcome, FAILED, error=str(error))
    return point.config.program, partial(_run_trial, study, point, launch)


def _run_trial(study: Study, point: Point, launch: Launch) -> Outcome:
    outcome = run_or_find(point.config, launch, TrialReporter(study, point.number))
    if outcome.state == COMPLETED and outcome.folder is not None:
        try:
            values = study.settings.objectives(RunDirectory(outcome.folder).read_metrics())
            outcome = dataclasses.replace(outcome, values=values)
        except (RequestError, RunFailed) as error:
            outcome = Outcome(FAILED, outcome.folder, str(error))
    if outcome.folder is None and (found := find_run(point.config)):
        outcome = dataclasses.replace(outcome, folder=found.path)
    return outcome


class TrialReporter:
    """Reports a trial's epochs and prunes its run; if the storage fails, only pruning stops."""

    def __init__(self, study: Study, number: int):
        self._study, self._number, self._broken = study, number, False

    def __call__(self, row: Mapping[str, float]) -> None:
        """Report a row of history.csv; raises `Pruned` if the run should stop."""
        settings = self._study.settings
        metric = settings.monitor[0]
        if settings.pruner == "none" or metric not in row or self._broken:
            return
        if not (metric.endswith("_loss") or math.isfinite(row[metric])):
            return  # the score was not computed in this epoch
        epoch, value = int(row["epoch"]), float(row[metric])
        try:
            hopeless = self._study.is_hopeless(self._number, epoch, value)
        except (OSError, OptunaError, ValueError) as error:
            log.warning("trial %d is not pruned: %s", self._number, error)
            self._broken = True
            return
        if hopeless:
            raise Pruned(
                f"given up after epoch {epoch}: {metric} {value:.4g} is hopeless beside the other "
                "trials"
            )
