"""The figures of a search, as far as its trials allow."""

from __future__ import annotations

import optuna
import pytest
from matplotlib.image import imread
from optuna.distributions import FloatDistribution

from attnlab.sweeps.search.figures import draw_search

FRONT = ["pareto_front"]


def study_of(*values: tuple[float, ...]) -> optuna.Study:
    """A study whose trials have ended with these values, and one that has not."""
    study = optuna.create_study(directions=["minimize"] * len(values[0]) if values else None)
    space = {"model.units": FloatDistribution(1, 99)}
    for number, each in enumerate(values, 1):
        params = {"model.units": float(number)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, values=each))
    study.ask(space)
    return study


@pytest.mark.parametrize(
    ("values", "metrics", "drawn"),
    [
        ([], ["x"], []),
        ([(1.0,)], ["x"], ["history"]),
        ([(1.0,)] * 4, ["x"], ["history", "importance"]),
        ([(10.0**-n,) for n in range(9)], ["x"], ["history", "importance"]),
        ([(1.0, 2.0)], ["x", "y"], ["history_1", "history_2", "pareto_front"]),
        ([(0.0, 1.0, 2.0)], ["x", "y", "z"], ["history_1", "history_2", "history_3", *FRONT]),
    ],
)  # fmt: skip
def test_a_search_is_drawn_as_far_as_its_trials_allow(tmp_path, values, metrics, drawn):
    paths = draw_search(study_of(*values), metrics, tmp_path / "plots")
    assert [path.stem for path in paths] == drawn
    for path in paths:
        height, width = imread(path).shape[:2]
        assert height == 720 and width % 960 == 0
