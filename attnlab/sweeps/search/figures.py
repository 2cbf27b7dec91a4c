"""The figures of a search: how it went, which settings mattered, the front of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from attnlab.sweeps.search import storage
from attnlab.views.png.figure import save
from attnlab.views.records import (
    BLUE,
    ORANGE,
    Curve,
    Curves,
    Figure,
    IntervalRow,
    Intervals,
    figure,
)

_FEWEST = 4  # completed trials that allow to say what mattered
_WIDTH, _HEIGHT = 6.4, 4.8  # inches of a panel


def draw_search(study: optuna.Study, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Draw what a study's completed trials allow into a folder; returns the files.

    history.png, of several metrics one for each; importance.png; pareto_front.png of several
    metrics. Raises `OSError` if one can't be written.
    """
    done = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    figures: dict[str, Figure] = {}
    for number, name in enumerate(metrics if done else ()):
        suffix = f"_{number + 1}" if len(metrics) > 1 else ""
        is_lower_better = study.directions[number] == StudyDirection.MINIMIZE
        figures[f"history{suffix}"] = _history(done, number, name, is_lower_better)
    if len(done) >= _FEWEST:
        figures["importance"] = _importance(study, metrics)
    if done and len(metrics) > 1:
        figures["pareto_front"] = _front(done, study.best_trials, metrics)
    return [save(each, folder / f"{name}.png") for name, each in figures.items()]


def _history(done: Sequence[FrozenTrial], number: int, name: str, is_lower_better: bool) -> Figure:
    """Draw the value of each trial, and the best one so far."""
    values = np.array([trial.values[number] for trial in done])
    best = (np.minimum if is_lower_better else np.maximum).accumulate(values)
    curves = [
        Curve("trial", values.tolist(), form="dots"),
        Curve("best so far", best.tolist(), ORANGE),
    ]
    numbers = [trial.number for trial in done]
    chart = Curves("", "trial", name, numbers, curves, logarithmic=True)
    return figure("Search: trials", "", [[chart]], (_WIDTH, _HEIGHT))


def _importance(study: optuna.Study, metrics: Sequence[str]) -> Figure:
    """Draw how much each setting matters to each metric."""
    panels = []
    for number, name in enumerate(metrics):

        def value(trial: FrozenTrial, number: int = number) -> float:
            return trial.values[number]

        with storage.quiet():
            found = optuna.importance.get_param_importances(study, target=value)
        rows = [IntervalRow(setting, BLUE, share) for setting, share in found.items()]
        panels.append(Intervals(name, "importance", rows, limits=(-0.02, 1.02)))
    size = _WIDTH * len(panels), _HEIGHT
    return figure("Search: settings that matter", "", [panels], size)


def _front(
    done: Sequence[FrozenTrial], best: Sequence[FrozenTrial], metrics: Sequence[str]
) -> Figure:
    """Draw each pair of metrics, and apart the trials that no other one beats in all metrics."""
    numbers = {trial.number for trial in best}
    kinds = {
        "trial": ([trial for trial in done if trial.number not in numbers], BLUE),
        "best trials": ([trial for trial in done if trial.number in numbers], ORANGE),
    }
    panels = []
    for first, second in combinations(range(len(metrics)), 2):
        curves = [
            Curve(
                label,
                [trial.values[second] for trial in trials],
                number,
                form="dots",
                x=[trial.values[first] for trial in trials],
            )
            for label, (trials, number) in kinds.items()
        ]
        names = metrics[first], metrics[second]
        panels.append(Curves("", *names, (), curves, logarithmic=True, logarithmic_x=True))
    size = _WIDTH * len(panels), _HEIGHT
    return figure("Search: front of the metrics", "", [panels], size)
