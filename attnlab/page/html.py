"""A page as one file of HTML: nothing in it is fetched, and no text of a run becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import count
from typing import Any

import numpy as np

from attnlab.page.parts import (
    Chart,
    Code,
    Course,
    Curve,
    Intervals,
    Maps,
    Page,
    Part,
    Section,
    Sentence,
    Sentences,
    Slider,
    Strips,
    Table,
    Tabs,
    Text,
    Written,
)
from attnlab.page.scales import digits_of
from attnlab.page.svg import (
    chart_svg,
    intervals_svg,
    near_lines,
    strip_svg,
    style_of,
    tag,
)

_UNKNOWN = "Wavy: a word that the model doesn't know. Point at it for the nearest known word."
_DIGITS = 5  # of numbers in readouts
_SHORT = 24  # characters up to which a cell beside sentences needs no room of its own


def page_text(page: Page) -> str:
    """The page as HTML."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Only this script runs, whatever else should stand in the page.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    writer = _Writer()
    main = [_header(page), _contents(page.sections)]
    main += [writer.section(number, each) for number, each in enumerate(page.sections, 1)]
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<title>{escape(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            f"<main>{''.join(main)}</main>\n<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _header(page: Page) -> str:
    texts = [text.replace(" %", "\N{NO-BREAK SPACE}%") for text in page.result]
    results = "".join(tag("p", escape(text), class_="result") for text in texts)
    made = f"made {tag('time', escape(page.made))}; {escape(page.about)}"
    title = tag("h1", escape(page.title))
    return tag("header", f"{title}{results}{tag('p', made, class_='made')}")


def _contents(sections: Sequence[Section]) -> str:
    links = [
        tag("a", escape(section.title), href=f"#part-{number}")
        for number, section in enumerate(sections, 1)
    ]
    return tag("nav", "".join(links), aria_label="parts of this page")


class _Writer:
    """Writes parts; those that need one get a number of their own."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._place = 0  # of the epoch that the slider around a part begins at
        self._ways: dict[type, Callable[[Any], str]] = {
            Text: _text,
            Code: _code,
            Table: _table,
            Chart: _chart,
            Intervals: _intervals,
            Strips: lambda part: _strips(part, self._place),
            Course: _course,
            Maps: _maps,
            Sentences: self._sentences,
            Slider: self._slider,
            Tabs: self._tabs,
        }

    def section(self, number: int, section: Section) -> str:
        """A section, folded ones as something that opens."""
        title, parts = escape(section.title), self._parts(section.parts)
        if section.folded:
            inner = tag("details", tag("summary", tag("h2", title)) + parts)
        else:
            inner = tag("h2", title) + parts
        return tag("section", inner, id=f"part-{number}")

    def _parts(self, parts: Iterable[Part]) -> str:
        """Parts one after the other; charts that are no wide ones stand side by side."""
        written, beside = [], []
        for part in parts:
            text = self._ways[type(part)](part)
            if isinstance(part, Chart | Intervals) and not getattr(part, "wide", False):
                beside.append(text)
                continue
            written += [*_side_by_side(beside), text]
            beside = []
        return "".join([*written, *_side_by_side(beside)])

    def _tabs(self, tabs: Tabs) -> str:
        name = f"tabs-{next(self._numbers)}"
        buttons, panels = [], []
        for number, (label, parts) in enumerate(tabs.choices.items()):
            chosen = number == 0
            ids = {"id": f"{name}-tab-{number}", "aria_controls": f"{name}-{number}"}
            state = {"aria_selected": str(chosen).lower(), "tabindex": 0 if chosen else -1}
            buttons.append(tag("button", escape(label), type="button", role="tab", **ids, **state))
            panel = {"id": f"{name}-{number}", "aria_labelledby": f"{name}-tab-{number}"}
            title = tag("p", escape(label), class_="tabname")
            panels.append(tag("div", title + self._parts(parts), role="tabpanel", class_="panel",
                              **panel))  # fmt: skip
        several = tag("div", "".join(buttons), role="tablist", aria_label=tabs.label)
        return tag("div", several + "".join(panels), class_="tabs")

    def _slider(self, slider: Slider) -> str:
        self._place = slider.frames.first
        frames, name = slider.frames, f"epoch-{next(self._numbers)}"
        said = [
            f"epoch {epoch} of {frames.epochs[-1]}{f' · {note}' if note else ''}"
            for epoch, note in zip(frames.epochs, frames.notes, strict=True)
        ]
        last = len(said) - 1
        moved = f'<input type="range" id="{name}" min="0" max="{last}" step="1" ' + (
            f'value="{frames.first}" aria-valuetext="{escape(said[frames.first])}">'
        )
        play = tag("button", "▶", type="button", class_="play", aria_label="play the epochs")
        label = tag("label", "epoch", for_=name)
        output = tag("output", escape(said[frames.first]), for_=name)
        control = tag("div", play + label + moved + output, class_="control")
        data = {"data_said": json.dumps(said, ensure_ascii=False)}
        alone = " alone" if last == 0 else ""
        return tag("div", control + self._parts(slider.parts), class_=f"slider{alone}", **data)

    def _sentences(self, part: Sentences) -> str:
        choice = ""
        if len(part.maps) > 1:
            name = f"maps-{next(self._numbers)}"
            options = "".join(
                tag("option", escape(each), value=number) for number, each in enumerate(part.maps)
            )
            choice = tag("label", "weights: ", for_=name) + tag("select", options, id=name)
            choice = tag("p", choice, class_="choice")
        cards = "".join(_sentence(each, self._place, part) for each in part.sentences)
        note = tag("p", _UNKNOWN, class_="note") if _has_unknown(part) else ""
        return tag("div", choice + note + cards, class_="sentences")


def _side_by_side(charts: Sequence[str]) -> list[str]:
    return [tag("div", "".join(charts), class_="beside")] if charts else []


def _text(part: Text) -> str:
    return tag("p", escape(part.text), class_=part.style or None)


def _code(part: Code) -> str:
    title = tag("p", escape(part.title), class_="caption")
    return title + tag("pre", escape(part.text), tabindex=0)


def _table(table: Table) -> str:
    mark = tag("span", "", class_="arrow", aria_hidden="true")
    sides = [_side(number, table) for number in range(len(table.header))]
    heads = [
        tag("th", tag("button", escape(name) + mark, type="button"), scope="col", class_=side)
        for name, side in zip(table.header, sides, strict=True)
    ]
    rows = []
    for place, row in enumerate(table.rows):
        cells = [
            tag("td", escape(str(cell)), class_=side) for cell, side in zip(row, sides, strict=True)
        ]
        rows.append(tag("tr", "".join(cells), class_="muted" if place in table.muted else None))
    caption = tag("p", escape(table.title), class_="caption") if table.title else ""
    head, body = tag("thead", tag("tr", "".join(heads))), tag("tbody", "".join(rows))
    look = "prose" if table.prose else None
    label = {"role": "region", "aria_label": table.title or "table"}
    return caption + tag("div", tag("table", head + body, class_=look), class_="scroll", **label)


def _side(number: int, table: Table) -> str:
    if number >= table.words:
        return "number"
    longest = max((len(str(row[number])) for row in table.rows), default=0)
    return "word short" if table.prose and longest <= _SHORT else "word"


def _chart(chart: Chart) -> str:
    drawing, x = chart_svg(chart)
    digits = digits_of((value for curve in chart.curves for value in curve.y), _DIGITS)
    data = {
        "x": [_digits(value) for value in chart.x],
        "names": list(chart.names),
        "axis": [x.low, x.high, x.start, x.end],
        "label": chart.x_label,
        "curves": [
            {"label": curve.label, "y": [_digits(value, digits) for value in curve.y]}
            for curve in chart.curves
        ],
        "digits": digits - 1,
    }
    dots = chart.curves[0].dots
    legend = [_key(curve, n) for n, curve in enumerate(chart.curves)]
    keys = tag("div", "".join(legend), class_="legend", role="group", aria_label="curves")
    readout = "" if dots else tag("p", "", class_="readout", aria_live="polite")
    title = tag("figcaption", escape(chart.title))
    scroll = tag("div", drawing, class_="canvas")
    return tag(
        "figure",
        f"{title}{keys}{scroll}{readout}{'' if dots else _data(data)}",
        class_="chart wide" if chart.wide else "chart",
    )


def _key(curve: Curve, number: int) -> str:
    """A curve's name, which shows and hides it."""
    sample = '<svg viewBox="0 0 26 8" aria-hidden="true"><path class="line" d="M1 4H25"/></svg>'
    state = {"aria_pressed": str(curve.shown).lower(), "data_curve": number}
    style = f"key {style_of(curve.colour)}"
    return tag("button", sample + escape(curve.label), type="button", class_=style, **state)


def _intervals(chart: Intervals) -> str:
    left_out = near_lines(chart)[1]
    names = ", ".join(f"{name} {value:.4g}" for name, value in left_out)
    note = tag("p", escape(f"Too far away to be drawn: {names}."), class_="note") if names else ""
    title = tag("figcaption", escape(chart.title))
    return tag("figure", title + intervals_svg(chart) + note, class_="chart")


def _strips(part: Strips, place: int) -> str:
    most = float(part.weights.max(initial=0.0))
    figures = []
    for number, strip in enumerate(part.strips):
        drawing = strip_svg(strip, part.weights[place, number], most)
        name = tag("figcaption", escape(strip.label))
        figures.append(tag("figure", name + drawing, class_="strip"))
    data = _data({"weights": _bytes(part.weights, most), "steps": part.weights.shape[2]})
    note = f"Line: values; bars: weights, the highest {most:.3g}. {part.x_label}"
    small = tag("div", "".join(figures), class_="small")
    return tag("div", small + data + tag("p", escape(note), class_="note"), class_="strips")


def _course(part: Course) -> str:
    most = float(part.weights.max(initial=0.0))
    data = {
        "weights": _bytes(part.weights, most),
        "rows": part.weights.shape[0],
        "columns": part.weights.shape[1],
        "most": most,
        "names": list(part.row_names),
    }
    canvas = tag("canvas", "", role="img", aria_label=part.title)
    mark = tag("span", "", class_="mark", aria_hidden="true")
    ends = tag("p", "".join(tag("span", escape(end)) for end in part.ends), class_="ends")
    title = tag("figcaption", escape(part.title))
    label = tag("p", escape(part.x_label), class_="axis")
    held = tag("div", canvas + mark, class_="held")
    return tag("figure", title + held + ends + label + _data(data), class_="course")


def _maps(part: Maps) -> str:
    most = float(part.weights.max(initial=0.0))
    _, _, rows, columns = part.weights.shape
    figures = []
    for name in part.names:
        canvas = tag("canvas", "", role="img", aria_label=f"weights of {name}")
        ends = tag("p", "".join(tag("span", escape(end)) for end in part.x_ends), class_="ends")
        figures.append(tag("figure", tag("figcaption", escape(name)) + canvas + ends))
    data = {"weights": _bytes(part.weights, most), "rows": rows, "columns": columns, "most": most}
    small = tag("div", "".join(figures), class_="small")
    up, down = part.y_ends
    note = (
        f"Columns: {part.x_label}. Rows: {part.y_label}, above {up}, below {down}. "
        f"The strongest colour is a weight of {most:.3g}."
    )
    return tag("div", small + _data(data) + tag("p", escape(note), class_="note"), class_="maps")


def _has_unknown(part: Sentences) -> bool:
    return any(
        not each.unknown.keys().isdisjoint(each.source)
        or any(not each.unknown_written.keys().isdisjoint(own.tokens) for own in each.written)
        for each in part.sentences
    )


def _sentence(sentence: Sentence, place: int, part: Sentences) -> str:
    data = {
        "source": list(sentence.source),
        "reference": list(sentence.reference),
        "links": [list(link) for link in sentence.links],
        "frames": [_frame(each, part.shaded) for each in sentence.written],
        "unknown": dict(sentence.unknown_written),
    }
    notes = {"source": sentence.unknown, "translation": sentence.unknown_written}
    rows = {
        "source": sentence.source,
        "reference": sentence.reference,
        "translation": sentence.written[place].tokens,
    }
    lines = "".join(
        tag("dt", escape(name)) + tag("dd", _words(words, notes.get(row, {})), class_=row)
        for name, (row, words) in zip(part.names, rows.items(), strict=True)
    )
    readout = tag("p", "", class_="readout", aria_live="polite")
    cells = f"{len(sentence.source)} {part.names[0]} words by those of the {part.names[2]}"
    canvas = tag("canvas", "", role="img", aria_label=f"weights, {cells}")
    whole = tag("dl", lines) + canvas + readout + _data(data)
    return tag("article", whole, class_="sentence shaded" if part.shaded else "sentence")


def _frame(written: Written, shaded: bool) -> dict[str, Any]:
    """What was written at an epoch; with the largest weight of each map where those are shaded."""
    tokens, weights = list(written.tokens), np.nan_to_num(written.weights)
    if not shaded:
        return {"tokens": tokens, "weights": _bytes(weights, 1.0)}
    most = weights.max(axis=(1, 2), initial=0.0)
    scaled = weights / np.where(most > 0, most, 1.0)[:, None, None]
    return {"tokens": tokens, "weights": _bytes(scaled, 1.0), "most": [*map(_digits, most)]}


def _words(tokens: Sequence[str], notes: Mapping[str, str]) -> str:
    """Words, and a note under the pointer on those that the model doesn't know."""
    return " ".join(
        tag("span", escape(token), class_="word unknown", title=notes[token])
        if token in notes
        else tag("span", escape(token), class_="word")
        for token in tokens
    )


def _data(content: Any) -> str:
    """JSON for the script, in which no text can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json">{text}</script>'


def _bytes(weights: np.ndarray, most: float) -> str:
    """Weights in 255 steps up to the largest one, a byte each, in base64."""
    finite = np.nan_to_num(np.asarray(weights, np.float64), nan=0.0, posinf=most, neginf=0.0)
    steps = np.round(255 * np.clip(finite / (most or 1.0), 0, 1)).astype(np.uint8)
    return base64.b64encode(steps.tobytes()).decode()


def _digits(value: float | None, digits: int = _DIGITS) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
