"""McNemar's exact test of groups of runs that answer; see `attnlab.tasks.accuracy_tests`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.answering.kind import KIND


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """The questions with an answer each, and whether the run has it."""
    asked = (columns[name].tolist() for name in ("id", "question", "answer"))
    return Answers(list(zip(*asked, strict=True)), columns["exact_match"] > 0, "questions")


item_test = right_answers_tester(KIND, _answers)
