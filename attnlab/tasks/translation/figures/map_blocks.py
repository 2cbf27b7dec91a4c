"""What the figures of attention maps show: maps without padding, and the tokens beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError

START_LABEL, END_LABEL = "<start>", "<end>"  # as tokenizers name them
EXPLAINED = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}


class Block(NamedTuple):
    """The maps of one kind, with their labels."""

    kind: str
    weights: np.ndarray  # (L, H, rows, columns)
    rows: list[str]
    columns: list[str]
    layers: list[int]
    heads: list[int]


def make_blocks(
    maps: Mapping[str, np.ndarray],
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    *,
    layer: int | None = None,
    head: int | None = None,
) -> list[Block]:
    """The maps of each kind in the order encoder, decoder, cross.

    Args:
        maps: As `maps_figure` takes them.
        source_pieces: As there.
        target_pieces: As there.
        layer: As there.
        head: As there.

    Raises:
        RequestError: A layer or head that there isn't.
        ValueError: No map, one smaller than its tokens, or of another kind or shape.
    """
    unknown = sorted(set(maps) - set(EXPLAINED))
    if unknown or not maps:
        raise ValueError(f"maps: expected some of {', '.join(EXPLAINED)}, got {unknown or 'none'}")
    return [
        _select(_block(kind, maps[kind], source_pieces, target_pieces), layer, head)
        for kind in EXPLAINED
        if kind in maps
    ]


def _block(
    kind: str, weights: np.ndarray, source_pieces: Sequence[str], target_pieces: Sequence[str]
) -> Block:
    """Maps without their padding, and the labels of what is left."""
    table = np.nan_to_num(np.asarray(weights, dtype=np.float64))
    if not 2 <= table.ndim <= 4:
        raise ValueError(f"maps[{kind!r}]: expected weights (L, H, T, S), got {table.shape}")
    table = table.reshape((1,) * (4 - table.ndim) + table.shape)
    source, target = _ended(source_pieces), _ended(target_pieces)
    rows = source if kind == "encoder" else target
    columns = [START_LABEL, *target[:-1]] if kind == "decoder" else source
    height, width = table.shape[2:]
    if not len(rows) - 1 <= height or not len(columns) - 1 <= width:
        raise ValueError(
            f"maps[{kind!r}]: expected at least {len(rows) - 1} rows and {len(columns) - 1} "
            f"columns, a token each, got {height} and {width}"
        )
    table = table[:, :, : len(rows), : len(columns)]
    layers, heads = (list(range(1, size + 1)) for size in table.shape[:2])
    return Block(kind, table, rows[:height], columns[:width], layers, heads)


def _ended(pieces: Sequence[str]) -> list[str]:
    ended = len(pieces) > 0 and pieces[-1] == END_LABEL
    return [*pieces] if ended else [*pieces, END_LABEL]


def _select(block: Block, layer: int | None, head: int | None) -> Block:
    for name, chosen, known in (("layer", layer, block.layers), ("head", head, block.heads)):
        if chosen is not None and chosen not in known:
            raise RequestError(
                f"{name}: expected 1 to {len(known)} for the {block.kind} maps, got {chosen}."
            )
    layers = block.layers if layer is None else [layer]
    heads = block.heads if head is None else [head]
    chosen_layers, chosen_heads = (np.array(each) - 1 for each in (layers, heads))
    weights = block.weights[chosen_layers][:, chosen_heads]
    return block._replace(weights=weights, layers=layers, heads=heads)
