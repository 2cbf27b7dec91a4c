"""Attention weights on a few sentences, as they are translated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnlab.tasks.translation.task import sources_for
from attnlab.tasks.translation.text.tokenizers import END, START, Tokenizer

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.translation.decoding.search import Search
    from attnlab.tasks.translation.task import Translate


@dataclass(frozen=True)
class Example:
    """A sentence, its translation, and where the model looked.

    Attributes:
        maps: `cross` (L, H, T, S), and of a Transformer `encoder` (L, H, S, S) and `decoder`
            (L, H, T, T); step t chooses the target piece t.
        source: labels of the source's tokens, END included.
        target: labels of the translation's, END included.
    """

    maps: dict[str, np.ndarray]
    source: list[str]
    target: list[str]


def examples(
    task: Translate, model: keras.Model, search: Search, part: str, count: int
) -> list[Example]:
    """The attention on some sentences of a part, short and long ones; none where nothing attends.

    Args:
        task: translation, loaded.
        model: its model.
        search: of that model.
        part: the corpus's part.
        count: how many sentences.
    """
    sources = task.prepared.parts[part].source
    order = np.argsort(sources.lengths, kind="stable")
    # Neither the shortest nor the longest ones, which are seldom typical.
    places = np.linspace(0.25, 0.95, min(count, len(order))) * (len(order) - 1)
    rows = sources_for(model, [sources[int(order[int(place)])] for place in places])
    found = [
        example(model, (task.source_tokenizer, task.target_tokenizer), row, best[0].tokens)
        for row, best in zip(rows, search(rows), strict=True)
    ]
    return [each for each in found if each.maps]


def example(
    model: keras.Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    source: np.ndarray,
    target: np.ndarray,
) -> Example:
    """The attention on one sentence and one translation, whoever wrote it.

    Args:
        model: a `Translator`.
        tokenizers: of the source and of the target.
        source: (S,) ids, END included.
        target: (T,) ids without START and END.
    """
    read = np.concatenate([[START], target])
    maps = model.attend(np.asarray(source)[None], read[None])
    return Example(
        {name: weights[0] for name, weights in maps.items()},
        tokenizers[0].pieces(source),
        tokenizers[1].pieces([*target, END]),
    )


def stacked(found: list[Example]) -> dict[str, np.ndarray] | None:
    """Examples as arrays for attention.npz: weights and labels, padded; None without any."""
    if not found:
        return None
    arrays = {name: _padded([each.maps[name] for each in found]) for name in found[0].maps}
    for side in ("source", "target"):
        labels = [getattr(each, side) for each in found]
        width = max(map(len, labels))
        arrays[side] = np.array([[*row, *[""] * (width - len(row))] for row in labels])
    return arrays


def _padded(maps: list[np.ndarray]) -> np.ndarray:
    """(N, L, H, T, S) with the largest T and S."""
    shape = np.max([each.shape for each in maps], axis=0)
    whole = np.zeros((len(maps), *shape), np.float32)
    for place, each in enumerate(maps):
        whole[(place, *map(slice, each.shape))] = each
    return whole
