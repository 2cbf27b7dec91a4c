"""Rows of a tokenized corpus as a model takes them: cut to what it reaches, in padded batches."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np

from attnlab.tasks.translation.text.tokenized_corpus import TokenizedPart
from attnlab.text.tokenizers import END
from attnlab.training.batches import length_plan

# Padded tokens of a batch that is scored without training.
_BATCH_TOKENS = 8192


def longest_source(model: keras.Model) -> int | None:
    """The most source tokens that a model can take; None where any length will do."""
    limits = [limit for limit in (model.fixed_length, model.max_positions) if limit]
    return min(limits, default=None)


def cut_sources(model: keras.Model, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Source rows as a model can take them: where it has a longest length, the rest is cut off."""
    most = longest_source(model)
    return [cut(row, most or len(row)) for row in rows]


def cut(row: np.ndarray, most: int) -> np.ndarray:
    """The first tokens of a row, END the last one, where it has more than `most`."""
    return row if len(row) <= most else np.append(row[: most - 1], END).astype(row.dtype)


def padded(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Source and target of some rows, padded at the end so that a `multiple` divides the steps.

    Whatever that is, neither is wider than the model reaches: sources are cut as by
    `cut_sources`, targets without an END, which nobody wrote there. A row of number -1 is all
    padding.
    """
    limit, real = longest_source(model), rows[rows >= 0]
    source = part.source.padded(rows, _rounded(part.source.lengths[real].max(), multiple))
    if limit is not None and source.shape[1] > limit:
        behind = source[:, limit] > 0
        source = source[:, :limit]
        source[behind, limit - 1] = END
    # The decoder reads all but the last token of a target.
    steps = _rounded(part.target.lengths[real].max() - 1, multiple)
    return source, part.target.padded(rows, steps + 1)[:, : model.max_positions]


def padded_batches(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of a part in batches of near-equal length, nothing shuffled."""
    lengths = part.source.lengths[rows], part.target.lengths[rows] - 1
    plan = length_plan(*lengths, size=_BATCH_TOKENS, multiple=multiple)
    # Place -1 is row -1, which fills up a batch.
    numbered = (np.where(places < 0, -1, rows[places]) for places in plan)
    return [padded(model, part, each, multiple) for each in numbered]


def _rounded(length: int, multiple: int | None) -> int:
    unit = multiple or 1
    return -(-int(length) // unit) * unit
