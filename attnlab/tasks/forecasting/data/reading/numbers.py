"""Read cells as numbers, and recognize the marks that programs write for missing numbers."""

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
_SIGN = re.compile(r"^([+-]?)[$€£¥₹]\s?|\s?[%$€£¥₹]$")  # of a currency or a percentage
_MARKED_NUMBER = re.compile(r"[+-]?[\d.,]*[.,][\d.,]*(e[+-]?\d+)?", re.IGNORECASE)
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
WHOLE_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or a mark of a missing number."""
    return cell.lower() in _MISSING


def decimal_mark(cells: Sequence[str], separator: str) -> str | None:
    """Return the decimal separator of a column of numbers; None if it could be either mark.

    It is the last mark of a number such as `1.5` or `1.234,5`. It is unclear if all marks may
    separate thousands: `1,234` in any file, `1.234` in a file with semicolons.
    """
    bare = dict.fromkeys(_bare(cell) for cell in cells if not is_missing(cell))
    marked = [cell for cell in bare if _MARKED_NUMBER.fullmatch(cell)]
    for cell in marked:
        if not _ONE_GROUP.fullmatch(cell):
            last = "," if cell.rfind(",") > cell.rfind(".") else "."
            several = cell.count(last) > 1  # 1.234.567
            return {".": ",", ",": "."}[last] if several else last
    unclear = any("," in cell for cell in marked) or (marked and separator == ";")
    return None if unclear else "."


def to_number(cell: str, decimal: str = ".") -> float:
    """Return a cell as a number; NaN if it is not a number.

    Currency signs and `%` are ignored. Spaces or apostrophes may separate thousands; so may points
    if `decimal` is a comma, and commas if it is a point.
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
    """Return cells as numbers, (n,), or NaN; a comma in a cell is its decimal separator."""
    return np.array([to_number(cell, "," if "," in cell else ".") for cell in cells])


def _bare(cell: str) -> str:
    """Remove currency signs, `%`, and spaces or apostrophes between digits."""
    if cell.replace(".", "", 1).isdigit():  # most cells
        return cell
    return _GAP_IN_NUMBER.sub("", _SIGN.sub(r"\1", cell.replace("−", "-")))


def is_number(cell: str) -> bool:
    """Return whether a cell is a number with a point or a comma as decimal separator."""
    return any(not math.isnan(to_number(cell, decimal)) for decimal in ".,")
