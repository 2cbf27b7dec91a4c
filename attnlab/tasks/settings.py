"""Checks of a task's settings; each failure names the key as the command line has it."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from attnlab.errors import RequestError


def refuse(key: str, expected: str, given: Any) -> NoReturn:
    """Raise a RequestError that says `task.<key>: expected <expected>, got <given>`."""
    raise RequestError(f"task.{key}: expected {expected}, got {given!r}")


def whole(key: str, given: Any, at_least: int, at_most: int | None = None) -> int:
    """The setting as a whole number.

    Raises:
        RequestError: it is none, or out of range.
    """
    limits = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    fits = isinstance(given, int) and not isinstance(given, bool) and given >= at_least
    if not fits or (at_most is not None and given > at_most):
        refuse(key, f"a whole number {limits}", given)
    return int(given)


def fraction(key: str, given: Any, zero: bool = False) -> float:
    """The setting as a fraction above 0 (from 0 where `zero` is allowed) and below 1.

    Raises:
        RequestError: it is none.
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not math.isfinite(given) or not 0 <= given < 1 or (given == 0 and not zero):
        refuse(key, f"a fraction {'from' if zero else 'above'} 0 and below 1", given)
    return float(given)


def choice(key: str, given: Any, choices: tuple[str, ...]) -> str:
    """The setting as one of the choices.

    Raises:
        RequestError: it is none of them.
    """
    if given not in choices:
        refuse(key, f"one of {', '.join(choices)}", given)
    return str(given)
