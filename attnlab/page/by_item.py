"""Test items side by side: what several runs said of the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.parts import Part, Text

Columns = Mapping[str, np.ndarray]


class Tested(Protocol):
    """A run as a page knows it."""

    label: str


Run = TypeVar("Run", bound=Tested)


def of_same_items(
    shown: Sequence[Run],
    read: Callable[[Run], Columns],
    items: Callable[[Columns], Sequence[str]],
) -> tuple[dict[str, Columns], list[Part]]:
    """The predictions of runs by label, and a sentence for each run that is left out.

    Args:
        shown: the runs, of which the first that can be read says which items count.
        read: reads a run's predictions; raises `RequestError` where it can't.
        items: names of the columns that say what the items are.
    """
    parts: list[Part] = []
    tables: dict[str, Columns] = {}
    for run in shown:
        try:
            columns = read(run)
        except RequestError as error:
            parts.append(Text(f"{run.label}: no predictions: {error}", "warning"))
            continue
        first = next(iter(tables.values()), columns)
        if all(_alike(first, columns, name) for name in items(first)):
            tables[run.label] = columns
        else:
            other = f"{run.label} was tested on other items, which are left out."
            parts.append(Text(other, "note"))
    return tables, parts


def _alike(first: Columns, second: Columns, name: str) -> bool:
    return name in second and np.array_equal(first[name], second[name])


def require_columns(path: Path, columns: Columns, needed: Iterable[str]) -> None:
    """Raise `RequestError` where the predictions of a file lack a column."""
    if lacking := [name for name in needed if name not in columns]:
        raise RequestError(f"{path}: damaged: it has no {', '.join(lacking)}.")
