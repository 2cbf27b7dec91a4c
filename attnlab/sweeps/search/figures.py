"""A search as Optuna draws it: how it went, which settings mattered, the front of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import optuna
from matplotlib import pyplot
from optuna.trial import TrialState
from optuna.visualization import matplotlib as optuna_plots

from attnlab.figures.style import save, use_log_scale
from attnlab.sweeps.search import storage

_FEWEST = 4  # completed trials from which on something can be said of what mattered


def draw_search(study: optuna.Study, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Draw what a study's completed trials allow into a folder; returns the files.

    history.png, of several metrics one for each; importance.png; pareto_front.png of two or three
    metrics. Raises `OSError` where one can't be written.
    """
    done = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    columns = [*zip(*(trial.values for trial in done), strict=True)]  # of each metric its values
    several = len(metrics) > 1
    figures: dict[str, Any] = {}
    matplotlib.use("agg")
    with matplotlib.rc_context({"figure.constrained_layout.use": True}), storage.quiet():
        for number, name in enumerate(metrics if done else ()):
            # Without a target Optuna draws the best value so far, too.
            target = (lambda trial, n=number: trial.values[n]) if several else None
            axes = optuna_plots.plot_optimization_history(study, target=target, target_name=name)
            figures[f"history_{number + 1}" if several else "history"] = axes
            if _is_wide(columns[number]):
                use_log_scale(axes, columns[number])
        if len(done) >= _FEWEST:
            figures["importance"] = axes = optuna_plots.plot_param_importances(study)
            axes.legend(metrics, loc="lower right")
        if done and len(metrics) in (2, 3):
            axes = optuna_plots.plot_pareto_front(study, target_names=list(metrics))
            figures["pareto_front"] = axes
            if len(metrics) == 2 and _is_wide(columns[0]):
                use_log_scale(axes, columns[0], "x")
            if len(metrics) == 2 and _is_wide(columns[1]):
                use_log_scale(axes, columns[1])
        drawn = [save(axes.figure, folder / f"{name}.png") for name, axes in figures.items()]
    pyplot.close("all")
    return drawn


def _is_wide(values: Sequence[float]) -> bool:
    """Whether values are so far apart that a linear axis would hide the small ones."""
    return max(values) > 10 * min(values) > 0
