"""Views of runs that translate."""

from __future__ import annotations

from attnlab.tasks.base import Views
from attnlab.tasks.translation.shown import figures, pages

VIEWS = Views(
    figures.figures,
    {"Translations": pages.translation_records, "Attention": pages.attention_records},
    figures.vocabulary_maps,
)
