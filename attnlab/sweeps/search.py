"""A search: rounds of trials whose values Optuna suggests from the results of earlier rounds.

A suggestion depends only on the seed, the trial's number and the results of earlier rounds, and a
run with the same configuration is made only once. So a search needs no state of its own: after a
kill the same command asks again for the same trials, and finds their runs.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import Trial, TrialState

from attnlab.config.options import quoted
from attnlab.config.sections import SearchConfig, decides_result, parse_section
from attnlab.errors import Pruned, RequestError
from attnlab.records import files
from attnlab.records.run_directory import ListedRun
from attnlab.runner.resume import COMPLETED, FAILED
from attnlab.runner.train import make_task
from attnlab.sweeps.grid import Job, Plan
from attnlab.sweeps.table import TableRow
from attnlab.tasks.kinds import kind_of

METRICS = ("best_value", "parameters")
# Trials of a round; more, if suggestions don't depend on results.
_ROUND, _INDEPENDENT_ROUND = 8, 16
_FEWEST_DRAWN = 4  # completed trials that allow to say which settings matter
_FORMS = "{interval: [LOW, HIGH]}, {int: [LOW, HIGH]} or {choice: [A, B]}"
_WORD = re.compile(r"(?!(null|true|false|nan|inf)$)[A-Za-z_][\w./-]*", re.IGNORECASE)
# A search over seeds finds luck; results of tasks and data can't be compared.
_REFUSED = ("seed", "task", "task.monitor", "data", "experiment")
log = logging.getLogger("attnlab")
optuna.logging.set_verbosity(optuna.logging.ERROR)


class Search:
    """The search of a plan: its space, and Optuna's study of the trials so far.

    Raises `RequestError` if a setting of the search is wrong.
    """

    def __init__(self, plan: Plan):
        if plan.varying:
            key, values = next(iter(plan.varying.items()))
            raise RequestError(
                f"{key}={','.join(values)}: a search allows only one value, because it chooses "
                "values itself. Add the key to search.space."
            )
        if plan.launcher != "basic":
            raise RequestError(
                f"hydra/launcher={plan.launcher}: a search runs in one process, because it learns "
                "from its results: leave the launcher out."
            )
        self.plan: Plan = plan
        self.settings: SearchConfig = parse_section("search", SearchConfig, {"search": plan.search})
        self.monitor, direction = make_task(plan.first).monitor
        self.space = _space(self.settings.space, plan.fixed)
        metrics = self.settings.metrics
        self.metrics: list[str] = [metrics] if isinstance(metrics, str) else list(metrics or ())
        if not self.metrics or not set(self.metrics) <= set(METRICS):
            raise RequestError(
                f"search.metrics: expected one of {', '.join(METRICS)} or a list of them, got "
                f"{metrics}. What is chosen by the test part can't be judged by it any more."
            )
        self.sampler = self.settings.sampler or ("tpe" if len(self.metrics) == 1 else "nsgaii")
        # Epochs have no other metric by which a run could be stopped.
        self.prunes = self.settings.pruner != "none" and self.metrics == ["best_value"]
        signs = [direction if name == "best_value" else "min" for name in self.metrics]
        directions: Any = [{"min": "minimize", "max": "maximize"}[sign] for sign in signs]
        self.trials = self.settings.trials
        # Every end and every choice is composed once, which finds values that aren't allowed.
        ends = {key: _ends(domain) for key, domain in self.space.items()}
        for n in range(max(map(len, ends.values()))):
            plan.trial(n, self._words({key: e[min(n, len(e) - 1)] for key, e in ends.items()}))
        pruner = optuna.pruners.MedianPruner(
            self.settings.prune_after_trials, n_warmup_steps=self.settings.prune_after_epochs
        )
        self._storage = InMemoryStorage()
        self.study = optuna.create_study(
            storage=self._storage, directions=directions, pruner=pruner
        )
        self.jobs: list[Job] = []  # of the trials so far
        self.refused: list[TableRow] = []  # trials whose values can't be combined

    @property
    def round_size(self) -> int:
        """Return how many trials are suggested, and train, at a time."""
        together, kind = self.plan.first.trainer.together, kind_of(self.plan.first.task.name)
        if together == "never" or kind.models.together == 1:
            return 1
        if together != "auto":
            return together
        is_independent = self.sampler == "random" and not self.prunes
        return _INDEPENDENT_ROUND if is_independent else _ROUND

    def rounds(self) -> Iterator[list[tuple[Trial, Job]]]:
        """Yield the trials of each round; `tell` must get their results before the next round.

        Raises `RequestError` if a data file has changed since the search started.
        """
        for first in range(0, self.trials, self.round_size):
            self.plan.first.require_same_files()
            trials = [self._ask(n) for n in range(first, min(first + self.round_size, self.trials))]
            jobs = []
            for trial in trials:
                try:
                    jobs.append(self.plan.trial(trial.number, self._words(trial.params)))
                except RequestError as error:  # these values can't be combined
                    self.refused.append(TableRow(trial.number, "", FAILED, error=str(error)))
                    self.study.tell(trial, state=TrialState.FAIL)
            self.jobs += jobs
            yield [(trials[job.number - first], job) for job in jobs]

    def _ask(self, number: int) -> Trial:
        """Suggest a trial, by a sampler with a seed of its own."""
        seed = int(np.random.SeedSequence([self.settings.seed, number]).generate_state(1)[0])
        samplers, startup = optuna.samplers, self.settings.startup_trials
        if self.sampler == "nsgaii":
            self.study.sampler = samplers.NSGAIISampler(population_size=_ROUND, seed=seed)
        elif self.sampler == "tpe":
            self.study.sampler = samplers.TPESampler(
                n_startup_trials=startup, constant_liar=True, seed=seed
            )
        else:
            self.study.sampler = samplers.RandomSampler(seed=seed)
        return self.study.ask(self.space)

    def tell(
        self, trial: Trial, report: Reporter, run: ListedRun | None, error: str | None
    ) -> str | None:
        """Store the result of a trial's run, and the epochs of a run that was made earlier.

        Returns `error`, or that the result has no number.
        """
        state, values = TrialState.FAIL, list[Any]()
        if run and not error:
            state, history = TrialState.PRUNED, run.run.history.read()
            for row in zip(*history.values(), strict=True):
                report.note(dict(zip(history, row, strict=True)))
            if run.state == COMPLETED:
                metrics = run.run.read_metrics()
                state, values = TrialState.COMPLETE, [metrics.get(name) for name in self.metrics]
                if not all(value is not None and math.isfinite(value) for value in values):
                    error = f"search.metrics: expected numbers, got {values}."
                    state, values = TrialState.FAIL, []
        self.study.tell(trial, values or None, state)
        return error

    def best(self) -> list[int]:
        """Return the numbers of the best trials: one, or with several metrics those unbeaten."""
        completed = self.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        return [trial.number for trial in self.study.best_trials] if completed else []

    def save(self, folder: Path) -> None:
        """Write study.log, a journal that Optuna's own tools read, and Optuna's figures.

        Raises `OSError`.
        """
        path = folder / "study.log"
        path.unlink(missing_ok=True)
        optuna.copy_study(
            from_study_name=self.study.study_name,
            from_storage=self._storage,
            to_storage=JournalStorage(JournalFileBackend(str(path))),
            to_study_name=folder.name,
        )
        completed = self.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        if len(completed) < _FEWEST_DRAWN:
            return
        from optuna.visualization import matplotlib as plots

        from attnlab.views.png.style import same_style

        figures: dict[str, tuple[Any, dict[str, Any]]] = {}
        for number, name in enumerate(self.metrics):
            target = {"target": lambda trial, n=number: trial.values[n], "target_name": name}
            figures[f"history_{name}"] = plots.plot_optimization_history, target
            figures[f"importance_{name}"] = plots.plot_param_importances, target
        if len(self.metrics) > 1:
            figures["pareto_front"] = plots.plot_pareto_front, {"target_names": self.metrics}
        (folder / "plots").mkdir(exist_ok=True)
        for name, (plot, options) in figures.items():
            try:
                with same_style(), warnings.catch_warnings():  # Optuna changes the style
                    warnings.simplefilter("ignore")  # its figures are experimental
                    figure = plot(self.study, **options).figure
            except (ValueError, RuntimeError) as error:  # such as equal values of all trials
                log.info("%s is not drawn: %s", name, error)
                continue
            with files.replacing(folder / "plots" / f"{name}.png") as temporary:
                figure.savefig(temporary, format="png", bbox_inches="tight")

    def _words(self, values: Mapping[str, Any]) -> list[str]:
        return [f"{key}={_word(values[key], self.space[key])}" for key in self.space]


class Reporter:
    """Reports the epochs of a trial's run to Optuna, and stops a run that is clearly worse."""

    def __init__(self, search: Search, trial: Trial):
        self._trial, self._metric, self._prunes = trial, search.monitor, search.prunes
        self._epochs: set[int] = set()

    def __call__(self, row: Mapping[str, float]) -> None:
        """Report a row of the history; raises `Pruned` if the run should stop."""
        if self.note(row) and self._trial.should_prune():
            raise Pruned(
                f"stopped after epoch {int(row['epoch'])}: {self._metric} "
                f"{row[self._metric]:.4g} is worse than the median of the other trials"
            )

    def note(self, row: Mapping[str, float]) -> bool:
        """Report a row of the history, if it is new; returns whether it has a score."""
        epoch, value = int(row["epoch"]), row.get(self._metric)
        # An epoch may have no score; an infinite loss is one.
        if value is None or not (self._metric.endswith("_loss") or math.isfinite(value)):
            return False
        if self._prunes and epoch not in self._epochs:
            self._epochs.add(epoch)
            self._trial.report(float(value), epoch)
        return self._prunes


