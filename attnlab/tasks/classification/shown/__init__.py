"""Views of runs that classify."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.tasks.base import ReportedRun, Views
from attnlab.tasks.classification.base import has_images
from attnlab.tasks.classification.shown import figures, images, items, texts
from attnlab.tasks.shown.attention_by_epoch import attention_by_run
from attnlab.views.records import Record


def _attention_records(runs: Sequence[ReportedRun]) -> list[Record]:
    """Return a slider over the epochs for each run of one task, on words or on images."""
    of_images = any(has_images(run.metrics["task"]) for run in runs)
    return attention_by_run(runs, (images if of_images else texts).attention_slider)


VIEWS = Views(
    figures.figures,
    {"Test items": items.item_records, "Attention": _attention_records},
    figures.vocabulary_maps,
)
