"""The paired test over texts or images with classes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.tasks.classification.kind import KIND
from attnlab.tasks.classification.report import noun_of
from attnlab.tasks.item_tests import Losses, paired_tester


def _losses(columns: Mapping[str, np.ndarray], metric: str) -> Losses:
    """Return the items with their classes, and 1 for each that the run classifies wrongly."""
    noun = noun_of(columns)
    items = list(zip(columns[noun].tolist(), columns["label"].tolist(), strict=True))
    wrong = (columns["prediction"] != columns["label"]).astype(float)
    return Losses(items, wrong, f"{noun}s")


item_test = paired_tester(KIND, _losses)
