"""How attention changed in training: records of a run's epochs, for pages of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from attnlab.errors import RequestError
from attnlab.tasks.attention import FILE, Recorded, read_attention
from attnlab.tasks.base import ReportedRun
from attnlab.views.records import (
    AttentionMap,
    Frame,
    ImageMap,
    Record,
    ShadedText,
    Slider,
    Text,
    tabs,
)

Item = TypeVar("Item", AttentionMap, ShadedText, ImageMap)


def attention_by_run(
    runs: Sequence[ReportedRun], records: Callable[[ReportedRun], Sequence[Record]]
) -> Sequence[Record]:
    """Return the `records` of each run with attention, and a sentence for the others."""

    def records_of(run: ReportedRun) -> Sequence[Record]:
        if run.metrics.get("attention") == "none":
            return [Text("The model has no attention.", "note")]
        return records(run)

    return records_by_run(runs, records_of, "The maps")


def attention_sliders(
    runs: Sequence[ReportedRun],
    frames: Callable[[Recorded, int], tuple[str, Sequence[Sequence[Frame]]]],
) -> Sequence[Record]:
    """Return a note and a slider over the recorded epochs for each run with attention.

    `frames` returns the note and the records of each epoch, from what was recorded and the most
    bytes for all maps; see `fitting`.
    """

    def records(run: ReportedRun) -> list[Record]:
        recorded = recorded_attention(run)
        note, by_epoch = frames(recorded, run.room)
        return [Text(note, "note"), Slider(run.epochs(recorded.epochs), by_epoch)]

    return attention_by_run(runs, records)


def recorded_attention(run: ReportedRun) -> Recorded:
    """Return what the run recorded; raises `RequestError` if the file is missing or damaged."""
    recorded = read_attention(run.run)
    if recorded is None:
        raise RequestError(f"{run.run.path / FILE}: not found.")
    return recorded


def records_by_run(
    runs: Sequence[ReportedRun], records: Callable[[ReportedRun], Sequence[Record]], what: str
) -> Sequence[Record]:
    """Return the `records` of each run, in a tab if there are several.

    If those of a run raise `RequestError`, a warning says that `what` are missing.
    """
    choices: dict[str, Sequence[Record]] = {}
    for run in runs:
        try:
            choices[run.label] = records(run)
        except RequestError as error:
            choices[run.label] = [Text(f"{what} are missing: {error}", "warning")]
    return tabs(choices, named=len(runs) > 1)


def layer_maps(weights: np.ndarray, layer: str = "") -> tuple[list[str], np.ndarray]:
    """Turn weights (L, H, ...) into maps (M, ...) with names: means, and each head of each layer.

    `layer` is the name of the only layer; several are numbered.
    """
    weights, maps = np.nan_to_num(weights), {}
    if len(weights) > 1:
        maps["mean of all layers and heads"] = weights.mean(axis=(0, 1))
    for number, heads in enumerate(weights, 1):
        parts = {"": heads[0]}
        if len(heads) > 1:
            parts = {f"mean of {len(heads)} heads": heads.mean(axis=0)}
            parts |= {f"head {n}": head for n, head in enumerate(heads, 1)}
        name = f"layer {number}" if len(weights) > 1 else layer
        maps |= {", ".join(filter(None, [name, part])): m for part, m in parts.items()}
    return [*maps], np.stack([*maps.values()])


def fitting(frames: Sequence[Sequence[Item]], room: int) -> list[list[Item]]:
    """Shorten epochs until they fit into `room` bytes, one byte per weight.

    First all maps of an item but one are dropped, then items; at least one item remains.
    """
    if sum(item.weights.size for frame in frames for item in frame) > room:
        frames = [[item._replace(weights=item.weights[:1]) for item in frame] for frame in frames]
    columns = zip(*frames, strict=True)
    sizes = np.cumsum([sum(item.weights.size for item in column) for column in columns])
    count = max(int(np.sum(sizes <= room)), 1)
    return [list(frame[:count]) for frame in frames]
