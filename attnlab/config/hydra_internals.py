"""Private interfaces of Hydra; seen in hydra-core 1.3.8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra._internal.hydra import Hydra


@contextmanager
def mode_by_words() -> Iterator[None]:
    """Make Hydra compose a configuration once, unless an override sets `hydra.mode`.

    Otherwise Hydra composes everything once to read `hydra.mode`, and again to run it.
    """
    read = Hydra.get_mode

    def get_mode(self: Hydra, config_name: str | None, overrides: list[str]) -> Any:
        asked = any(word.startswith("hydra.mode") for word in overrides)
        return read(self, config_name, overrides) if asked else None

    Hydra.get_mode = get_mode  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = read  # type: ignore[method-assign]
