"""The verbs: `attnlab VERB ...`, one module each, imported when it is called."""

from __future__ import annotations

import importlib

import click

# Verb -> one line of help. The line stands here so that `attnlab --help` imports no verb.
VERBS = {
    "resume": "go on with an interrupted run, or train a finished one longer",
    "runs": "list, remove or log again runs",
    "compare": "which is better, and could it be luck",
    "evaluate": "test metrics of any epoch's weights",
    "forecast": "the next values of a series",
    "translate": "sentences from arguments or standard input",
    "plot": "a run's figures again; positional encodings, embeddings",
    "data": "list, count and download corpora",
    "ui": "open the MLflow UI on this project's store",
}

_ELSEWHERE = {
    "forecast": "attnlab.tasks.forecasting.command",
    "translate": "attnlab.tasks.translation.commands.translate",
    "data": "attnlab.tasks.translation.commands.data",
}


def command(verb: str) -> click.Command:
    """The click command of a verb."""
    return importlib.import_module(_ELSEWHERE.get(verb, f"attnlab.commands.{verb}")).command
