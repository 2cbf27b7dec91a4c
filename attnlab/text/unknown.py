"""Words that a vocabulary lacks, in a line for the user."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_NAMED = 12


def told_once(words: Iterable[str], told: set[str]) -> str | None:
    """A line about words that a model reads as unknown ones; None where all were `told` before.

    Adds them to `told`; names a dozen at most.
    """
    new = [word for word in dict.fromkeys(words) if word not in told]
    if not new:
        return None
    told.update(new)
    shown = ", ".join(new[:_MOST_NAMED]) + ", ..." * (len(new) > _MOST_NAMED)
    return f"not in the model's vocabulary, and read as unknown: {shown}"
