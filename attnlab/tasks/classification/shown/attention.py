"""Where the runs of one task looked, epoch by epoch: on words, or on images."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.tasks.base import ReportedRun
from attnlab.tasks.classification.base import has_images
from attnlab.tasks.classification.shown import images, texts
from attnlab.views.records import Record


def attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """A slider over the epochs for each run that attends."""
    of_images = any(has_images(run.metrics["task"]) for run in runs)
    return (images if of_images else texts).attention_records(runs)
