"""Cells as numbers, and the marks that programs write where a number is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

_MISSING = {
    *("", ".", "..", "...", "?", "-", "--", "---", "–", "—", "*", "none", "null", "(null)", "\\n"),
    *("na", "n/a", "n.a.", "nan", "<na>", "nat", "nil", "missing", "k.a.", "s/d", "n.d.", "nd"),
    *("#n/a", "#na", "#nv", "#n/d", "#value!", "#wert!", "#div/0!", "#ref!", "#bezug!", "#name?"),
    *("#num!", "#zahl!", "#null!", "-nan", "-1.#ind", "1.#qnan", "#¡valor!", "#valor!", "#valeur!"),
}
_GAP_IN_NUMBER = re.compile(r"(?<=\d)[\s'’](?=\d{3}(?!\d))")
_SIGN = re.compile(r"^([+-]?)[$€£¥₹]\s?|\s?[%$€£¥₹]$")  # of a currency or a share
_MARKED_NUMBER = re.compile(r"[+-]?[\d.,]*[.,][\d.,]*(e[+-]?\d+)?", re.IGNORECASE)
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHOLE_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")


def is_missing(cell: str) -> bool:
    """Whether a cell is empty, or a mark of a missing number."""
    return cell.lower() in _MISSING


def decimal_mark(cells: Sequence[str], separator: str) -> str | None:
    """The mark before the decimals of a column of numbers; None if it could be either.

    It is the last mark of a number, unless all numbers may be whole ones with thousands apart, as
    `1.234` between semicolons and `1,234` anywhere.
    """
    bare = dict.fromkeys(_bare(cell) for cell in cells if not is_missing(cell))
    marked = [cell for cell in bare if _MARKED_NUMBER.fullmatch(cell)]
    for cell in marked:
        if not _ONE_GROUP.fullmatch(cell):  # nor one whose thousands spaces part
            last = "," if cell.rfind(",") > cell.rfind(".") else "."
            several = cell.count(last) > 1  # 1.234.567
            return {".": ",", ",": "."}[last] if several else last
    unclear = any("," in cell for cell in marked) or (marked and separator == ";")
    return None if unclear else "."


def to_number(cell: str, decimal: str = ".") -> float:
    """A cell as a number; NaN if it is none.

    A sign of a currency or `%` may be around it. Groups of three digits may have spaces or
    apostrophes between them, points if decimals follow a comma, and commas if decimals follow a
    point.
    """
    if decimal == "." and "_" not in cell:
        with suppress(ValueError):  # most cells need no more
            return float(cell)
    whole, mark, decimals = _bare(cell).partition(decimal)
    first, *groups = whole.split("," if decimal == "." else ".")
    too_long = bool(groups) and len(first.lstrip("+-")) > 3
    if "_" in cell or too_long or any(len(group) != 3 for group in groups):
        return math.nan
    try:
        return float("".join([first, *groups, "." * bool(mark), decimals]))
    except ValueError:
        return math.nan


def numbers_of(cells: Sequence[str]) -> np.ndarray:
    """Cells as numbers, (n,), NaN for others; decimals follow a comma in cells that have one."""
    return np.array([to_number(cell, "," if "," in cell else ".") for cell in cells])


def _bare(cell: str) -> str:
    """A cell without signs of currencies and gaps between digits."""
    if cell.replace(".", "", 1).isdigit():  # most cells
        return cell
    return _GAP_IN_NUMBER.sub("", _SIGN.sub(r"\1", cell.replace("−", "-")))


def is_number(cell: str) -> bool:
    """Whether a cell is a number with either mark before its decimals."""
    return any(not math.isnan(to_number(cell, decimal)) for decimal in ".,")
