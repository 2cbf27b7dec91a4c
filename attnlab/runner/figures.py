"""The figures of a run, drawn from its folder."""

from __future__ import annotations

from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kind_of


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
