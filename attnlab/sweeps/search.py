"""A search over settings: what to try next, what came out, and which runs are hopeless.

Optuna suggests and remembers; it is imported when a search is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.records.processes import is_running, this_process
from attnlab.sweeps.search_settings import SearchSettings
from attnlab.sweeps.trial_reporter import TrialReporter

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

__all__ = ["Search", "Suggestion", "TrialOutcome", "TrialReporter"]

STATES = ("completed", "failed", "pruned", "killed")
# A trial's own marks in the storage.
_OWNER, _SURPLUS, _RETRIES = "attnlab:owner", "attnlab:surplus", "attnlab:retries"


@dataclass(frozen=True)
class Suggestion:
    """One trial to run.

    Attributes:
        number: of the trial, from 0.
        overrides: the words of the command line that give the settings their values.
    """

    number: int
    overrides: list[str]


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial's run ended.

    Attributes:
        state: `completed`, `failed`, `pruned`, or `killed`: to be resumed by `Search.restore`.
        values: of a completed run: its `SearchSettings.objectives`.
    """

    state: str
    values: tuple[float, ...] | None = None


class Search:
    """A study: suggests trials, and takes in what came of them. `open` makes one.

    Several processes may work on one study, with one storage. Together they run
    `settings.trials` trials, whatever became of them. What is suggested depends on the seed, the
    trial's number and the trials that are known then: the same command with one process and an
    empty folder suggests the same values, also where it was killed in between.

    Example:
        How a sweep runs it::

            settings = SearchSettings.parse(document["search"], fixed, task.monitor)
            for overrides in settings.space.probes():
                compose_and_check([*fixed, *overrides])  # before the first job
            search = Search.open(settings, folder, name)
            batch = search.restore(retry_failed)
            while batch or (batch := search.ask(jobs_at_a_time)):
                for suggestion, ended in zip(batch, launch(batch)):  # overrides + sweep.trial=N
                    search.tell(suggestion.number, TrialOutcome("completed", values))
                batch = []
            rows = search.summary()

        and the job::

            reporter = TrialReporter(folder, name, number, settings)
            path = run(config, sweep=SweepMember(name, parent, on_epoch=reporter))
            values = settings.objectives(read_json(path / "metrics.json"))

        A trial whose run is under way in another process is not told of: it stays open, and the
        next `restore` has it.
    """

    def __init__(
        self,
        settings: SearchSettings,
        storage: optuna.storages.BaseStorage,
        name: str,
        claims: Path,
    ):
        self._settings, self._storage, self._name = settings, storage, name
        self._claims = claims
        self._id = storage.get_study_id_from_name(name)

    @classmethod
    def open(cls, settings: SearchSettings, folder: Path, name: str) -> Search:
        """Begin a study, or go on with the one that is there.

        Args:
            settings: of the search.
            folder: of the sweep; made if it is missing.
            name: of the sweep, and of the study in a storage that several share.

        Raises:
            RequestError: the storage holds something else, or can't be used; nothing is changed.
        """
        from attnlab.sweeps import study_storage

        location = study_storage.location(settings, folder)
        claims = study_storage.claims(settings, folder)
        storage = study_storage.open_storage(location)
        folder.mkdir(parents=True, exist_ok=True)
        with study_storage.locked(claims), study_storage.quiet():
            study_storage.enter(settings, storage, name, location)
        return cls(settings, storage, name, claims)

    def ask(self, count: int = 1) -> list[Suggestion]:
        """The next trials to run.

        Args:
            count: at most so many.

        Returns:
            None where all `settings.trials` are taken, by this process or another.
        """
        suggestions: list[Suggestion] = []
        with self._claiming():
            while len(suggestions) < count and self._taken() < self._settings.trials:
                number = self._create({})
                if self._taken(number) > self._settings.trials:  # somebody on another machine
                    self._storage.set_trial_user_attr(self._key(number), _SURPLUS, True)
                    self._study().tell(number, state=_state("failed"))
                    break
                suggestions.append(self._suggest(number))
        return suggestions

    def tell(self, number: int, outcome: TrialOutcome) -> None:
        """Take in how a trial's run ended; a trial that has ended before stays as it is.

        Args:
            number: of the trial.
            outcome: how it ended. A trial that was killed is left for `restore`.

        Raises:
            ValueError: the state is none of `STATES`, or values and metrics differ in number.
        """
        if outcome.state not in STATES:
            raise ValueError(f"state: expected one of {', '.join(STATES)}, got {outcome.state!r}")
        if self._trial(number).state.is_finished():
            return
        from attnlab.sweeps.study_storage import quiet

        with quiet():
            if outcome.state == "killed":
                self._storage.set_trial_user_attr(self._key(number), _OWNER, None)
                return
            values = outcome.values if outcome.state == "completed" else None
            self._study().tell(number, values, _state(outcome.state), skip_if_finished=True)

    def restore(self, retry_failed: bool = False) -> list[Suggestion]:
        """The trials that were begun, and whose process has gone: now this process's own.

        Args:
            retry_failed: failed ones too, each as a new trial with the same values.
        """
        suggestions = []
        with self._claiming():
            for trial in self._trials():
                owner = trial.user_attrs.get(_OWNER)
                if trial.state.name == "RUNNING" and not (owner and is_running(owner)):
                    key = self._key(trial.number)
                    self._storage.set_trial_user_attr(key, _OWNER, this_process())
                    suggestions.append(self._suggest(trial.number))
            for trial in self._failed() if retry_failed else ():
                number = self._create({_RETRIES: trial.number}, trial)
                suggestions.append(self._suggest(number))
        return suggestions

    def summary(self) -> list[dict[str, Any]]:
        """A row for each trial, the best first.

        Returns:
            Mappings with `number`, `overrides`, `values` (of completed trials, else None), `state`
            (`completed`, `pruned`, `failed`, `running`), `epoch` (the last that a pruned one
            had, else None) and `best`: whether no other trial is better; with several metrics those
            are the trials of the Pareto front.
        """
        best = {trial.number for trial in self._best()}
        replaced = self.replaced()
        rows = [_row(trial, self._settings, best) for trial in self._trials()]
        rows = [row for row in rows if row["number"] not in replaced]
        order = ("completed", "pruned", "failed", "running")
        signs = [1 if direction == "min" else -1 for direction in self._settings.directions]

        def rank(row: dict[str, Any]) -> tuple[Any, ...]:
            values = [s * v for s, v in zip(signs, row["values"] or (), strict=False)]
            return (order.index(row["state"]), not row["best"], values, row["number"])

        return sorted(rows, key=rank)

    def others_at_work(self) -> bool:
        """Whether other processes that live have trials under way."""
        owners = [t.user_attrs.get(_OWNER) for t in self._trials() if t.state.name == "RUNNING"]
        return any(o and o != this_process() and is_running(o) for o in owners)

    def _best(self) -> list[FrozenTrial]:
        completed = [trial for trial in self._trials() if trial.state.name == "COMPLETE"]
        if not completed:
            return []
        study = self._study()
        return [study.best_trial] if len(self._settings.metrics) == 1 else study.best_trials

    @contextmanager
    def _claiming(self) -> Iterator[None]:
        """Let one process at a time take trials, so that none is taken twice."""
        from attnlab.sweeps import study_storage

        with study_storage.locked(self._claims), study_storage.quiet():
            yield

    def _study(self, number: int | None = None) -> optuna.Study:
        """The study with the sampler of a trial, and without any memory of its own."""
        import optuna

        from attnlab.sweeps.samplers import make_pruner, make_sampler

        if number is None:
            sampler: optuna.samplers.BaseSampler = optuna.samplers.RandomSampler(seed=0)
        else:
            sampler = make_sampler(self._settings, number)
        return optuna.load_study(
            study_name=self._name,
            storage=self._storage,
            sampler=sampler,
            pruner=make_pruner(self._settings),
        )

    def _create(self, marks: Mapping[str, Any], like: FrozenTrial | None = None) -> int:
        """A new trial of this process, with the values of another or none yet; its number."""
        import optuna

        trial = optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            params=like.params if like else {},
            distributions=like.distributions if like else {},
            user_attrs={_OWNER: this_process(), **marks},
        )
        key = self._storage.create_new_trial(self._id, template_trial=trial)
        return self._storage.get_trial(key).number

    def _suggest(self, number: int) -> Suggestion:
        """The trial's values: those it has, and new ones where it was killed before it had them."""
        import optuna

        space = self._settings.space
        if not {d.key for d in space.dimensions} <= set(self._trial(number).params):
            trial = optuna.trial.Trial(self._study(number), self._key(number))
            for dimension in space.dimensions:
                dimension.suggest(trial)
        return Suggestion(number, space.overrides(self._trial(number).params))

    def _trials(self) -> list[FrozenTrial]:
        """All that were begun, but for those that turned out to be too many."""
        trials = self._storage.get_all_trials(self._id, deepcopy=False)
        return [t for t in trials if t.state.name != "WAITING" and _SURPLUS not in t.user_attrs]

    def _failed(self) -> list[FrozenTrial]:
        replaced = self.replaced()
        return [
            trial
            for trial in self._trials()
            if trial.state.name == "FAIL" and trial.number not in replaced
        ]

    def replaced(self) -> set[int]:
        """Numbers of failed trials that another one has tried again."""
        return {
            trial.user_attrs[_RETRIES] for trial in self._trials() if _RETRIES in trial.user_attrs
        }

    def _taken(self, up_to: int | None = None) -> int:
        """How many of `settings.trials` are taken, by trials up to a number."""
        replaced = self.replaced()
        numbers = [t.number for t in self._trials() if t.number not in replaced]
        return sum(up_to is None or number <= up_to for number in numbers)

    def _trial(self, number: int) -> FrozenTrial:
        return self._storage.get_trial(self._key(number))

    def _key(self, number: int) -> int:
        """The storage's own number of a trial, which counts over all its studies."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, number)


def _state(state: str) -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return {
        "completed": TrialState.COMPLETE,
        "failed": TrialState.FAIL,
        "pruned": TrialState.PRUNED,
    }[state]


def _row(trial: FrozenTrial, settings: SearchSettings, best: set[int]) -> dict[str, Any]:
    """A trial in the words of `Search.summary`."""
    state = {"COMPLETE": "completed", "PRUNED": "pruned", "FAIL": "failed"}.get(
        trial.state.name, "running"
    )
    complete = {d.key for d in settings.space.dimensions} <= set(trial.params)
    return {
        "number": trial.number,
        "overrides": settings.space.overrides(trial.params) if complete else [],
        "values": tuple(trial.values) if state == "completed" else None,
        "state": state,
        "epoch": trial.last_step if state == "pruned" else None,
        "best": trial.number in best,
    }
