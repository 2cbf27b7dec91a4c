"""McNemar's exact test for runs that fill in words; see `attnlab.tasks.accuracy_tests`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.masked_words.kind import KIND


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """Return the words to predict, and whether the run predicts each correctly."""
    asked = (columns[name].tolist() for name in ("text", "word"))
    return Answers(list(zip(*asked, strict=True)), columns["right"] > 0, "words")


item_test = right_answers_tester(KIND, _answers)
