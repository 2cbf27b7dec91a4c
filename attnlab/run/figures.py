"""The figures of a finished run, drawn from its folder by helper processes.

A helper process draws what it received even if this process is killed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from attnlab.errors import RequestError
from attnlab.records.environment import processors
from attnlab.records.helper_process import HelperProcess, Message, messages
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kind_of

_MOST = 4  # helper processes: stacked runs all end at the same time
_numbers = count()


def start() -> None:
    """Start the first helper process early, because starting takes a second."""
    with suppress(OSError):  # `Drawing` tries again
        HelperProcess.current(__name__)


class Drawing:
    """A request to draw the figures of one run.

    Args:
        folder: the run's.
        then: called in another thread when the figures are drawn, or drawing failed.

    Attributes:
        warning: on the figures, known after `wait`.
    """

    def __init__(self, folder: Path, then: Callable[[], None]) -> None:
        self.number, self._then = next(_numbers), then
        self._problem: str | None = None
        self.warning: str | None = None
        self._over = threading.Event()
        try:
            turn = self.number % min(_MOST, processors())
            helper = HelperProcess.current(__name__, number=turn)
        except OSError as error:
            return self.receive({"problem": f"no process could be started: {error}", "done": True})
        helper.add(self)
        # The helper needs both to find the kind of a user's own task.
        environment = {key: os.environ[key] for key in os.environ if key.startswith("ATTNLAB_")}
        known = {"path": sys.path, "environment": environment}
        helper.send({"run": self.number, "folder": str(folder), **known})

    def wait(self) -> str | None:
        """Wait for the figures; returns the problem, None if there was none."""
        self._over.wait()
        return self._problem

    def receive(self, answer: Message) -> None:
        """Store the helper process's answer; runs in the reading thread."""
        self._problem, self.warning = answer.get("problem"), answer.get("warning")
        self._then()
        self._over.set()


def serve() -> None:
    """Draw run after run until there are no more requests; never returns."""
    received, answer = messages()
    for message in received:
        sys.path[:] = message["path"]
        os.environ.update(message["environment"])
        done = {"run": message["run"], "done": True}
        try:
            draw_run(RunDirectory(Path(message["folder"])))
            from attnlab.views.png.labels import font_warning

            done["warning"] = font_warning()
        except Exception as error:
            done["problem"] = str(error) or type(error).__name__
        answer(done)
    os._exit(0)


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


if __name__ == "__main__":
    serve()
