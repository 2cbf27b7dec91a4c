"""What a trial's run tells its search after each epoch, and hears from it."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlab.errors import Pruned, RequestError
from attnlab.sweeps.search_settings import SearchSettings

if TYPE_CHECKING:
    import optuna

log = logging.getLogger("attnlab")


class TrialReporter:
    """Reports each epoch of a trial's run, and gives the run up when it is hopeless.

    Runs where the trial runs; can be pickled. A storage that fails costs the pruning, not the run.

    Args:
        folder: of the sweep.
        name: of the sweep.
        number: of the trial.
        settings: of the search.
    """

    def __init__(self, folder: Path, name: str, number: int, settings: SearchSettings):
        self._folder, self._name, self._number = folder, name, number
        self._settings = settings
        self._opened: optuna.trial.Trial | None = None
        self._broken = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def __call__(self, row: Mapping[str, float]) -> None:
        """Report one row of history.csv.

        Raises:
            Pruned: the run is not worth going on with.
        """
        metric = self._settings.monitor[0]
        if self._settings.pruner == "none" or metric not in row or self._broken:
            return
        if not (metric.endswith("_loss") or math.isfinite(row[metric])):
            return  # a score that was not computed in this epoch
        epoch = int(row["epoch"])
        if self._is_hopeless(epoch, float(row[metric])):
            raise Pruned(
                f"given up after epoch {epoch}: {metric} {row[metric]:.4g} is hopeless beside the "
                "other trials"
            )

    def _is_hopeless(self, epoch: int, value: float) -> bool:
        from optuna.exceptions import OptunaError

        from attnlab.sweeps.study_storage import quiet

        try:
            with quiet():
                trial = self._opened = self._opened or self._open()
                known = trial.storage.get_trial(trial._trial_id).intermediate_values
                if epoch not in known:  # a resumed run may come to an epoch again
                    trial.report(value, epoch)
                return trial.should_prune()
        except (OSError, OptunaError, RequestError) as error:
            log.warning("trial %d is not pruned: %s", self._number, error)
            self._broken = True
            return False

    def _open(self) -> optuna.trial.Trial:
        import optuna

        from attnlab.sweeps.samplers import make_pruner
        from attnlab.sweeps.study_storage import location, open_storage

        storage = open_storage(location(self._settings, self._folder))
        study = optuna.load_study(
            study_name=self._name,
            storage=storage,
            sampler=optuna.samplers.RandomSampler(seed=0),
            pruner=make_pruner(self._settings),
        )
        study_id = storage.get_study_id_from_name(self._name)
        key = storage.get_trial_id_from_study_id_trial_number(study_id, self._number)
        return optuna.trial.Trial(study, key)
