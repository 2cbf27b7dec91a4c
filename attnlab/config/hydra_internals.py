"""Private interfaces of Hydra; seen in hydra-core 1.3.8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hydra._internal.hydra import Hydra


@contextmanager
def mode_by_words() -> Iterator[None]:
    """Make Hydra compose a configuration once.

    Otherwise Hydra composes everything once to read `hydra.mode`, and again to run it.
    """
    read = Hydra.get_mode
    Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = read  # type: ignore[method-assign]
