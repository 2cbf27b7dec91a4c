"""The figures of a run that answers: how it learned, which questions it can answer, its looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from attnlab.figures.groups import shares_figure
from attnlab.figures.learning import panels_figure
from attnlab.figures.run import read_attention
from attnlab.figures.style import BLUE, ORANGE, result_line
from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.answering.figures.looks import looks_figure
from attnlab.tasks.answering.kind import KIND

_GREEN = "#009E73"
_PANELS = {
    "loss (nats, mean of start and end)": {
        "train_loss": ("train, with dropout if any", ORANGE),
        "val_loss": ("validation, without", BLUE),
    },
    "validation (% of the questions)": {
        "val_exact_match": ("exact match", BLUE),
        "val_f1": ("F1", _GREEN),
    },
}


def answering_figures(run: RunDirectory, metrics: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of a run by file name.

    Raises:
        RequestError: A file of the run is missing or damaged.
        KeyError: Something is missing in one of them.
    """
    result = result_line(metrics, KIND, "f1")
    groups = {
        name: (each["exact_match"] / 100, int(each["n"]))
        for name, each in metrics["groups"].items()
    }
    whole = metrics["test"]["exact_match"] / 100
    words = {"measure": "exact match", "items": "questions", "result": result}
    figures = {
        "loss.png": panels_figure(run.history.read(), metrics, _PANELS, result),
        "groups.png": shares_figure(groups, whole, metrics, **words),
    }
    if kept := read_attention(run):
        figures["attention.png"] = looks_figure(kept, metrics)
    return figures
