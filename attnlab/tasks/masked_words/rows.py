"""Documents in tokens, as the rows that a model reads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.text.tokenizers import END, PAD, START

Tokens = Sequence[int]


class Row(NamedTuple):
    """A text, or two of which the second one follows the first or doesn't."""

    first: Tokens
    second: Tokens | None = None
    follows: bool = True

    @property
    def length(self) -> int:
        """Tokens, with START and an END behind each text."""
        return len(self.first) + 2 + (0 if self.second is None else len(self.second) + 1)


def packed(documents: Sequence[Sequence[Tokens]], most: int) -> tuple[list[Row], int]:
    """The sentences of each document one behind the other, as many in a row as there is room for.

    Liu et al. 2019 (arXiv 1907.11692), section 4.2, DOC-SENTENCES. Difference: nothing stands
    between sentences. Of a sentence that fits no row the end is cut off; how often that was comes
    second.
    """
    rows, cut = [], 0
    for document in documents:
        now: list[int] = []
        for sentence in document:
            cut += len(sentence) > most - 2
            if now and len(now) + len(sentence) > most - 2:
                rows.append(Row(now))
                now = []
            now = [*now, *sentence][: most - 2]
        if now:
            rows.append(Row(now))
    return rows, cut


def paired(documents: Sequence[Sequence[Tokens]], most: int, seed: int) -> tuple[list[Row], int]:
    """Each sentence with the next of its document, or in half of the rows one of another document.

    Devlin et al. 2019 (arXiv 1810.04805), section 3.1, "Next Sentence Prediction". Difference:
    pairs of single sentences, not of as many as there is room for. From a pair that is too long
    tokens are cut at the end of the longer one; how often that was comes second.
    """
    draw, rows, cut = random.Random(f"{seed} pairs"), [], 0
    for number, document in enumerate(documents):
        for first, second in zip(document, document[1:], strict=False):
            follows = draw.random() < 0.5
            if not follows:
                other = draw.randrange(len(documents) - 1)
                second = draw.choice(documents[other + (other >= number)])
            kept = _cut(first, second, most - 3)
            cut += sum(map(len, kept)) < len(first) + len(second)
            rows.append(Row(*kept, follows))
    return rows, cut


def _cut(first: Tokens, second: Tokens, most: int) -> tuple[Tokens, Tokens]:
    """Both with at most so many tokens: the longer one loses its last one until they fit."""
    sizes = [len(first), len(second)]
    while sum(sizes) > most:
        sizes[0 if sizes[0] > sizes[1] else 1] -= 1
    return first[: sizes[0]], second[: sizes[1]]


def filled(rows: Sequence[Row], width: int) -> np.ndarray:
    """(N, S) int32: START, the first text, END, perhaps the second and END, then PAD."""
    tokens = np.full((len(rows), width), PAD, np.int32)
    for line, row in zip(tokens, rows, strict=True):
        whole = [START, *row.first, END]
        if row.second is not None:
            whole += [*row.second, END]
        line[: len(whole)] = whole
    return tokens
