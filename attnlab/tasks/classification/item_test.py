"""McNemar's exact test for groups of classifiers; see `attnlab.tasks.accuracy_tests`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.accuracy_tests import Answers, right_answers_tester
from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of


def _answers(columns: Mapping[str, np.ndarray]) -> Answers:
    """Return the items with their classes, and whether the run predicts each correctly."""
    noun = noun_of(columns)
    items = list(zip(columns[noun].tolist(), columns["label"].tolist(), strict=True))
    return Answers(items, columns["prediction"] == columns["label"], f"{noun}s")


item_test = right_answers_tester(KIND, _answers)
