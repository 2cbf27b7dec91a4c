"""Pages as one HTML file each, without a network. No text of a run becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from io import BytesIO
from itertools import count, groupby
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup
from matplotlib.image import imsave

from attnlab.views.png.figure import svg_chart
from attnlab.views.records import (
    AttentionMap,
    AttentionMaps,
    Curves,
    Epochs,
    ImageMap,
    ImageMaps,
    Intervals,
    Maps,
    Page,
    Record,
    ShadedText,
    ShadedWords,
    Slider,
    Strips,
    Table,
)

_SHORT = 24  # characters up to which a cell among sentences needs no room of its own


def page_text(page: Page) -> str:
    """Return the page as HTML."""
    return str(_filled(page=page, **_assets("page")))


def explore_text(info: Mapping[str, Any]) -> str:
    """Return the page of `attnlab explore` about some runs; it asks its server for the rest."""
    assets = _assets("page", "explore")
    assets["policy"] += "; connect-src 'self'"
    return _template("explore.html").render(info=info, **assets)


def fragment_text(records: Sequence[Record], first_number: int) -> str:
    """Return records as HTML to insert into a page; numbers in ids start at `first_number`."""
    return str(_filled(number=partial(next, count(first_number))).parts(records))


def _assets(*names: str) -> dict[str, Any]:
    """Return the style and the script of some files, and the policy of their page."""
    style, script = ("\n".join(_file(f"{name}.{end}") for name in names) for end in ("css", "js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Only this script runs, even if a text of a run should become markup.
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}


def cell_text(records: Sequence[Record]) -> str:
    """Return texts, tables and charts as HTML for a cell of a notebook."""
    return str(_filled().cell(records))


def _filled(**values: Any) -> Any:
    return _template("page.html").make_module({"number": partial(next, count(1)), **values})


@lru_cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.globals |= {
        "image": _image,
        "json": _json,
        "kind": lambda record: type(record).__name__,
        "slider_parts": slider_parts,
        "side_by_side": _side_by_side,
        "sides_of": lambda table: [_side(n, table) for n in range(len(table.header))],
        "epoch_labels": epoch_labels,
    }
    return environment.from_string(_file(name))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _image(record: Curves | Intervals) -> str:
    """Return a chart as the source of an image of its own, whose text is no markup."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg_chart(record)).decode()}"


def _side_by_side(records: Iterable[Record]) -> list[tuple[bool, list[Record]]]:
    """Group consecutive narrow charts, which a page shows side by side."""

    def is_narrow_chart(record: Record) -> bool:
        return isinstance(record, Intervals) or (isinstance(record, Curves) and not record.wide)

    return [(is_chart, list(group)) for is_chart, group in groupby(records, is_narrow_chart)]


def _side(number: int, table: Table) -> str:
    """Return the classes of a table's column."""
    if number >= table.words:
        return "number"
    longest = max((len(str(row[number])) for row in table.rows), default=0)
    return "word short" if table.prose and longest <= _SHORT else "word"


def _json(content: Any, name: str = "") -> Markup:
    """Return JSON for the script, in which no text can end the element; `name` is its id."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    id_ = Markup(' id="{}"').format(name) if name else ""
    return Markup('<script type="application/json"{}>{}</script>').format(id_, Markup(text))


# --- what a slider changes: the records of all epochs, as the page's script needs them ---------


def epoch_labels(epochs: Epochs) -> list[str]:
    """Return the text next to the slider at each epoch."""
    return [
        f"epoch {number} of {epochs.numbers[-1]}{f' · {note}' if note else ''}"
        for number, note in zip(epochs.numbers, epochs.notes, strict=True)
    ]


def slider_parts(slider: Slider) -> Iterator[dict[str, Any]]:
    """Yield the parts below a slider, with what the template and the script need of each."""
    for records in zip(*slider.frames, strict=True):
        first: Any = records[0]
        if isinstance(first, Strips):
            yield _strips(records)
        elif isinstance(first, Maps):
            yield _maps(records)
        elif isinstance(first, ImageMaps):
            for items in zip(*(record.items for record in records), strict=True):
                yield _moving_image(items, first.maps)
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
    note = f"Line: values; bars: {bars}, the highest {most:.3g}."
    data = {**encode_weights(weights, most), "steps": weights.shape[2]}
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
    data = {**encode_weights(weights, largest(weights)), "rows": rows, "columns": columns}
    shown = {"names": names, "ends": ends, "note": note, "image": ""}
    return {"kind": "maps", **shown, "data": data}


def _moving_image(items: Sequence[ImageMap], maps: Sequence[str]) -> dict[str, Any]:
    """Return an image, and the maps of all epochs, each relative to its largest weight."""
    first, file = items[0], BytesIO()
    imsave(file, first.pixels.squeeze(), format="png", cmap="gray", vmin=0, vmax=255)
    weights = np.nan_to_num(np.array([item.weights for item in items], np.float64))
    weights = weights / np.maximum(np.abs(weights).max(axis=(2, 3), keepdims=True), 1e-12)
    title = first.said if first.is_right else f"{first.label}, classified as {first.said}"
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
        "maps": records[0].maps[: len(records[0].items[0].weights)],
        "names": records[0].names,
        "shaded": shaded,
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
    return {
        "first": items[first].rows,
        "notes": whole.column_notes,
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
        data = {"tokens": tokens, **encode_weights(weights, scale)}
        return {**data, "scale": scale} if scale > 1 else data
    most = np.abs(weights).max(axis=(1, 2), initial=0.0)
    scaled = weights / np.where(most > 0, most, 1.0)[:, None, None]
    numbers = [float(f"{value:.5g}") for value in most]
    return {"tokens": tokens, **encode_weights(scaled, 1.0), "most": numbers}


def largest(weights: np.ndarray) -> float:
    """Return the largest size of a weight."""
    return float(np.abs(weights).max(initial=0.0))


def encode_weights(weights: np.ndarray, most: float) -> dict[str, Any]:
    """Encode weights as a byte each, in base64: 255 steps up to the largest one.

    If there are weights below 0, in 127 steps up and down, and `signed` says so.
    """
    finite = np.nan_to_num(np.asarray(weights, np.float64), nan=0.0, posinf=most, neginf=-most)
    signed = bool((finite < 0).any())
    steps = np.round((127 if signed else 255) * np.clip(finite / (most or 1.0), -1, 1))
    steps = steps.astype(np.int8 if signed else np.uint8)
    data: dict[str, Any] = {"weights": base64.b64encode(steps.tobytes()).decode()}
    return {**data, "signed": True} if signed else data
