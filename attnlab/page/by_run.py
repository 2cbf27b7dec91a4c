"""What is told of each of several runs, one at a time to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from attnlab.errors import RequestError
from attnlab.page.parts import Part, Text, chosen


class Labelled(Protocol):
    """A run as a page knows it."""

    label: str
    metrics: Mapping[str, Any]


Run = TypeVar("Run", bound=Labelled)
Known = TypeVar("Known")


def attention_by_run(shown: Sequence[Run], tell: Callable[[Run], Sequence[Part]]) -> list[Part]:
    """What `tell` has of each run; a sentence where it fails, or where nothing attends."""
    parts: list[Part] = []
    choices: dict[str, Sequence[Part]] = {}
    for run in shown:
        if run.metrics.get("attention") == "none":
            parts.append(Text(f"{run.label}: nothing attends in it.", "note"))
            continue
        try:
            choices[run.label] = tell(run)
        except RequestError as error:
            choices[run.label] = [Text(f"The maps are missing: {error}", "warning")]
    return [*chosen(choices, named=len(shown) > 1), *parts]


def by_epoch_or_kept(
    run: Run, by_epoch: Callable[[Run], Known], kept: Callable[[Run], Known | None]
) -> tuple[Known, list[Part]]:
    """What is known `by_epoch`, else what was `kept` of the best epoch, and then a sentence why.

    Raises:
        RequestError: neither is known.
    """
    try:
        return by_epoch(run), []
    except RequestError as error:
        found = kept(run)
        if found is None:
            raise
        return found, [Text(f"Only the best epoch is known: {error}", "warning")]
