"""Compare the outputs of an exported model with this package's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlab.tasks.exported import Arrays, Exported

MOST_APART = 1e-4


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    Attributes:
        items: number of test items.
        equal: for each output of whole numbers the number of items in which all are equal.
        apart: for each output of other numbers the largest difference, in its unit.
        texts: for each tokenizer the numbers of texts with the same tokens, and of all texts.
        scores: name of the score, its value by this package, and by the exported model.
    """

    items: int
    equal: Mapping[str, int]
    apart: Mapping[str, float]
    texts: Mapping[str, tuple[int, int]]
    scores: tuple[str, float, float] | None = None

    @property
    def passed(self) -> bool:
        """Whether whole numbers and the tokens of texts are equal, and others within 1e-4."""
        near = all(value <= MOST_APART for value in self.apart.values())
        equal = all(count == self.items for count in self.equal.values())
        return near and equal and self.same_tokens

    @property
    def same_tokens(self) -> bool:
        """Whether the tokens of all texts are equal."""
        return all(same == count for same, count in self.texts.values())

    def lines(self, score: bool) -> list[str]:
        """Return the result in sentences; with `score` the scores, too."""
        said = [
            f"`{name}` is equal in {count} of {self.items} test items."
            for name, count in self.equal.items()
        ]
        said += [
            f"`{name}` differs by at most {value:.1e} in {self.items} test items."
            for name, value in self.apart.items()
        ]
        for name, (same, count) in self.texts.items():
            said.append(f"{name} gives the same tokens for {same} of {count} texts.")
        if score and self.scores:
            name, own, other = self.scores
            said.append(
                f"{name} on {self.items} test items: {own:.4g} in attnlab, {other:.4g} exported, "
                f"a change of {other - own:+.4g}."
            )
        return said


def compare(exported: Exported, found: Arrays) -> Checked:
    """Compare the outputs `found` for the test items."""
    own = {name: np.asarray(value) for name, value in exported.own().items()}
    items = len(next(iter(own.values())))
    equal, apart = dict[str, int](), dict[str, float]()
    for name, value in own.items():
        other = np.asarray(found[name])
        if value.dtype.kind in "iu":
            equal[name] = int(np.sum(_same_rows(value, other)))
        else:
            apart[name] = _apart(value, other, exported.unit)
    scores = None
    if exported.score:
        name, score = exported.score
        scores = name, score(own), score(found)
    return Checked(items, equal, apart, _texts(exported), scores)


def _same_rows(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return whether each row is equal; columns of zeros at the end don't count."""
    width = max(own.shape[-1], other.shape[-1])
    padded = [
        np.pad(each, [(0, 0)] * (each.ndim - 1) + [(0, width - each.shape[-1])])
        for each in (own, other)
    ]
    return (padded[0] == padded[1]).reshape(len(own), -1).all(axis=1)


def _apart(own: np.ndarray, other: np.ndarray, unit: Any) -> float:
    if own.shape != other.shape:
        return float("inf")
    difference = np.abs(own.astype(np.float64) - other) / unit
    return float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0.0))


def _texts(exported: Exported) -> dict[str, tuple[int, int]]:
    """Count the texts whose tokens are the same; PAD at the end doesn't count."""
    found = {}
    for name, (texts, rows) in exported.texts.items():
        made = exported.tokenizers[name].rows(texts)
        same = [_bare(one) == _bare(other) for one, other in zip(made, rows, strict=True)]
        found[name] = sum(same), len(same)
    return found


def _bare(row: Any) -> list[int]:
    tokens = [*map(int, row)]
    while tokens and tokens[-1] == 0:
        tokens.pop()
    return tokens
