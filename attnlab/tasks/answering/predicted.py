"""What a model answers."""

from __future__ import annotations

from typing import NamedTuple


class PredictedAnswer(NamedTuple):
    """An answer: characters of the text from `start` to before `end`; "" and None: no answer."""

    text: str
    start: int | None
    end: int | None
    probability: float
