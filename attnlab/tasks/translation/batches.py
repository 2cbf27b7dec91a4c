"""Padded batches of a tokenized corpus, cut to the lengths that a model can read."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np

from attnlab.tasks.translation.tokenized import TokenizedPart
from attnlab.text.tokenizers import END
from attnlab.training.batches import length_plan

# Padded tokens of an evaluation batch.
_BATCH_TOKENS = 8192


def longest_source(model: keras.Model) -> int | None:
    """Return the most source tokens that a model can read; None if there is no limit."""
    limits = [limit for limit in (model.fixed_length, model.max_positions) if limit]
    return min(limits, default=None)


def cut_sources(model: keras.Model, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cut source rows to the longest source that a model can read."""
    most = longest_source(model)
    return [cut(row, most or len(row)) for row in rows]


def cut(row: np.ndarray, most: int) -> np.ndarray:
    """Cut a row to `most` tokens, the last of which becomes END; shorter rows stay as they are."""
    return row if len(row) <= most else np.append(row[: most - 1], END).astype(row.dtype)


def padded(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return source and target of some rows, padded to a multiple of `multiple` steps.

    Neither is wider than the model can read: sources are cut as by `cut_sources`; targets are cut
    without a new END, because no END follows there. Row number -1 is all padding.
    """
    limit, real = longest_source(model), rows[rows >= 0]
    source = part.source.padded(rows, _rounded(part.source.lengths[real].max(), multiple))
    if limit is not None and source.shape[1] > limit:
        is_longer = source[:, limit] > 0
        source = source[:, :limit]
        source[is_longer, limit - 1] = END
    # The decoder reads all but the last token of a target.
    steps = _rounded(part.target.lengths[real].max() - 1, multiple)
    return source, part.target.padded(rows, steps + 1)[:, : model.max_positions]


def padded_batches(
    model: keras.Model, part: TokenizedPart, rows: np.ndarray, multiple: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows of a part in batches of near-equal length, without shuffling."""
    lengths = part.source.lengths[rows], part.target.lengths[rows] - 1
    plan = length_plan(*lengths, size=_BATCH_TOKENS, multiple=multiple)
    # Place -1 pads a batch, as row -1 does.
    numbered = (np.where(places < 0, -1, rows[places]) for places in plan)
    return [padded(model, part, each, multiple) for each in numbered]


def _rounded(length: int, multiple: int | None) -> int:
    unit = multiple or 1
    return -(-int(length) // unit) * unit
