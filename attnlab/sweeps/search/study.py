"""A search's study: it suggests trials, stores results, and decides which runs to prune."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna import pruners, samplers
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from attnlab.records.status import is_running
from attnlab.run.find_or_run import COMPLETED, FAILED, PRUNED, RUNNING
from attnlab.sweeps.search import storage
from attnlab.sweeps.search.settings import SearchSettings

_STATES = {
    TrialState.COMPLETE: COMPLETED,
    TrialState.PRUNED: PRUNED,
    TrialState.FAIL: FAILED,
    TrialState.RUNNING: RUNNING,
}
_ORDER = (COMPLETED, PRUNED, FAILED, RUNNING)
# User attributes of a trial in Optuna's storage.
_OWNER, _SURPLUS, _RETRIES = "attnlab:owner", "attnlab:surplus", "attnlab:retries"
_RUN, _ERROR = "attnlab:run", "attnlab:error"
# For `asha` and `hyperband`: one run in three continues to three times as many epochs.
_REDUCTION = 3


@dataclass(frozen=True)
class Trial:
    """A trial of the storage."""

    number: int  # from 0
    # the overrides with its values; none if its process was killed before it had values
    overrides: tuple[str, ...]
    state: str  # `completed`, `pruned`, `failed`, or `running` (started and not ended)
    values: tuple[float, ...] | None = None  # `SearchSettings.objectives` of a completed trial
    best: bool = False  # whether it is the best trial; with several metrics, on the Pareto front
    owner: Mapping[str, Any] | None = None  # the process that runs it; None if there is none
    run: str | None = None  # the name of its run's folder, once it has ended
    error: str | None = None  # why it failed or was pruned


class Study:
    """Suggests trials, and stores their results. `open` makes one.

    Several processes may work on one study through one storage. Together they run
    `settings.trials` trials, failed and pruned ones included. A suggestion depends on the seed, the
    trial's number and the results known at that moment. So one process that starts with an empty
    folder always suggests the same values, even if it is killed and started again.
    """

    def __init__(self, settings: SearchSettings, storage: BaseStorage, name: str, claims: Path):
        self.settings, self._storage, self._name, self._claims = settings, storage, name, claims
        self._id = storage.get_study_id_from_name(name)

    @classmethod
    def open(cls, settings: SearchSettings, folder: Path, name: str) -> Study:
        """Create a study, or open the one in the storage.

        Raises:
            RequestError: The storage has other content, or can't be used. Nothing is changed.
        """
        location = storage.location(settings, folder)
        is_url = storage.is_url(location)
        opened = storage.database(location) if is_url else storage.journal(Path(location))
        # A process locks this file while it takes trials.
        beside = folder.absolute() / storage.JOURNAL if is_url else Path(location)
        claims = beside.with_name(f"{beside.name}.claims")
        folder.mkdir(parents=True, exist_ok=True)
        with storage.locked(claims), storage.quiet():
            storage.enter(settings, opened, name, location)
        return cls(settings, opened, name, claims)

    def take(
        self,
        owner: Mapping[str, Any],
        skip: Collection[int] = (),
        numbers: Collection[int] | None = None,
    ) -> Trial | None:
        """Take the next trial to run: a released one, or a new one.

        Args:
            owner: This process.
            skip: Numbers of trials that are left to other processes.
            numbers: Take only one of these; None for any.

        Returns:
            None if all `settings.trials` are taken, or none of `numbers` is left.
        """
        with storage.locked(self._claims), storage.quiet():
            for number, who in self._owners().items():
                if who is None and number not in skip and (numbers is None or number in numbers):
                    self._mark(number, _OWNER, dict(owner))
                    return self._suggest(number)
            new = self._storage.get_n_trials(self._id)
            if (numbers and new not in numbers) or self._taken() >= self.settings.trials:
                return None
            number = self._create({_OWNER: dict(owner)})
            if self._taken(number) > self.settings.trials:  # another machine took the last one
                self._mark(number, _SURPLUS, True)
                self._study().tell(number, state=TrialState.FAIL)
                return None
            return self._suggest(number)

    def take_round(
        self,
        owner: Mapping[str, Any],
        skip: Collection[int] = (),
        most: int = 1,
        only: int | None = None,
    ) -> list[Trial]:
        """Take the trials to run at the same time, or `only` one; see `take`.

        They belong to one round: the first `most` trials of the search, the next `most`, and so on.
        So a killed search continues the same round.
        """
        numbers = None if only is None else range(only, only + 1)
        found: list[Trial] = []
        while len(found) < most and (trial := self.take(owner, skip, numbers)) is not None:
            found.append(trial)
            if numbers is None:
                first = trial.number - trial.number % most
                numbers = range(first, first + most)
        return found

    def tell(
        self,
        number: int,
        state: str,
        values: Collection[float] | None = None,
        run: str | None = None,
        error: str | None = None,
        *,
        owner: Mapping[str, Any] | None = None,
    ) -> None:
        """Store how a trial ended, with its run folder; a trial that has ended stays as it is.

        With `owner` also a trial stays as it is that another process has taken since.
        """
        ended = {word: known for known, word in _STATES.items()}[state]
        with storage.locked(self._claims), storage.quiet():
            if not self._is_of(number, owner or self._trial(number).user_attrs.get(_OWNER)):
                return
            self._mark(number, _RUN, run)
            self._mark(number, _ERROR, error)
            told = list(values) if state == COMPLETED and values is not None else None
            self._study().tell(number, told, ended, skip_if_finished=True)

    def release(self, number: int, owner: Mapping[str, Any] | None) -> None:
        """Give up a trial of a process, so that the next `take` of any process gets it.

        A trial that has ended, or that another process has taken since, stays as it is.
        """
        with storage.locked(self._claims), storage.quiet():
            if self._is_of(number, owner):
                self._mark(number, _OWNER, None)

    def lost(self) -> dict[int, Mapping[str, Any]]:
        """Map the unfinished trials whose process has ended to that process."""
        return {n: who for n, who in self._owners().items() if who and not is_running(who)}

    def retry_failed(self) -> list[Trial]:
        """Queue each failed trial again, with its values; returns the failed ones."""
        with storage.locked(self._claims), storage.quiet():
            trials, replaced = self._trials(), self._replaced()
            failed = [t for t in trials if t.state == TrialState.FAIL and t.number not in replaced]
            for trial in failed:
                self._create({_OWNER: None, _RETRIES: trial.number}, trial)
        return [self._as_trial(trial) for trial in failed]

    def left(self) -> int:
        """Count the trials that are not started, or that no process runs any more."""
        free = list(self._owners().values()).count(None)
        return max(0, self.settings.trials - self._taken()) + free

    def trials(self) -> list[Trial]:
        """List all trials, the best first, without failed ones that were retried."""
        best: set[int] = set()
        if any(trial.state == TrialState.COMPLETE for trial in self._trials()):
            study, single = self._study(), len(self.settings.metrics) == 1
            best = {t.number for t in ([study.best_trial] if single else study.best_trials)}
        replaced = self._replaced()
        trials = [self._as_trial(t, t.number in best) for t in self._trials()]
        signs = [1 if direction == "min" else -1 for direction in self.settings.directions]

        def rank(trial: Trial) -> tuple[Any, ...]:
            values = [s * v for s, v in zip(signs, trial.values or (), strict=False)]
            return (_ORDER.index(trial.state), not trial.best, values, trial.number)

        return sorted((t for t in trials if t.number not in replaced), key=rank)

    def draw(self, folder: Path) -> None:
        """Draw the figures of the search; raises `OSError` and Optuna's errors."""
        from attnlab.sweeps.search.figures import draw_search

        named = {"best_value": f"best {self.settings.monitor[0]}"}
        draw_search(self._study(), [named.get(m, m) for m in self.settings.metrics], folder)

    def is_hopeless(self, number: int, epoch: int, value: float) -> bool:
        """Store a run's value after an epoch; returns whether the run should be pruned.

        Raises:
            OSError, OptunaError: The storage can't be used.
        """
        with storage.quiet():
            known = self._trial(number).intermediate_values
            trial = optuna.trial.Trial(self._study(), self._key(number))
            if epoch not in known:  # a resumed run may repeat an epoch
                trial.report(value, epoch)
            return trial.should_prune()

    def _study(self, number: int | None = None) -> optuna.Study:
        """Load Optuna's study, with the sampler of a trial."""
        how: Any = {"sampler": _sampler(self.settings, number), "pruner": _pruner(self.settings)}
        return optuna.load_study(study_name=self._name, storage=self._storage, **how)

    def _create(self, marks: Mapping[str, Any], like: FrozenTrial | None = None) -> int:
        """Create a trial, with the values of another one or without values; returns its number."""
        given: Any = {"params": like.params, "distributions": like.distributions} if like else {}
        state, attrs = TrialState.RUNNING, dict(marks)
        trial = optuna.trial.create_trial(state=state, user_attrs=attrs, **given)
        key = self._storage.create_new_trial(self._id, template_trial=trial)
        return self._storage.get_trial(key).number

    def _suggest(self, number: int) -> Trial:
        """Suggest a trial's values, unless it has them already."""
        if not self._has_values(self._trial(number)):
            trial = optuna.trial.Trial(self._study(number), self._key(number))
            for dimension in self.settings.space.dimensions:
                dimension.suggest(trial)
        return self._as_trial(self._trial(number))

    def _as_trial(self, trial: FrozenTrial, best: bool = False) -> Trial:
        words = self.settings.space.overrides(trial.params) if self._has_values(trial) else ()
        values = tuple(trial.values) if trial.state == TrialState.COMPLETE else None
        marks = (trial.user_attrs.get(name) for name in (_OWNER, _RUN, _ERROR))
        return Trial(trial.number, tuple(words), _STATES[trial.state], values, best, *marks)

    def _has_values(self, trial: FrozenTrial) -> bool:
        return {dimension.key for dimension in self.settings.space.dimensions} <= set(trial.params)

    def _trials(self) -> list[FrozenTrial]:
        """List all started trials, except surplus ones."""
        trials = self._storage.get_all_trials(self._id, deepcopy=False)
        return [t for t in trials if t.state in _STATES and _SURPLUS not in t.user_attrs]

    def _owners(self) -> dict[int, Mapping[str, Any] | None]:
        """Map each unfinished trial to the process that runs it; None if there is none."""
        begun = [trial for trial in self._trials() if trial.state == TrialState.RUNNING]
        return {trial.number: trial.user_attrs.get(_OWNER) for trial in begun}

    def _is_of(self, number: int, owner: Mapping[str, Any] | None) -> bool:
        """Whether a trial has not ended and belongs to this process."""
        trial = self._trial(number)
        return not trial.state.is_finished() and trial.user_attrs.get(_OWNER) == owner

    def _replaced(self) -> set[int]:
        """Return the numbers of failed trials that were retried."""
        return {t.user_attrs[_RETRIES] for t in self._trials() if _RETRIES in t.user_attrs}

    def _taken(self, up_to: int | None = None) -> int:
        """Count the taken ones of `settings.trials`, among trials up to a number."""
        numbers = {trial.number for trial in self._trials()} - self._replaced()
        return sum(up_to is None or number <= up_to for number in numbers)

    def _mark(self, number: int, name: str, value: Any) -> None:
        self._storage.set_trial_user_attr(self._key(number), name, value)

    def _trial(self, number: int) -> FrozenTrial:
        return self._storage.get_trial(self._key(number))

    def _key(self, number: int) -> int:
        """Return the storage's id of a trial, which is unique over all studies."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, number)


def _sampler(settings: SearchSettings, number: int | None) -> samplers.BaseSampler:
    """Make the sampler of one trial, seeded by the search's seed and the trial's number.

    So a killed search continues with the same values, and processes that share a storage suggest
    different values.
    """
    if number is None:
        return samplers.RandomSampler(seed=0)
    seed = int(np.random.SeedSequence([settings.seed, number]).generate_state(1)[0])
    with storage.quiet():  # Optuna calls some arguments experimental
        if settings.sampler == "grid":
            return samplers.GridSampler(settings.space.grid(), seed=settings.seed)
        if settings.sampler == "random":
            return samplers.RandomSampler(seed=seed)
        if settings.sampler == "nsgaii":
            return samplers.NSGAIISampler(population_size=settings.population or 50, seed=seed)
        if settings.sampler == "cmaes":
            return samplers.CmaEsSampler(
                n_startup_trials=settings.startup_trials,
                independent_sampler=samplers.RandomSampler(seed=seed),
                warn_independent_sampling=False,
                consider_pruned_trials=settings.pruner != "none",
                popsize=settings.population,
                seed=seed,
            )
        return samplers.TPESampler(
            n_startup_trials=settings.startup_trials, constant_liar=True, seed=seed
        )


def _pruner(settings: SearchSettings) -> pruners.BasePruner:
    """Make the pruner, which decides after an epoch whether a run is stopped."""
    epochs = settings.prune_after_epochs
    if settings.pruner == "median":
        return pruners.MedianPruner(settings.prune_after_trials, n_warmup_steps=epochs)
    if settings.pruner == "asha":
        return pruners.SuccessiveHalvingPruner(epochs, reduction_factor=_REDUCTION)
    if settings.pruner == "hyperband":
        # "auto": the number of epochs of a completed run, known after the first one.
        return pruners.HyperbandPruner(epochs, "auto", reduction_factor=_REDUCTION)
    return pruners.NopPruner()
