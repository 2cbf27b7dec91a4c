"""The MLflow runs that stand for a sweep: one in the experiment of each of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attnlab.config.sections import RunConfig
from attnlab.records.lock import flocked
from attnlab.records.mlflow.tracker import Tracker, default_uri
from attnlab.sweeps.sweep_folder import SweepFolder
from attnlab.sweeps.table import TableRow, words


class Parents:
    """They begin before the first job, for jobs are logged below them.

    Args:
        trackers: task -> the run's copy in MLflow.
        folder: the sweep's.
    """

    def __init__(self, trackers: Mapping[str, Tracker], folder: SweepFolder):
        self._trackers, self._folder = trackers, folder

    @classmethod
    def start(
        cls,
        folder: SweepFolder,
        configs: Sequence[RunConfig],
        params: Mapping[str, str],
        command: str,
        meanwhile: Callable[[], None] | None = None,
    ) -> Parents:
        """Begin the runs, or go on with those of an earlier process, and wait for their ids.

        With a store of its own kind this also makes it, and the experiments, before several jobs
        would try to at a time.

        Args:
            folder: the sweep's.
            configs: a configuration of each task.
            params: what varies and what was fixed.
            command: the overrides of the sweep.
            meanwhile: what can be done while MLflow begins.
        """
        with flocked(folder.path):
            known = folder.read().get("parents", {})
            trackers = {
                config.task.name: _tracker(
                    config, folder, params, command, known.get(config.task.name)
                )
                for config in configs
                if config.tracking.enabled
            }
            if meanwhile is not None:
                meanwhile()
            for config in configs:
                if config.task.name in trackers:
                    trackers[config.task.name].wait_run_id(config.tracking.timeout)
        return cls(trackers, folder)

    def finish(
        self, status: str | None, rows: Sequence[TableRow], best: Mapping[str, TableRow], step: int
    ) -> None:
        """Log what came out, and end the runs.

        Args:
            status: `FINISHED`, `FAILED` or `KILLED`; None leaves the runs to other processes.
            rows: the whole table, which lies in the sweep's folder.
            best: task -> its best row.
            step: counts how often the sweep was begun.
        """
        for task, tracker in self._trackers.items():
            own = [row for row in rows if row.task == task]
            states = [row.state for row in own]
            metrics = {"jobs": len(own), **{f"jobs_{s}": states.count(s) for s in set(states)}}
            if task in best:
                metrics["best_value"] = best[task].results["best"]
                found = words(best[task].varying) or str(best[task].path or "")
                tracker.set_tags({"attnlab.best": found})
            tracker.log_metrics(step, metrics)
            tracker.log_artifacts(self._folder.table)
            tracker.finish(status or "RUNNING")


def _tracker(
    config: RunConfig,
    folder: SweepFolder,
    params: Mapping[str, str],
    command: str,
    run_id: str | None,
) -> Tracker:
    runs = Path(config.paths.runs).expanduser()
    task = config.task.name
    return Tracker.start(
        config.tracking.uri or default_uri(runs),
        task,
        folder.name,
        params,
        {
            "attnlab.sweep": folder.name,
            "attnlab.kind": "sweep",
            "attnlab.folder": str(folder.path),
            "attnlab.command": command,
        },
        runs / "artifacts",
        timeout=config.tracking.timeout,
        run_id=run_id,
        resumed=True,
        on_run_id=partial(folder.add_parent, task),
    )
