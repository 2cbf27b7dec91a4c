"""The process that draws the figures of a run or a sweep, and copies it to MLflow.

`attnlab runs sync --follow FOLDER` looks at a folder until no process works on it. It is a process
of its own, so that training doesn't wait for its imports, and so that it finishes its work if the
training process is killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attnlab.errors import RequestError
from attnlab.records.environment import processors
from attnlab.records.run_directory import SYNC, RunDirectory, is_alive, list_runs
from attnlab.tasks.kinds import kind_of, load

if TYPE_CHECKING:
    from multiprocessing import Process

_SECONDS_BETWEEN_LOOKS = 0.1
# The pause until the next copy is this many times as long as the last one took, at most a minute.
_PAUSES_PER_COPY, _LONGEST_PAUSE = 10, 60.0
_MOST_PROCESSES = 8  # that draw the figures of stacked runs


def follow(folder: Path) -> list[str]:
    """Draw and copy what is new in the folder of a run or a sweep until no process works on it.

    Returns the problems that remain, as sentences.
    """
    if hasattr(os, "nice"):
        os.nice(10)  # training has priority
    is_sweep = folder.parent.name == "sweeps"
    seen: dict[Path, tuple[bool, int]] = {}  # whether a run was alive, and when its status changed
    problems: dict[Path, list[str]] = {}
    while True:
        started, ended = time.monotonic(), not is_alive(folder)
        runs = runs_in(folder) if is_sweep else [RunDirectory(folder)]
        alive_runs, ended_runs = [], []
        for run in runs:
            alive, changed = is_alive(run.path), run.status.changed()
            ended = ended and not alive
            if seen.get(run.path) != (alive, changed) or problems.get(run.path):
                seen[run.path] = alive, changed
                (alive_runs if alive else ended_runs).append(run)
        for run in alive_runs:
            problems[run.path] = complete(run)
        took = time.monotonic() - started
        drawing = _draw_together(ended_runs)
        for run in ended_runs:
            if run.path in drawing:
                drawing[run.path].join()
            problems[run.path] = complete(run)
            seen[run.path] = False, run.status.changed()  # the copy wrote the MLflow id into it
        if is_sweep and runs and (ended or folder not in problems):
            problems[folder] = complete_sweep(folder, runs, ended)
        if ended:
            return list(dict.fromkeys(text for texts in problems.values() for text in texts))
        due = time.monotonic() + min(_PAUSES_PER_COPY * took, _LONGEST_PAUSE)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        while time.monotonic() < due and is_alive(folder):
            time.sleep(_SECONDS_BETWEEN_LOOKS)


def _draw_together(runs: Sequence[RunDirectory]) -> dict[Path, Process]:
    """Start processes that draw the figures of runs that ended together, as stacked runs do.

    Returns the process of each run. The first runs have none: this process draws them meanwhile.
    Its part is smaller than the others', because it also copies all runs to MLflow.
    """
    count = min(processors(), _MOST_PROCESSES)
    if count == 1 or len(runs) < 2 * count:
        return {}
    from multiprocessing import Process

    import attnlab.views.png.figure  # noqa: F401  # once, before the processes are forked

    others, drawing = runs[len(runs) // (count + 1) :], {}
    for number in range(count - 1):
        part = others[number :: count - 1]
        process = Process(target=_draw_all, args=(part,))
        process.start()
        drawing |= {run.path: process for run in part}
    return drawing


def _draw_all(runs: Sequence[RunDirectory]) -> None:
    """Draw figures in a process of its own; `complete` reports what this couldn't draw."""
    for run in runs:
        with suppress(Exception):
            if run.status.state() == "completed":
                _draw_missing(run)


def complete(run: RunDirectory, uri: str | None = None) -> list[str]:
    """Draw the figures of a completed run if they are missing, and copy the run to MLflow.

    Args:
        run: The run; it may be in progress.
        uri: The store; None for the run's own, unless the run has tracking.enabled=false.

    Returns:
        What failed, as sentences.
    """
    from attnlab.records.mlflow import connect, copy, own_uri, prepare_for_models

    problems = []
    try:
        config, state = run.read_config(), run.status.state()
    except RequestError as error:
        return [f"MLflow has no copy: {error}"]
    if state == "completed":
        try:
            problems += _draw_missing(run)
        except Exception as error:  # of a kind's own code, too
            problems.append(f"{run.path}: the figures could not be drawn ({error})")
    is_tracked = uri or (config.get("tracking") or {}).get("enabled", True)
    if is_tracked:
        try:
            copy(run.path, connect(uri or own_uri(run.path, config), run.path.parents[2]))
        except RequestError as error:
            problems.append(f"MLflow's copy of {run.path.name} is incomplete ({error}); {SYNC}")
    if state == "running":  # import now what the end of the run needs
        import attnlab.views.png.figure  # noqa: F401

        with suppress(RequestError):
            load(kind_of(run.read_task()).views)
        if is_tracked:
            prepare_for_models()
    return problems


def draw_run(run: RunDirectory, output: Path | None = None) -> list[Path]:
    """Draw a run's figures into a folder, its `plots` if none is named; returns the files.

    Raises:
        RequestError: A file of the run is missing or damaged.
        OSError: A figure can't be written.
    """
    from attnlab.views.png.figure import save

    output = run.plots if output is None else Path(output)
    metrics = run.read_metrics()
    try:
        figures = load(kind_of(metrics["task"]).views).figures(run, metrics)
    except (KeyError, IndexError) as error:
        raise RequestError(f"RUN: {str(run.path)!r} is damaged: no {error} in it") from error
    return [save(figure, output / name) for name, figure in figures.items()]


def _draw_missing(run: RunDirectory) -> list[str]:
    """Draw the figures unless those of the current result are complete; warn of fonts."""
    mark, result = run.path / ".drawn", run.path / "metrics.json"  # made after the last figure
    is_drawn = mark.exists() and any(run.plots.glob("*.png"))
    if is_drawn and mark.stat().st_mtime_ns >= result.stat().st_mtime_ns:
        return []
    draw_run(run)
    mark.touch()
    from attnlab.views.png.style import font_warning

    warning = font_warning()
    return [f"warning: {warning}"] if warning else []


def runs_in(sweep: Path) -> list[RunDirectory]:
    """Return the runs that the sweep with this folder trained."""
    listed = list_runs(sweep.parents[1])
    return [entry.run for entry in listed if entry.status.get("sweep") == sweep.name]


def complete_sweep(
    folder: Path, runs: Sequence[RunDirectory], ended: bool = True, uri: str | None = None
) -> list[str]:
    """Bring the MLflow runs of a sweep, the parents of `runs`, up to date.

    Args:
        folder: The sweep's folder.
        runs: The runs that it trained.
        ended: Whether no process works on the sweep.
        uri: The store; None for the runs' own.

    Returns:
        What failed, as sentences.
    """
    from attnlab.records.mlflow import connect, copy_sweep, own_uri

    states, uris = {run.status.state() for run in runs}, {uri} if uri else set()
    state = next((name for name in ("failed", "killed") if name in states), "completed")
    try:
        for run in () if uri else runs:
            config = run.read_config()
            if (config.get("tracking") or {}).get("enabled", True):
                uris.add(own_uri(run.path, config))
        for store in uris:
            copy_sweep(folder, state if ended else "running", connect(store, folder.parents[1]))
    except RequestError as error:
        return [f"MLflow's copy of sweep {folder.name} is incomplete ({error}); {SYNC}"]
    return []
