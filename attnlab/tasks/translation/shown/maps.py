"""Attention maps of a translation, labelled with its tokens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnlab.errors import RequestError
from attnlab.views.records import AttentionMap, AttentionMaps, Figure, figure

START_LABEL = "<start>"  # the name of START in tokenizers
_HEADINGS = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}


def maps_figure(
    maps: Mapping[str, np.ndarray],
    source: list[str],
    target: list[str],
    gold: np.ndarray | None = None,
    *,
    title: str = "",
    layer: int | None = None,
    head: int | None = None,
    all_heads: bool = False,
) -> Figure:
    """Draw the attention on one sentence.

    By default it is one map, the mean over all layers and heads, or over those chosen by `layer`
    and `head`, which count from 1. With `all_heads` it is all maps: a block per kind of attention,
    a row per layer, a column per head.

    `maps` has "cross", and for a Transformer "encoder" and "decoder": weights (L, H, T, S). Step t
    predicts target token t. Source and target are readable tokens, END included; rows and columns
    after END are padding. `gold`, (T, S), has the gold links between tokens.

    Raises:
        RequestError: there is no such layer or head.
    """
    if all_heads:
        blocks = _blocks(maps, source, target)
        layers = np.shape(maps["cross"])[0]
        return figure(title, "", [[AttentionMaps(blocks, layers=layers)]])
    weights, chosen = _chosen(np.asarray(maps["cross"], np.float64), layer, head)
    weights = weights[:, : len(target), : len(source)]
    links = _links(gold, len(target), len(source))
    texts = chosen, "rows: target, columns: source", "frames: gold links" if links else ""
    item = AttentionMap(target, source, weights, links)
    return figure(title, "; ".join(filter(None, texts)), [[AttentionMaps([item])]])


def _chosen(weights: np.ndarray, layer: int | None, head: int | None) -> tuple[np.ndarray, str]:
    """Return the mean (1, T, S) over the requested layers and heads, and its description."""
    words = []
    for axis, (name, wanted) in enumerate({"layer": layer, "head": head}.items()):
        count = weights.shape[axis]
        if wanted is not None:
            if not 1 <= wanted <= count:
                raise RequestError(f"--{name}: expected 1 to {count}, got {wanted}.")
            weights = np.take(weights, [wanted - 1], axis)
        words += [f"{name} {wanted}"] if wanted else [f"mean of {count} {name}s"] * (count > 1)
        weights = weights.mean(axis=axis, keepdims=True)
    return weights[0], ", ".join(words)


def _links(gold: np.ndarray | None, rows: int, columns: int) -> list[tuple[int, int]]:
    if gold is None:
        return []
    return [(int(row), int(column)) for row, column in np.argwhere(gold[:rows, :columns])]


def _blocks(
    maps: Mapping[str, np.ndarray], source: list[str], target: list[str]
) -> list[AttentionMap]:
    """Return all maps of each kind of attention, layer by layer."""
    labels = {
        "encoder": (source, source),
        "decoder": (target, [START_LABEL, *target[:-1]]),
        "cross": (target, source),
    }
    blocks = []
    for kind, (rows, columns) in labels.items():
        if kind in maps:
            weights = np.asarray(maps[kind])[:, :, : len(rows), : len(columns)]
            every = weights.reshape(-1, len(rows), len(columns))
            blocks.append(AttentionMap(rows, columns, every, heading=_HEADINGS[kind]))
    return blocks
