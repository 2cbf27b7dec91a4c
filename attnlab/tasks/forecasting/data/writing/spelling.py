"""Learn from a file's rows how it writes times, so that new times are written the same way."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_TOKEN = re.compile(r"\d+|[^\W\d_]+|(?:[^\w]|_)+")

# Numbers in times, in the order in which they are tried.
_NUMBERS: dict[str, Callable[[datetime], str]] = {
    "year": lambda time: f"{time.year:04d}",
    "month": lambda time: f"{time.month:02d}",
    "last day": lambda time: f"{calendar.monthrange(time.year, time.month)[1]:02d}",
    "day": lambda time: f"{time.day:02d}",
    "hour": lambda time: f"{time.hour:02d}",
    "minute": lambda time: f"{time.minute:02d}",
    "second": lambda time: f"{time.second:02d}",
    "short year": lambda time: f"{time.year % 100:02d}",
    "short month": lambda time: str(time.month),
    "short day": lambda time: str(time.day),
    "short hour": lambda time: str(time.hour),
    "hour of 12": lambda time: f"{(time.hour - 1) % 12 + 1:02d}",
    "short hour of 12": lambda time: str((time.hour - 1) % 12 + 1),
    "quarter": lambda time: str((time.month + 2) // 3),
    "ISO year": lambda time: f"{time.isocalendar()[0]:04d}",
    "ISO week": lambda time: f"{time.isocalendar()[1]:02d}",
    "short ISO week": lambda time: str(time.isocalendar()[1]),
    "date": lambda time: f"{time:%Y%m%d}",
    "year and month": lambda time: f"{time:%Y%m}",
    "date and clock": lambda time: f"{time:%Y%m%d%H%M%S}",
    "fraction": lambda time: f"{time.microsecond:06d}",
    "short fraction": lambda time: f"{time.microsecond // 1000:03d}",
    "seconds since 1970": lambda time: f"{(time - datetime(1970, 1, 1)).total_seconds():.0f}",
}
# Words by their number: names of months and days, AM and PM.
_WORDS: dict[str, Callable[[datetime], int]] = {
    "month": lambda time: time.month,
    "weekday": lambda time: time.weekday(),
    "half of the day": lambda time: time.hour // 12,
}


@dataclass(frozen=True)
class Spelling:
    """The parts of a column's times, from left to right."""

    # ("text", a fixed text), ("number", a key of _NUMBERS) or (a key of _WORDS, number -> word)
    parts: tuple[tuple[str, Any], ...]

    @classmethod
    def learn(cls, times: Sequence[datetime], texts: Sequence[str]) -> Spelling | None:
        """Return the spelling that reproduces all texts of a column; None if there is none."""
        tokens = [_TOKEN.findall(text) for text in texts]
        if not tokens[0] or len({*map(len, tokens)}) > 1:
            return None
        parts: list[tuple[str, Any]] = []
        for column in zip(*tokens, strict=True):
            used = {_family(value) for kind, value in parts if kind == "number"}
            if not (part := _part(column, times, used)):
                return None
            parts.append(part)
        weeks = any(_family(value) == "week" for kind, value in parts if kind == "number")
        by_week = [
            ("number", "ISO year") if weeks and p == ("number", "year") else p for p in parts
        ]
        pairs = [*zip(times, texts, strict=True)]
        choices = cls(tuple(by_week)), cls(tuple(parts))
        return next((c for c in choices if all(c.write(at) == text for at, text in pairs)), None)

    def write(self, time: datetime) -> str | None:
        """Return the text of a time; None if it needs a word that the file's times don't have."""
        texts = [_written(kind, value, time) for kind, value in self.parts]
        return None if None in texts else "".join(filter(None, texts))

    def to_json(self) -> list[list[Any]]:
        """Return the spelling as JSON."""
        return [[kind, value] for kind, value in self.parts]

    @classmethod
    def from_json(cls, content: Sequence[Sequence[Any]]) -> Spelling:
        """Make a spelling from the result of `to_json`."""
        return cls(tuple((str(kind), value) for kind, value in content))


def _part(
    column: Sequence[str], times: Sequence[datetime], used: Collection[str]
) -> tuple[str, Any] | None:
    """Return the part that a token is in all times: an unused number, a fixed text or a word."""
    pairs = [*zip(times, column, strict=True)]
    if column[0].isdigit():
        for name, number in _NUMBERS.items():
            if _family(name) not in used and all(number(time) == token for time, token in pairs):
                return "number", name
    if len({*column}) == 1:
        return "text", column[0]
    for name, place in _WORDS.items():
        words = {str(place(time)): token for time, token in pairs}
        if all(words[str(place(time))] == token for time, token in pairs):
            return name, words
    return None


def _family(name: str) -> str:
    """Return what a number counts; `short month` and `month` count the same."""
    return "hour" if "hour" in name else name.split(" ")[-1]


def _written(kind: str, value: Any, time: datetime) -> str | None:
    if kind == "text":
        return str(value)
    if kind == "number":
        return _NUMBERS[value](time)
    word = value.get(str(_WORDS[kind](time)))
    return None if word is None else str(word)