def _space(document: Any, fixed: Mapping[str, str]) -> dict[str, BaseDistribution]:
    """Return Optuna's distribution of each key; raises `RequestError`."""
    space = {}
    for key, spec in _specs(document if isinstance(document, Mapping) else {}):
        if key in _REFUSED or not decides_result(key):
            raise RequestError(
                f"search.space: {key} can't be searched: list its values in a sweep instead."
            )
        if key in fixed:
            raise RequestError(
                f"search.space: {key} is searched, and the command sets {key}={fixed[key]}: "
                "leave one of the two out."
            )
        space[key] = _distribution(key, spec)
    if not space:
        raise RequestError(
            "search.space: expected a range for at least one key, got none: choose a preset "
            "with search=NAME or write search.space={optimizer.learning_rate: "
            "{interval: [1e-4, 1e-1], log: true}}."
        )
    return space


def _specs(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and specification of each setting; nested mappings work as well."""
    for name, value in node.items():
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()):
            yield from _specs(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _distribution(key: str, spec: Any) -> BaseDistribution:
    kinds: dict[str, Any] = {
        "interval": FloatDistribution,
        "int": IntDistribution,
        "choice": CategoricalDistribution,
    }
    spec = spec if isinstance(spec, Mapping) else {"": spec}
    options = {name: spec[name] for name in ("log", "step") if name in spec}
    names = [name for name in spec if name not in options]
    values = spec[names[0]] if names else None
    if len(names) != 1 or names[0] not in kinds or not isinstance(values, list):
        raise RequestError(
            f"search.space.{key}: expected {_FORMS}, a range with log: true or step, got {spec}."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Optuna would replace ends that don't fit the step
            if names == ["choice"]:
                return CategoricalDistribution(values, **options)
            low, high = values
            if names == ["int"] and not all(isinstance(end, int) for end in values):
                raise ValueError(f"expected whole numbers as ends, got {values}.")
            return kinds[names[0]](low, high, **options)
    except (TypeError, ValueError, UserWarning) as error:
        raise RequestError(f"search.space.{key}: {error}") from error


def _ends(domain: Any) -> list[Any]:
    if isinstance(domain, CategoricalDistribution):
        return list(domain.choices)
    return [domain.low, domain.high]


def _word(value: Any, domain: Any) -> str:
    """Write a value for an override, numbers of a range without needless digits."""
    if isinstance(domain, FloatDistribution):
        if domain.log or domain.step:
            rounded = float(f"{value:{'.4g' if domain.log else '.12g'}}")
        else:
            rounded = round(value, 3 - math.floor(math.log10(domain.high - domain.low)))
        return repr(min(max(rounded, domain.low), domain.high))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and not _WORD.fullmatch(value):
        return quoted(value)
    return str(value)
