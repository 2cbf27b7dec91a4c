"""Where a model looks: measures of its maps, and how right they are beside gold links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.translation.alignment import AlignedSentence, alignment_error_rate, parse_links
from attnlab.tasks.translation.map_measures import measures

if TYPE_CHECKING:
    import keras

    from attnlab.tasks.translation.task import Translate

# Sentences that are aligned, and how many of them at once.
_MOST, _BATCH = 1000, 64


def attention_details(task: Translate, model: keras.Model, part: str) -> dict[str, Any]:
    """Numbers on the cross-attention over a part's true translations, which the model reads.

    Returns:
        JSON-ready: `attention_maps`, means of the maps' measures; where the corpus has gold links
        also `alignment`, see `_alignment`. Empty where nothing attends.
    """
    maps = list(_maps(task, model, part))
    if not maps:
        return {}
    details: dict[str, Any] = {"attention_maps": {"sentences": len(maps), **_mean_measures(maps)}}
    if task.prepared.texts(part)[2] is not None:
        details["alignment"] = _alignment(maps)
    return details


def _alignment(maps: list[AlignedSentence]) -> dict[str, Any]:
    """Alignment error rates: each target word is linked to the source word of the largest weight.

    Returns:
        `error_rate` and `shifted_error_rate` (the weights of step t align the word that the step
        reads, not the one it predicts) of the mean over heads and layers; `layers`, both for each
        layer by itself where there are several.
    """
    found: dict[str, Any] = _rates(maps)
    layers = maps[0].weights.shape[0]
    if layers > 1:
        found["layers"] = [
            _rates([_layer(each, layer) for each in maps]) for layer in range(layers)
        ]
    return found


def _rates(maps: list[AlignedSentence]) -> dict[str, float]:
    merged = [each._replace(weights=_merged(each.weights)) for each in maps]
    return {
        "error_rate": alignment_error_rate(merged).error_rate,
        "shifted_error_rate": alignment_error_rate(merged, shift=1).error_rate,
    }


def _merged(weights: np.ndarray) -> np.ndarray:
    """(..., T, S) to (T, S): the mean over layers and heads."""
    return weights.mean(axis=tuple(range(weights.ndim - 2)))


def _layer(sentence: AlignedSentence, layer: int) -> AlignedSentence:
    return sentence._replace(weights=sentence.weights[layer])


def _mean_measures(maps: list[AlignedSentence]) -> dict[str, float]:
    """Means over sentences, layers and heads."""
    sums: dict[str, list[float]] = {}
    for each in maps:
        values = measures(
            each.weights,
            source_length=len(each.source_words) + 1,
            target_length=len(each.target_words) + 1,
        )
        for name, value in values.items():
            sums.setdefault(name, []).append(_known_mean(value))
    return {name: _known_mean(np.array(values)) for name, values in sums.items()}


def _known_mean(values: np.ndarray) -> float:
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else float("nan")


def _maps(task: Translate, model: keras.Model, part: str) -> Iterator[AlignedSentence]:
    """The cross-attention (L, H, T, S) of each sentence with its gold links."""
    from attnlab.tasks.translation.report import padded

    encoded = task.prepared.parts[part]
    sources, references, links = task.prepared.texts(part)
    for first in range(0, min(len(sources), _MOST), _BATCH):
        rows = np.arange(first, min(first + _BATCH, len(sources), _MOST))
        source, target = padded(model, encoded, rows)
        cross = model.attend(source, target).get("cross")
        if cross is None:
            return
        for weights, row in zip(cross, rows, strict=True):
            source_words = task.source_tokenizer.word_numbers(sources[row])
            target_words = task.target_tokenizer.word_numbers(references[row])
            steps, width = len(target_words) + 1, len(source_words) + 1
            if steps > weights.shape[-2] or width > weights.shape[-1]:
                continue  # cut off
            text = links[row] if links is not None else ""
            gold = parse_links(text, f"{part}, sentence {row + 1}")
            yield AlignedSentence(weights[..., :steps, :width], source_words, target_words, gold)
