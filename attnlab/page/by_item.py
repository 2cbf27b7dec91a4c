"""Test items side by side: what several runs said of the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.page.parts import Part, Table, Text

Columns = Mapping[str, np.ndarray]

WORST = 12  # items
_SPREAD = 12


class Tested(Protocol):
    """A run as a page knows it."""

    label: str


class Grouped(Tested, Protocol):
    """A run that may have results by group."""

    metrics: Mapping[str, Any]


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


def spread(items: Sequence[int], most: int) -> list[int]:
    """At most so many of some items, at equal distances, the first and the last among them."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)
    return [int(items[place]) for place in places]


def worst_first(order: Sequence[int]) -> list[int]:
    """Of items from the worst to the best the first 12, and 12 of the others."""
    return [*map(int, order[:WORST]), *spread(order[WORST:], _SPREAD)]


def which_items(shown: int, of: int, what: str, runs: int) -> str:
    """The title of a table of the items of `worst_first`.

    Args:
        shown: how many there are.
        of: how many were tested.
        what: they are, and by what they are in order.
        runs: how many say something of them.
    """
    title = f"{shown} of {of:,} test {what}"
    title += f" (mean of {runs} runs)" if runs > 1 else ""
    if shown > WORST:
        title += f": the {WORST} worst, then others at equal distances up to the best"
    return title


def accuracy_by_group(shown: Sequence[Grouped], items: str) -> list[Part]:
    """A table of the accuracy by group of all runs that have them; none where no run has."""
    known = {run.label: run.metrics["groups"] for run in shown if run.metrics.get("groups")}
    rows = []
    for name in dict.fromkeys(name for groups in known.values() for name in groups):
        own = [groups.get(name) for groups in known.values()]
        count = next(each["n"] for each in own if each)
        cells = [f"{each['accuracy']:.3f}" if each else "-" for each in own]
        rows.append([name, str(count), *cells])
    return [Table("accuracy by group", ["group", items, *known], rows)] if known else []
