"""McNemar's exact test of groups of runs; see `attnlab.tasks.accuracy_tests`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.masked_words.kind import KIND


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """The words that were asked for, and whether the run has each right."""
    asked = (columns[name].tolist() for name in ("text", "word"))
    return Answers(list(zip(*asked, strict=True)), columns["right"] > 0, "words")


item_test = right_answers_tester(KIND, _answers)
