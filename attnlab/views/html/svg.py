"""Charts as SVG, which a reader sees even without JavaScript."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from io import BytesIO

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from attnlab.views.html.axes import Scale, is_known, scale, time_ticks
from attnlab.views.png.intervals import draw_intervals
from attnlab.views.png.style import without_formulas
from attnlab.views.records import Curve, Curves, Intervals, Strip, Values
from attnlab.views.scales import look, values_of_curves

_WIDTH, _WIDE, _HEIGHT, _WIDE_HEIGHT = 420, 1080, 264, 300
_TOP, _RIGHT, _BOTTOM = 14, 16, 48
_CHARACTER = 7.6  # pixels
_INTERVALS_WIDTH, _ROW = 4.4, 0.46  # inches of an interval chart, and of a group in it
STRIP = (300, 92)  # pixels of a strip
_STRIP_TOP = 8


def tag(name: str, content: str = "", **attributes: object) -> str:
    """Return an element; attributes are escaped, `_` in their names is `-`, None leaves one out."""
    known = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{known}>{content}</{name}>"


def style_of(colour: int | None) -> str:
    """Return the classes of a curve's colour and dashes; None is the colour of text, -1 is grey."""
    if colour is None or colour < 0:
        return "ink" if colour is None else "grey"
    return "c{} d{}".format(*look(colour))


def curves_svg(chart: Curves) -> tuple[Markup, Scale]:
    """Draw a chart; returns the SVG and its x axis, which the readout needs."""
    width, height = (_WIDE, _WIDE_HEIGHT) if chart.wide else (_WIDTH, _HEIGHT)
    bottom = height - _BOTTOM
    values = [*values_of_curves(chart.curves), *(chart.y_limits or ())]
    y = scale(values, bottom, _TOP, chart.logarithmic)
    upright = y.ticks(44)
    left = 26 + _CHARACTER * max(len(text) for _, text in upright)
    x = _along(chart, left, width - _RIGHT)
    across = _ticks_below(chart, x)
    parts = [
        *_grid_lines(upright, y, left, width - _RIGHT),
        *(_tick_below(x.at(value), text, bottom) for value, text in across),
        tag("text", escape(chart.x_label), x=_n((left + width) / 2), y=height - 6, class_="mid"),
        tag("text", escape(chart.y_label), transform=f"translate(12 {(bottom) / 2:g}) "
            "rotate(-90)", class_="mid"),
        *(_drawn(curve, number, chart.x, x, y) for number, curve in enumerate(chart.curves)),
        tag("line", class_="cursor", y1=_TOP, y2=bottom, x1=-9, x2=-9),
    ]  # fmt: skip
    label = f"{chart.title}: {chart.y_label} by {chart.x_label}"
    size = {"viewBox": f"0 0 {width} {height}", "role": "img", "aria_label": label}
    return Markup(tag("svg", "".join(parts), **size, tabindex=0)), x


def intervals_image(chart: Intervals) -> Markup:
    """Draw means and intervals with matplotlib: an image of its own, whose text is no markup."""
    height = 0.8 + _ROW * max(2, len(chart.rows)) + 0.14 * len(chart.lines)
    figure = Figure(figsize=(_INTERVALS_WIDTH, height), layout="constrained")
    draw_intervals(figure.add_subplot(), replace(chart, title=""))
    file = BytesIO()
    with rc_context({"svg.hashsalt": "attnlab"}):  # equal charts have equal bytes
        without_formulas(figure).savefig(file, format="svg", metadata={"Date": None})
    source = f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"
    return Markup('<img alt="{}: {}" src="{}">').format(chart.title, chart.label, source)


def strip_svg(strip: Strip, weights: np.ndarray, most: float) -> Markup:
    """Draw values as a line above the sizes of their weights (S,) as bars, `most` the highest."""
    width, height = STRIP
    step = width / len(strip.values)
    y = scale(strip.values, height * 0.62, _STRIP_TOP)
    line = " ".join(
        f"{(n + 0.5) * step:.1f},{y.at(value):.1f}" for n, value in enumerate(strip.values)
    )
    bars = tag("path", d=bars_path(weights, most), class_="bars", stroke_width=_n(0.78 * step))
    line = tag("polyline", points=line, class_="line ink")
    label = f"{strip.label}: values, and the weight of each"
    whole = f"0 0 {width} {height}"
    return Markup(tag("svg", bars + line, viewBox=whole, role="img", aria_label=label))


