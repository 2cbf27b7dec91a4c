"""A page as one HTML file. It works offline, and no text of a run becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import count
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from attnlab.views.html.axes import MOST_DIGITS, digits_of, short_number
from attnlab.views.html.moving import moving, spoken
from attnlab.views.html.svg import curves_svg, intervals_image, style_of
from attnlab.views.records import Curves, Intervals, Page, Record, Table
from attnlab.views.scales import near_lines

_DIGITS = 5  # of numbers in readouts
_SHORT = 24  # characters up to which a cell among sentences needs no room of its own


class _Chart(NamedTuple):
    """A drawn chart, and the numbers for its readout."""

    svg: Markup
    data: dict[str, Any] | None


def page_text(page: Page) -> str:
    """Return the page as HTML."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Only this script runs, even if a text of a run should become markup.
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    numbers = count(1)
    return _template().render(
        page=page,
        policy=policy,
        style=Markup(style),
        script=Markup(script),
        number=lambda: next(numbers),
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["tojson_text"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.tests["chart"] = _is_narrow_chart
    environment.globals |= {
        "chart": _chart,
        "intervals_image": intervals_image,
        "json": _json,
        "kind": lambda record: type(record).__name__,
        "moving": moving,
        "side_by_side": lambda records: list(_side_by_side(records)),
        "sides_of": lambda table: [_side(n, table) for n in range(len(table.header))],
        "spoken": spoken,
        "style_of": style_of,
        "too_far": _too_far,
    }
    return environment.from_string(_file("page.html"))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _is_narrow_chart(record: Record) -> bool:
    return isinstance(record, Intervals) or (isinstance(record, Curves) and not record.wide)


def _side_by_side(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Group consecutive narrow charts, which a page shows side by side."""
    charts: list[Record] = []
    for record in records:
        if _is_narrow_chart(record):
            charts.append(record)
            continue
        if charts:
            yield charts
        charts = []
        yield [record]
    if charts:
        yield charts


def _side(number: int, table: Table) -> str:
    """Return the classes of a table's column."""
    if number >= table.words:
        return "number"
    longest = max((len(str(row[number])) for row in table.rows), default=0)
    return "word short" if table.prose and longest <= _SHORT else "word"


def _chart(record: Curves) -> _Chart:
    drawing, x = curves_svg(record)
    if record.has_points:
        return _Chart(drawing, None)
    digits = digits_of((value for curve in record.curves for value in curve.y), _DIGITS)
    data = {
        "x": [short_number(value, MOST_DIGITS) for value in record.x],
        "names": list(record.names),
        "axis": [x.low, x.high, x.start, x.end],
        "label": record.x_label,
        "curves": [
            {"label": curve.label, "y": [short_number(value, digits) for value in curve.y]}
            for curve in record.curves
        ],
        "digits": digits - 1,
    }
    return _Chart(drawing, data)


def _too_far(record: Intervals) -> str:
    """Return the lines that are not drawn, as text."""
    return ", ".join(f"{name} {value:.4g}" for name, value in near_lines(record)[1])


def _json(content: Any) -> Markup:
    """Return JSON for the script, in which no text can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup('<script type="application/json">{}</script>').format(Markup(text))
