"""Views of runs that answer questions."""

from __future__ import annotations

from attnlab.tasks.answering.shown import answers, attention, figures
from attnlab.tasks.base import Views

VIEWS = Views(
    figures.figures,
    {"Answers": answers.answer_records, "Attention": attention.attention_records},
)
