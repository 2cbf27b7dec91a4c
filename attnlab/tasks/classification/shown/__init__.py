"""Views of runs that classify."""

from __future__ import annotations

from attnlab.tasks.base import Views
from attnlab.tasks.classification.shown import attention, figures, items

VIEWS = Views(
    figures.figures,
    {"Test items": items.item_records, "Attention": attention.attention_records},
    figures.vocabulary_maps,
)
