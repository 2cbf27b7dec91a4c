"""What runs that answer questions show."""

from __future__ import annotations

from attnlab.tasks.answering.shown import answers, attention, figures
from attnlab.tasks.base import Views

VIEWS = Views(
    figures.figures,
    {"Answers": answers.answer_records, "Attention": attention.attention_records},
)
