"""A page as one HTML file. It works offline, and no text of a run becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from itertools import count, groupby
from typing import Any

import jinja2
from markupsafe import Markup

from attnlab.views.html.moving import moving, spoken
from attnlab.views.png.curves import near_lines
from attnlab.views.png.figure import svg_chart
from attnlab.views.records import Curves, Intervals, Page, Record, Table

_SHORT = 24  # characters up to which a cell among sentences needs no room of its own


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
    environment.globals |= {
        "image": _image,
        "json": _json,
        "kind": lambda record: type(record).__name__,
        "moving": moving,
        "side_by_side": _side_by_side,
        "sides_of": lambda table: [_side(n, table) for n in range(len(table.header))],
        "spoken": spoken,
        "too_far": _too_far,
    }
    return environment.from_string(_file("page.html"))


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


def _too_far(record: Record) -> str:
    """Return the lines of a chart that are not drawn, as text."""
    if not isinstance(record, Intervals):
        return ""
    near = near_lines(record)
    return ", ".join(
        f"{name} {value:.4g}" for name, value in record.lines if (name, value) not in near
    )


def _json(content: Any) -> Markup:
    """Return JSON for the script, in which no text can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup('<script type="application/json">{}</script>').format(Markup(text))
