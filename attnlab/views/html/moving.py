"""What a slider changes: the records of all epochs, as the page's script needs them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.image import imsave

from attnlab.views.records import (
    AttentionMap,
    AttentionMaps,
    Epochs,
    ImageMap,
    ImageMaps,
    Maps,
    ShadedText,
    ShadedWords,
    Slider,
    Strips,
)


def spoken(epochs: Epochs) -> list[str]:
    """Return the text next to the slider at each epoch."""
    return [
        f"epoch {number} of {epochs.numbers[-1]}{f' · {note}' if note else ''}"
        for number, note in zip(epochs.numbers, epochs.notes, strict=True)
    ]


def moving(slider: Slider) -> Iterator[dict[str, Any]]:
    """Yield the parts below a slider, with what the template and the script need of each."""
    for records in zip(*slider.frames, strict=True):
        first: Any = records[0]
        if isinstance(first, Strips):
            yield _strips(records)
        elif isinstance(first, Maps):
            yield _maps(records)
        elif isinstance(first, ImageMaps):
            for items in zip(*(record.items for record in records), strict=True):
                yield _image(items, first.maps)
        else:
            yield _sentences(records, slider.epochs.first)


def _strips(records: Sequence[Strips]) -> dict[str, Any]:
    """Return series as lines in a box of 1 by 1; the script draws the weights below them."""
    weights = np.array([[strip.weights for strip in record.strips] for record in records])
    most = largest(weights)
    lines = []
    for strip in records[0].strips:
        values = np.asarray(strip.values, np.float64)
        heights = 0.6 - 0.5 * (values - values.min()) / (np.ptp(values) or 1.0)
        places = (np.arange(len(values)) + 0.5) / len(values)
        line = " ".join(f"{x:.4f},{y:.3f}" for x, y in zip(places, heights, strict=True))
        lines.append({"label": strip.label, "line": line})
    bars = "sizes of weights, which may be below 0" if (weights < 0).any() else "weights"
    note = f"Line: values; bars: {bars}, the highest {most:.3g}. {records[0].x_label}"
    data = {**encoded(weights, most), "steps": weights.shape[2]}
    return {"kind": "strips", "strips": lines, "note": note, "data": data}


def _maps(records: Sequence[Maps]) -> dict[str, Any]:
    first, weights = records[0], np.array([record.weights for record in records])
    up, down = first.y.ends
    most = largest(weights)
    note = (
        f"Columns: {first.x.label}. Rows: {first.y.label}, above {up}, below {down}. "
        f"The strongest colour is a weight of {most:.3g}"
    )
    note += f" or -{most:.3g}, which is red." if (weights < 0).any() else "."
    return _canvases(first.names, weights, first.x.ends, note)


def _canvases(
    names: Sequence[str], weights: np.ndarray, ends: tuple[str, str], note: str
) -> dict[str, Any]:
    """Return maps (epochs, maps, rows, columns) next to each other."""
    rows, columns = weights.shape[2:]
    data = {**encoded(weights, largest(weights)), "rows": rows, "columns": columns}
    shown = {"names": names, "ends": ends, "note": note, "image": ""}
    return {"kind": "maps", **shown, "data": data}


def _image(items: Sequence[ImageMap], maps: Sequence[str]) -> dict[str, Any]:
    """Return an image, and the maps of all epochs, each relative to its largest weight."""
    first, file = items[0], BytesIO()
    imsave(file, first.pixels.squeeze(), format="png", cmap="gray", vmin=0, vmax=255)
    weights = np.nan_to_num(np.array([item.weights for item in items], np.float64))
    weights = weights / np.maximum(np.abs(weights).max(axis=(2, 3), keepdims=True), 1e-12)
    title = first.said if first.is_right else f"{first.label}, taken for {first.said}"
    note = f"An image of {title}. The strongest colour of a map is its largest weight."
    image = base64.b64encode(file.getvalue()).decode()
    return {**_canvases(maps, weights, ("left", "right"), note), "image": image}


def _sentences(
    records: Sequence[AttentionMaps] | Sequence[ShadedWords], first: int
) -> dict[str, Any]:
    shaded = isinstance(records[0], ShadedWords)
    items = zip(*(record.items for record in records), strict=True)
    sentences = [
        _sentence([_as_map_of_words(item) for item in epochs], first, shaded) for epochs in items
    ]
    return {
        "kind": "sentences",
        "maps": records[0].maps,
        "names": records[0].names,
        "shaded": shaded,
        "has_unknown": any(sentence["has_unknown"] for sentence in sentences),
        "sentences": sentences,
    }


def _as_map_of_words(item: AttentionMap | ShadedText) -> AttentionMap:
    """Return a shaded text as a map of one row: the model's output looks at the words."""
    if isinstance(item, AttentionMap):
        return item
    return AttentionMap(
        [item.said],
        item.words,
        np.asarray(item.weights)[:, None],
        reference=[] if item.label is None else [item.label],
        column_notes=item.notes,
    )


def _sentence(items: Sequence[AttentionMap], first: int, shaded: bool) -> dict[str, Any]:
    """Return a text at all epochs."""
    whole = items[0]

    def have_notes(notes: Mapping[str, str], words: Sequence[str]) -> bool:
        return not notes.keys().isdisjoint(words)

    has_unknown = any(have_notes(item.row_notes, item.rows) for item in items)
    return {
        "source": whole.columns,
        "reference": whole.reference,
        "first": items[first].rows,
        "notes": whole.column_notes,
        "row_notes": whole.row_notes,
        "has_unknown": has_unknown or have_notes(whole.column_notes, whole.columns),
        "data": {
            "source": list(whole.columns),
            "reference": list(whole.reference),
            "links": [list(link) for link in whole.reference_links],
            "frames": [_frame(item, shaded) for item in items],
            "unknown": dict(whole.row_notes),
        },
    }


def _frame(item: AttentionMap, shaded: bool) -> dict[str, Any]:
    """Return the rows at an epoch; with the largest weight of each map if texts are shaded."""
    tokens, weights = list(item.rows), np.nan_to_num(item.weights)
    if not shaded:
        scale = max(1.0, largest(weights))
        data = {"tokens": tokens, **encoded(weights, scale)}
        return {**data, "scale": scale} if scale > 1 else data
    most = np.abs(weights).max(axis=(1, 2), initial=0.0)
    scaled = weights / np.where(most > 0, most, 1.0)[:, None, None]
    numbers = [float(f"{value:.5g}") for value in most]
    return {"tokens": tokens, **encoded(scaled, 1.0), "most": numbers}


def largest(weights: np.ndarray) -> float:
    """Return the largest size of a weight."""
    return float(np.abs(weights).max(initial=0.0))


def encoded(weights: np.ndarray, most: float) -> dict[str, Any]:
    """Encode weights as a byte each, in base64: 255 steps up to the largest one.

    If there are weights below 0, in 127 steps up and down, and `signed` says so.
    """
    finite = np.nan_to_num(np.asarray(weights, np.float64), nan=0.0, posinf=most, neginf=-most)
    signed = bool((finite < 0).any())
    steps = np.round((127 if signed else 255) * np.clip(finite / (most or 1.0), -1, 1))
    steps = steps.astype(np.int8 if signed else np.uint8)
    data: dict[str, Any] = {"weights": base64.b64encode(steps.tobytes()).decode()}
    return {**data, "signed": True} if signed else data
