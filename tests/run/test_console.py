"""What a run says when it is over."""

from __future__ import annotations

import math

import pytest

from attnlab.run.console import print_table


@pytest.mark.parametrize(
    ("rmse", "skill", "said"),
    [
        (0.75, 0.25, "25.0% of the error of persistence, the best baseline, is gone with none"),
        (1.5, -0.5, "The error of none is 50.0% above that of persistence"),
        (0.5, None, "persistence knows the rule of these data"),
        (math.nan, None, "What none gives is not finite"),
        (None, None, "What none gives is not finite"),
    ],
)
def test_a_sentence_says_what_came_out(capsys, rmse, skill, said):
    about = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    scores = {"test": {"rmse": rmse}, "baselines": {"persistence": {"rmse": 1.0}}}
    skills = {"best_baseline": "persistence", "skill": skill, "skills": {"persistence": skill}}
    print_table({**about, **scores, **skills}, "test")
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)
