"""McNemar's exact test of groups of runs; see `attnlab.tasks.right_answers`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.masked_words.kind import KIND
from attnlab.tasks.right_answers import Answers, right_answers_tester


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """The words that were asked for, and whether the run has each right."""
    asked = (columns[name].tolist() for name in ("text", "word"))
    return Answers(list(zip(*asked, strict=True)), columns["right"] > 0, "words")


item_test = right_answers_tester(KIND, _answers)
