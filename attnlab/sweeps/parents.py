"""The MLflow runs that stand for a sweep: one in the experiment of each of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attnlab.config.sections import RunConfig
from attnlab.records.mlflow.settings import default_uri
from attnlab.records.mlflow.tracker import Tracker
from attnlab.sweeps.sweep_folder import SweepFolder
from attnlab.sweeps.table import TableRow, words


class Parents:
    """They begin before the first job, for jobs are logged below them."""

    def __init__(self, trackers: Mapping[str, Tracker], folder: SweepFolder):
        self._trackers, self._folder = trackers, folder

    @classmethod
    def start(
        cls,
        folder: SweepFolder,
        configs: Sequence[RunConfig],
        meanwhile: Callable[[], None] | None = None,
    ) -> Parents:
        """Begin the runs, or go on with those of an earlier process, and wait for their ids.

        With a store of its own kind this also makes it, and the experiments, before several jobs
        would try to at a time.
        """
        tracked = [config for config in configs if config.tracking.enabled]
        trackers = {config.task.name: _tracker(config, folder) for config in tracked}
        if meanwhile is not None:
            meanwhile()
        for config in tracked:
            trackers[config.task.name].wait_run_id(config.tracking.timeout)
        return cls(trackers, folder)

    def finish(
        self, state: str, rows: Sequence[TableRow], best: Mapping[str, TableRow], step: int
    ) -> None:
        """Keep what came out, and end the runs.

        The state `running` leaves the runs to other processes; `step` counts launches.
        """
        for task, tracker in self._trackers.items():
            own = [row for row in rows if row.task == task]
            states = [row.state for row in own]
            metrics = {"jobs": len(own), **{f"jobs_{s}": states.count(s) for s in set(states)}}
            found = None
            if task in best:
                metrics["best_value"] = best[task].results["best"]
                found = words(best[task].varying) or str(best[task].path or "")
            self._folder.add_results(task, step, metrics, found)
            tracker.ended(state)


def _tracker(config: RunConfig, folder: SweepFolder) -> Tracker:
    runs = Path(config.paths.runs).expanduser()
    return Tracker.start(
        config.tracking.uri or default_uri(runs),
        folder.path,
        task=config.task.name,
        resumed=True,
        timeout=config.tracking.timeout,
        on_run_id=partial(folder.add_parent, config.task.name),
    )
