"""The environment variables that this project reads."""

from __future__ import annotations

import os


def variable(name: str) -> str | None:
    """The value of an environment variable; None if it is unset, empty or white space only."""
    value = os.environ.get(name, "")
    return value if value.strip() else None
