"""Views of runs that translate."""

from __future__ import annotations

from attnlab.tasks.base import Views
from attnlab.tasks.translation.shown import attention, figures, translations

VIEWS = Views(
    figures.figures,
    {
        "Translations": translations.translation_records,
        "Attention": attention.attention_records,
    },
    figures.vocabulary_maps,
)
