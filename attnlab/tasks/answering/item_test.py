"""McNemar's exact test for runs that answer questions; see `attnlab.tasks.accuracy_tests`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.answering.kind import KIND


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """Return the questions with their answers, and whether the run answers each correctly."""
    asked = (columns[name].tolist() for name in ("id", "question", "answer"))
    return Answers(list(zip(*asked, strict=True)), columns["exact_match"] > 0, "questions")


item_test = right_answers_tester(KIND, _answers)
