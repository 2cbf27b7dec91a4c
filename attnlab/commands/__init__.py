"""The verbs: `attnlab VERB ...`, one module each, imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlab.tasks.declaration import Verb, load
from attnlab.tasks.kinds import kinds

if TYPE_CHECKING:
    import click

# The lines of help stand here so that `attnlab --help` imports no verb.
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


def verbs() -> dict[str, Verb]:
    """All verbs: those that work for every kind of task, and each kind's own."""
    found = {
        name: Verb(line, f"{__name__}.{name.replace('-', '_')}:command")
        for name, line in _VERBS.items()
    }
    for kind in kinds():
        found |= {name: verb for name, verb in kind.verbs.items() if " " not in name}
    return found


def command(verb: str) -> click.Command:
    """The click command of a verb."""
    return load(verbs()[verb].command)
