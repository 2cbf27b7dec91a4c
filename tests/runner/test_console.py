"""The final output of a run."""

from __future__ import annotations

import io
import math
import re

import pytest

from attnlab.runner.console import print_table


@pytest.mark.parametrize(
    ("rmse", "skill", "said"),
    [
        (0.75, 0.25, "The error of no attention is 25.0% below that of persistence, the best"),
        (1.5, -0.5, "The error of no attention is 50.0% above that of persistence"),
        (0.5, None, "persistence makes practically no error"),
        (math.nan, None, "The result of no attention is not finite"),
        (None, None, "The result of no attention is not finite"),
    ],
)
def test_a_sentence_reports_the_result(capsys, rmse, skill, said):
    about = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    scores = {"test": {"rmse": rmse}, "baselines": {"persistence": {"rmse": 1.0}}}
    skills = {"best_baseline": "persistence", "skill": skill, "skills": {"persistence": skill}}
    print_table({**about, **scores, **skills}, "test")
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_a_narrow_terminal_wraps_the_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "32")
    file = io.StringIO()
    file.isatty = lambda: True
    scores = {"mae": 0.001234, "rmse": 0.002345, "mase": 1.234}
    about = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    skills = {"best_baseline": "persistence", "skill": 0.5, "skills": {"persistence": 0.5}}
    baselines = {"persistence": scores}
    print_table({**about, **skills, "test": scores, "baselines": baselines}, "t", file)
    shown = re.sub(r"\x1b\[[\d;]*m", "", file.getvalue())
    assert re.search(r"persistence +0.001234 +0.002345 +1.234 +0.5", shown)
