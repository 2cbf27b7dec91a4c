"""metrics.json: the numbers of a run that is done, under the names that others know them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tracked_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The final numbers under the names that MLflow gets them by.

    Args:
        metrics: what metrics.json says.
    """
    numbers = {f"test_{name}": value for name, value in metrics["test"].items()}
    numbers |= {"test_skill": metrics["skill"], "parameters": metrics["parameters"]}
    return numbers


def baseline_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The main metric of each baseline, which belongs to no epoch, under MLflow's name for it.

    The slash gives them a section of their own in MLflow's charts, and step 0 makes them bars.

    Args:
        metrics: what metrics.json says.
    """
    metric = metrics["metric"]
    return {
        f"baselines/{name}_{metric}": values[metric]
        for name, values in metrics["baselines"].items()
    }
