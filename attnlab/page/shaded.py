"""Texts whose words are shaded by their weights, of one epoch after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attnlab.page.parts import Sentence, Sentences, Written

_MOST_HEADS = 8


class Looked(NamedTuple):
    """What the model of each epoch made of some texts."""

    epochs: list[int]
    words: list[list[str]]  # of each text, without padding
    right: list[str]  # what should be said of each text
    said: list[list[str]]  # of each epoch what was said of each text
    weights: np.ndarray  # (E, N, H, S)
    unknown: Mapping[str, str]  # notes on words that the model doesn't know
    queries: int = 1  # of how many the weights are means


def shaded_texts(looked: Looked, room: int, names: tuple[str, str, str]) -> Sentences:
    """The texts for which there is room, a byte for each weight; where it allows, each head.

    Args:
        looked: what there is to see.
        room: bytes.
        names: what texts, what is right of them, and what was said are called.
    """
    heads, lengths = looked.weights.shape[2], [len(words) for words in looked.words]
    cells = np.cumsum(lengths) * len(looked.epochs)
    every = 1 < heads <= _MOST_HEADS and bool((1 + heads) * cells[-1] <= room)
    maps = [f"mean of {heads} heads"] if heads > 1 else ["weights"]
    maps += [f"head {number + 1}" for number in range(heads)] if every else []
    sentences = [
        Sentence(
            looked.words[place],
            [looked.right[place]],
            [],
            _written(looked, place, every),
            looked.unknown,
        )
        for place in range(max(int(np.sum(cells <= room)), 1))
    ]
    return Sentences(sentences, maps, names, shaded=True)


def _written(looked: Looked, place: int, every: bool) -> list[Written]:
    """What was said of a text at each epoch, with the mean weights, and those of every head."""
    own = looked.weights[:, place, :, : len(looked.words[place])]  # (E, H, S)
    mean = own.mean(axis=1, keepdims=True)
    maps = np.concatenate([mean, own], axis=1) if every else mean
    return [
        Written([said[place]], each[:, None]) for said, each in zip(looked.said, maps, strict=True)
    ]
