"""How every figure looks, as settings of matplotlib. No pyplot, no global state."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine

from attnlab.views.records import Colour

# Okabe and Ito (2008), without yellow, which is hard to see on white. Colour-blind readers can
# distinguish these colours, and they differ in lightness when printed in grey.
BLACK, LIGHT, SOFT = "#222222", "#9A9A9A", "#444444"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", BLACK, "#56B4E9", "#E69F00")
# After 7 groups the colours repeat with other dashes; markers distinguish groups in grey, too.
DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
COLOUR_MAP = "cividis"
SIGNED_COLOUR_MAP = "RdBu"  # red below 0, white at 0, blue above, as on pages
# Matplotlib's own font, then the fonts with more scripts that operating systems bring.
_FAMILIES = (
    "DejaVu Sans",
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Source Han Sans SC"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Microsoft YaHei", "SimHei", "MS Gothic", "Malgun Gothic", "Segoe UI", "Segoe UI Symbol"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari"),
    *("Noto Sans Thai", "Noto Emoji", "Symbola", "Unifont"),
)
_LONGEST = 48  # characters of a name in a legend above a chart
_lacking: set[str] = set()  # matplotlib's warnings on fonts since the last `font_warning`


@lru_cache(maxsize=1)
def _settings() -> Any:
    installed = {font.name for font in fontManager.ttflist}
    return {
        "font.family": [family for family in _FAMILIES if family in installed],
        "text.parse_math": False,  # names with `$` do not become formulas
        "figure.dpi": 150,
        "savefig.dpi": 150,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlesize": 9,
        "axes.labelsize": 9,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "grid.color": "#E4E4E4",
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "svg.fonttype": "none",  # text remains text
        "svg.hashsalt": "attnlab",  # equal figures have equal bytes
    }


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the style of all figures; a warning on fonts is kept for `font_warning`."""
    with rc_context(_settings()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if "missing from font" in str(warning.message):
            _lacking.add(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def font_warning() -> str | None:
    """Return a sentence if figures since the last call have squares in place of characters."""
    if not _lacking:
        return None
    _lacking.clear()
    return (
        "no installed font has some characters of a figure, which are squares now: install one, "
        "such as Noto Sans CJK for Chinese, Japanese and Korean (apt install fonts-noto-cjk)"
    )


def printable(text: str, most: int) -> str:
    """Return a word as a label: a square for a control character, `…` in a long word's middle."""
    text = unicodedata.normalize("NFC", text)
    text = "".join(sign if sign.isprintable() else "\N{WHITE SQUARE}" for sign in text)
    head = most // 2
    return text if len(text) <= most else f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def colour(number: Colour) -> str:
    """Return a colour by its number; None is that of text, -1 is grey."""
    if number is None:
        return BLACK
    return LIGHT if number < 0 else PALETTE[number % len(PALETTE)]


def dashes(number: Colour) -> Literal["-", "--", ":", "-."]:
    """Return the dashes of a group's curves."""
    return DASHES[max(number or 0, 0) // len(PALETTE) % len(DASHES)]


def marker(number: Colour) -> str:
    """Return the marker of a group's points."""
    return _MARKERS[(number or 0) % len(_MARKERS)]


def colours_of(
    weights: np.ndarray, limits: tuple[float, float] | None = None, signed: bool = False
) -> dict[str, Any]:
    """Return the colours of maps of weights: around 0 if some are below 0 or `signed` says so."""
    most = float(np.nanmax(np.abs(weights), initial=0.0)) or 1.0
    is_signed = signed or (limits is None and np.nanmin(weights, initial=0.0) < 0)
    low, high = limits or (-most if is_signed else 0.0, most)
    return {"cmap": SIGNED_COLOUR_MAP if is_signed else COLOUR_MAP, "vmin": low, "vmax": high}


def new_figure(
    width: float, height: float, title: str, subtitle: str = "", *, compress: bool = False
) -> Figure:
    """Return an empty figure in inches with a title; `compress` closes gaps between square axes."""
    figure = Figure(figsize=(width, height))
    inch = 1 / height
    top = 0.56 if subtitle else 0.34 if title else 0.0
    layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - top * inch), compress=compress)
    figure.set_layout_engine(layout)
    figure.text(0.012, 1 - 0.09 * inch, title, va="top", fontsize=11, fontweight="bold")
    figure.text(0.012, 1 - 0.32 * inch, subtitle, va="top", fontsize=9, color=SOFT)
    return figure


def legend_above(axes: Axes, room: int = 60) -> None:
    """Draw the legend between the title and the axes; a line has `room` characters."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    names = [printable(label, _LONGEST) for label in labels]
    columns = min(max(1, room // (max(map(len, names)) + 7)), len(names))
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.1}
    axes.legend(
        handles, names, ncols=columns, fontsize=8, handlelength=1.8, columnspacing=1.2, **place
    )
    lines = -(-len(names) // columns)
    axes.set_title(axes.get_title("left"), loc="left", pad=8 + 13 * lines)


def same_style() -> Any:
    """Undo changes of matplotlib's settings at the end of the body."""
    return rc_context()
