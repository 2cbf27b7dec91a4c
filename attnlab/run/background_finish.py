"""What a run still gets when its result is there: figures, and the rest of its copy in MLflow.

Other processes see to both, while this one goes on with the next run.
"""

from __future__ import annotations

import atexit

from rich.console import Console

from attnlab.errors import RequestError
from attnlab.records import logs
from attnlab.run.figures.helper import Drawing
from attnlab.run.profile import spent
from attnlab.run.recorder import Recorder

# How many may be under way; those of a store that does not answer are given up one by one.
_MOST = 16
_under_way: list[Finish] = []


class Finish:
    """The end of a run that is done; the recorder's tracker may have more to copy."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._tracker = recorder, recorder.tracker
        # Figures are in MLflow, too.
        self._drawing = Drawing(recorder.folder.path, lambda: self._tracker.end("completed"))

    def wait(self) -> None:
        """Wait until it is over; what went wrong is a warning in the run's log."""
        with logs.logging_to(self._recorder.folder.path / "run.log"):
            with spent("figures"), self._recorder.writing("the figures"):
                if problem := self._drawing.wait():
                    raise RequestError(problem)
            with spent("tracking"):
                self._tracker.ended("completed")


def begin(recorder: Recorder) -> None:
    """Begin the end of a run, and wait for that of an earlier one if many are under way."""
    _under_way.append(Finish(recorder))
    if len(_under_way) > _MOST:
        _under_way.pop(0).wait()


def wait() -> None:
    """Wait until the runs of this process have their figures, and MLflow has all.

    An interruption leaves the rest to the other processes.
    """
    finishes = _under_way.copy()
    _under_way.clear()
    with logs.standard_error() as stream:
        console = Console(file=stream, quiet=logs.verbosity != 0 or not stream.isatty())
        with console.status("drawing, and sending to MLflow"):
            for finish in finishes:
                finish.wait()


atexit.register(wait)