def bars_path(weights: Sequence[float] | np.ndarray, most: float) -> str:
    """Return the SVG path of a strip's bars; page.js draws the same path."""
    width, height = STRIP
    step = width / len(weights)
    tops = [height - 0.62 * height * abs(float(weight)) / (most or 1.0) for weight in weights]
    return "".join(f"M{(n + 0.5) * step:.1f} {height}V{top:.1f}" for n, top in enumerate(tops))


def _ticks_below(chart: Curves, x: Scale) -> list[tuple[float, str]]:
    if chart.names:
        return [(chart.x[int(place)], text) for place, text in time_ticks(chart.names)]
    ticks, first, last = x.ticks(70), min(chart.x), max(chart.x)
    if chart.has_points:
        return ticks
    return [each for each in ticks if first <= each[0] <= last and each[0] == int(each[0])]


def _along(chart: Curves, left: float, right: float) -> Scale:
    if chart.has_points:
        return scale(chart.x, left, right)
    low, high = min(chart.x), max(chart.x)
    room = 0.0 if high > low else 1.0
    return Scale(low - room, high + room, left, right)


def _grid_lines(
    ticks: Iterable[tuple[float, str]], y: Scale, left: float, right: float
) -> Iterator[str]:
    for value, text in ticks:
        place = _n(y.at(value))
        yield tag("line", x1=_n(left), x2=_n(right), y1=place, y2=place, class_="grid")
        yield tag("text", text, x=_n(left - 7), y=_n(y.at(value) + 4), class_="end")


def _tick_below(place: float, text: str, bottom: float) -> str:
    line = tag("line", x1=_n(place), x2=_n(place), y1=_n(bottom), y2=_n(bottom + 4), class_="grid")
    return line + tag("text", escape(text), x=_n(place), y=_n(bottom + 19), class_="mid")


def _drawn(curve: Curve, number: int, xs: Sequence[float] | np.ndarray, x: Scale, y: Scale) -> str:
    hidden = "" if curve.shown else " off"
    name = {"class_": f"curve {style_of(curve.colour)}{hidden}", "data_curve": number}
    if curve.form == "dots":
        pairs = zip(xs, curve.y, strict=True)
        points = [(x.at(a), y.at(b)) for a, b in pairs if is_known(b)]
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points)
        return tag("g", tag("path", d=path, class_="dots"), **name)
    band = ""
    if curve.low is not None and curve.high is not None:
        band = "".join(_bands(xs, curve.low, curve.high, x, y))
    runs = list(_runs(xs, curve.y))
    path = "".join(_line([(x.at(a), y.at(b)) for a, b in run]) for run in runs)
    alone = [run[0] for run in runs if len(run) == 1]
    dots = "".join(tag("circle", cx=_n(x.at(a)), cy=_n(y.at(b)), r=3) for a, b in alone)
    return tag("g", f"{band}{tag('path', d=path, class_='line')}{dots}", **name)


def _bands(
    xs: Sequence[float] | np.ndarray, low: Values, high: Values, x: Scale, y: Scale
) -> Iterator[str]:
    both = [0.0 if is_known(a) and is_known(b) else None for a, b in zip(low, high, strict=True)]
    place = {at: n for n, at in enumerate(xs)}
    for run in _runs(xs, both):
        numbers = [place[at] for at, _ in run]
        there = [(x.at(xs[n]), y.at(high[n] or 0.0)) for n in numbers]
        back = [(x.at(xs[n]), y.at(low[n] or 0.0)) for n in reversed(numbers)]
        yield tag("path", d=f"{_line([*there, *back])}Z", class_="band")


def _runs(xs: Sequence[float] | np.ndarray, ys: Values) -> Iterator[list[tuple[float, float]]]:
    """Split points at unknown values into runs without a gap."""
    run: list[tuple[float, float]] = []
    for x, y in zip(xs, ys, strict=True):
        if is_known(y):
            run.append((x, y))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
