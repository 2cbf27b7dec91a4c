"""The paired test over questions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.item_tests import Losses, paired_tester


def _losses(columns: Mapping[str, np.ndarray], metric: str) -> Losses:
    """Return the questions with their answers, and 1 - exact match or F1 of each."""
    names = (columns[name].tolist() for name in ("id", "question", "answer"))
    return Losses(list(zip(*names, strict=True)), 1.0 - columns[metric], "questions")


item_test = paired_tester(KIND, _losses)
