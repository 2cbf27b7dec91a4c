"""Attention maps of a translation, labelled with its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.errors import RequestError
from attnlab.views.records import AttentionMap, AttentionMaps, Figure, figure

START_LABEL = "<start>"  # the name of START in tokenizers
_HEADINGS = {
    "encoder": "encoder: rows and columns are the source",
    "decoder": "decoder: rows are the words chosen, columns those before",
    "cross": "cross: rows are the target, columns the source",
}


class Sentence(NamedTuple):
    """A test sentence with its translation after an epoch, and the attention between both."""

    cross: np.ndarray  # (L, H, T, S)
    source: list[str]  # labels of the tokens, END included
    target: list[str]  # labels of the tokens, END included unless the translation was cut
    reference: list[str]  # labels of the reference's tokens
    links: list[tuple[int, int]]  # gold links between a token of the reference and of the source


def recorded_sentences(arrays: Mapping[str, np.ndarray]) -> list[Sentence]:
    """Return the sentences of an epoch in attention.npz; see `recorded_examples`."""
    sentences = []
    for row, cross in enumerate(np.nan_to_num(arrays["cross"].astype(np.float32))):
        source, target, reference = (
            _labels(arrays[side][row]) for side in ("source", "target", "reference")
        )
        links = np.argwhere(arrays["links"][row]).tolist() if "links" in arrays else []
        cross = cross[:, :, : len(target), : len(source)]
        sentences.append(
            Sentence(cross, source, target, reference, [(one, other) for one, other in links])
        )
    return sentences


def _labels(padded: np.ndarray) -> list[str]:
    """Return labels without the padding at the end; a label may be empty."""
    places = np.flatnonzero(padded != "")
    return [str(label) for label in padded[: places[-1] + 1]] if len(places) else []


def maps_figure(
    maps: Mapping[str, np.ndarray],
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[tuple[int, int]] = (),
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
    after END are padding. `links` are gold links between a target and a source token.

    Raises:
        RequestError: there is no such layer or head.
    """
    if all_heads:
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
        return figure(title, "", [[AttentionMaps(blocks, layers=np.shape(maps["cross"])[0])]])
    weights = np.asarray(maps["cross"], np.float64)
    words = []
    for axis, (name, wanted) in enumerate({"layer": layer, "head": head}.items()):
        count = weights.shape[axis]
        if wanted is not None:
            if not 1 <= wanted <= count:
                raise RequestError(f"--{name}: expected 1 to {count}, got {wanted}.")
            weights = np.take(weights, [wanted - 1], axis)
        words += [f"{name} {wanted}"] if wanted else [f"mean of {count} {name}s"] * (count > 1)
        weights = weights.mean(axis=axis, keepdims=True)
    parts = ", ".join(words), "rows: target, columns: source", "frames: gold links" * bool(links)
    item = AttentionMap(target, source, weights[0, :, : len(target), : len(source)], links)
    return figure(title, "; ".join(filter(None, parts)), [[AttentionMaps([item])]])
