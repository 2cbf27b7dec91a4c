"""Make rows, as a model reads them, from tokenized documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.text.tokenizers import END, PAD, START

Tokens = Sequence[int]


class Row(NamedTuple):
    """One text, or two; `follows` says whether the second continues the first."""

    first: Tokens
    second: Tokens | None = None
    follows: bool = True

    @property
    def length(self) -> int:
        """Return the number of tokens, with START and an END after each text."""
        return len(self.first) + 2 + (0 if self.second is None else len(self.second) + 1)


def packed(documents: Sequence[Sequence[Tokens]], most: int) -> tuple[list[Row], int]:
    """Pack as many consecutive sentences of a document into each row as fit.

    Liu et al. 2019 (arXiv 1907.11692), section 4.2, DOC-SENTENCES. Difference: no token separates
    the sentences. A sentence that is too long for a row loses its end. Returns the rows, and the
    number of such sentences.
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
    """Pair each sentence with the next one, or, in half of the rows, with one of another document.

    Devlin et al. 2019 (arXiv 1810.04805), section 3.1, "Next Sentence Prediction". Difference:
    each text is a single sentence, not as many sentences as fit. If a pair is too long, the longer
    sentence loses tokens at its end. Returns the rows, and the number of such pairs.
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
    """Shorten a pair to `most` tokens: the longer one loses its last token until both fit."""
    sizes = [len(first), len(second)]
    while sum(sizes) > most:
        sizes[0 if sizes[0] > sizes[1] else 1] -= 1
    return first[: sizes[0]], second[: sizes[1]]


def filled(rows: Sequence[Row], width: int) -> np.ndarray:
    """Return rows (N, S) int32: START, the first text, END, the second and END if any, PAD."""
    tokens = np.full((len(rows), width), PAD, np.int32)
    for line, row in zip(tokens, rows, strict=True):
        whole = [START, *row.first, END]
        if row.second is not None:
            whole += [*row.second, END]
        line[: len(whole)] = whole
    return tokens
