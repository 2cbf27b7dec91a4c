"""What a run says when it is over."""

from __future__ import annotations

import io
import math
import re

import pytest

from attnlab.run.console import print_table


@pytest.mark.parametrize(
    ("rmse", "skill", "said"),
    [
        (
            0.75,
            0.25,
            "25.0% of the error of persistence, the best baseline, is gone with no attention",
        ),
        (1.5, -0.5, "The error of no attention is 50.0% above that of persistence"),
        (0.5, None, "persistence makes no error to speak of"),
        (math.nan, None, "What no attention gives is not finite"),
        (None, None, "What no attention gives is not finite"),
    ],
)
def test_a_sentence_says_what_came_out(capsys, rmse, skill, said):
    about = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    scores = {"test": {"rmse": rmse}, "baselines": {"persistence": {"rmse": 1.0}}}
    skills = {"best_baseline": "persistence", "skill": skill, "skills": {"persistence": skill}}
    print_table({**about, **scores, **skills}, "test")
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


@pytest.mark.parametrize(("terminal", "missing"), [(120, ""), (40, "mase"), (32, "mae, mase")])
def test_columns_without_room_are_left_out_and_told(monkeypatch, terminal, missing):
    monkeypatch.setenv("COLUMNS", str(terminal))
    file = io.StringIO()
    file.isatty = lambda: True
    scores = {"mae": 0.001234, "rmse": 0.002345, "mase": 1.234}
    about = {"task": "fib", "attention": "none", "seed": 0, "units": "values", "metric": "rmse"}
    skills = {"best_baseline": "persistence", "skill": 0.5, "skills": {"persistence": 0.5}}
    print_table(
        {**about, **skills, "test": scores, "baselines": {"persistence": scores}}, "t", file
    )
    shown = re.sub(r"\x1b\[[\d;]*m", "", file.getvalue())
    assert ("left out" in shown) is bool(missing)
    if missing:
        assert f"left out, for the terminal is narrow: {missing}" in shown
    assert "rmse" in shown and "0.002345" in shown and "0.5" in shown
