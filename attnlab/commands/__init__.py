"""The commands: `attnlab VERB ...`, one module each, imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.tasks.declaration import load
from attnlab.tasks.kinds import kinds

if TYPE_CHECKING:
    import click

# The lines of help are here so that `attnlab --help` imports no command.
_VERBS = {
    "resume": "go on with an interrupted run, or train a finished one longer",
    "runs": "list, remove or log again runs",
    "compare": "which is better, and could it be luck",
    "plan": "how many seeds a difference needs, and how long they take",
    "study": "a named experiment beside what was published of it",
    "report": "runs or a sweep on one page, attention epoch by epoch",
    "evaluate": "test metrics of any epoch's weights",
    "vocabulary": "which words a run knows, and the nearest to those it doesn't",
    "plot": "a run's figures again, and others",
    "data": "list, count and download data",
    "summarize": "the sentences that say most of a text; needs no run",
    "explain": "what a setting, a metric or a column means",
    "check-mechanism": "what a mechanism of yours lacks of the contract of all",
    "ui": "open the MLflow UI on this project's store",
}


def verbs() -> dict[str, str]:
    """All commands with a line of help each; the last ones make the predictions of each kind."""
    own = (kind.predictions for kind in kinds())
    return {**_VERBS, **{each.command: each.summary for each in own}}


def command(verb: str) -> click.Command:
    """The click command of a verb."""
    if verb in _VERBS:
        return load(f"{__name__}.{verb.replace('-', '_')}:command")
    from attnlab.commands.predict import prediction_command

    return prediction_command(next(k for k in kinds() if k.predictions.command == verb))
