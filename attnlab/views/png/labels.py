"""Labels in any script. A character that no installed font has becomes a square."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties

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
_NO_GLYPH = "\N{WHITE SQUARE}"
_missing: set[str] = set()  # characters drawn as squares since the last `font_warning`


@lru_cache(maxsize=1)
def _glyphs() -> dict[str, frozenset[int]]:
    """Return the code points of each installed family of `_FAMILIES`, in its order."""
    files = {entry.name: entry.fname for entry in reversed(font_manager.fontManager.ttflist)}
    for entry in font_manager.fontManager.ttflist:
        if entry.style == "normal" and entry.weight == 400:
            files[entry.name] = entry.fname
    known = {family: files[family] for family in _FAMILIES if family in files}
    return {
        name: frozenset(font_manager.get_font(path).get_charmap()) for name, path in known.items()
    }


def label_font(size: float) -> FontProperties:
    """Return the fonts that labels are drawn with, at a size in points."""
    return FontProperties(family=list(_glyphs()), size=size)


def drawable(text: str, most: int | None = None) -> str:
    """Make a text drawable: squares for missing characters; beyond `most`, cut in the middle."""
    drawn = "".join(_drawn(character) for character in unicodedata.normalize("NFC", text))
    if most is not None and len(drawn) > most:
        head = most // 2
        drawn = f"{drawn[:head]}…{drawn[len(drawn) - (most - 1 - head) :]}"
    return drawn


def _drawn(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf" or (kind == "Mn" and not _has(character)):
        return ""  # joiners and variation selectors: nothing to see by themselves
    if character.isprintable() and _has(character):
        return character
    if character.isprintable():
        _missing.add(character)
    return _NO_GLYPH


def font_warning() -> str | None:
    """Return a sentence if figures since the last call have squares in place of characters."""
    if not _missing:
        return None
    _missing.clear()
    return (
        "no installed font has some characters of a figure, which are squares now: install one, "
        "such as Noto Sans CJK for Chinese, Japanese and Korean (apt install fonts-noto-cjk)"
    )


def _has(character: str) -> bool:
    return any(ord(character) in glyphs for glyphs in _glyphs().values())


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width in inches of the widest of some labels of a size in points."""
    renderer, font = RendererAgg(1, 1, 72), label_font(size)
    widths = (renderer.get_text_width_height_descent(text, font, False)[0] for text in texts)
    return max(widths, default=0.0) / 72
