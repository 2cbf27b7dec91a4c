"""Find the columns of a tab-separated file that contain sentences, by looking at all lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from attnlab.errors import RequestError

_ENDINGS = "txt|wav|mp3|flac|ogg|jpe?g|png|xml|html?|pdf|srt|json|csv"
# The form of all cells in a column that isn't text. Exports of Tatoeba write \N for nothing.
_KINDS = {
    "numbers": re.compile(r"[#+-]?\d+(?:[.,:;]\d+)*(?:[eE][+-]?\d+)? ?%?|\\N|[Nn]a[Nn]"),
    "identifiers": re.compile(r"[A-Za-z]{1,12}[-_:#./]?\d[\d-]*|[0-9a-f-]{16,}|\\N"),
    "names of files": re.compile(rf"[^\s,;]+\.(?:{_ENDINGS})|\\N", re.IGNORECASE),
    "dates": re.compile(
        r"\d{4}-\d\d-\d\d(?:[ T][\d:.]+ ?(?:Z|UTC|[+-]\d\d:?\d\d)?)?"
        r"|\d{1,2}([./-])\d{1,2}\1\d{2}(?:\d\d)?(?: [\d:.]+)?|\\N"
    ),
    "language codes": re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?|\\N"),
    "attributions": re.compile(r"CC[ -]BY.*|CC0.*|Attribution.*|https?://\S+|\\N"),
}
_CODES = "language codes"
TEXT = "text"
_FEW = 3  # lines that are needed to recognise a column
_CONSTANT = 10  # a column with the same value in this many lines isn't text
_MOST_CODES, _LINES_PER_CODE = 50, 10
# Names of columns, in lower case.
_NAMES = frozenset(
    "id sentence sentence1 sentence2 text text1 text2 source src target tgt trg translation input "
    "output lang language source_text target_text source_sentence target_sentence attribution "
    "sentence_id translation_id source_id target_id sentence_source sentence_target".split()
)
# Frequent languages of corpora: code, other codes, names.
_LANGUAGES = tuple(
    line.split()
    for line in """\
en eng english englisch anglais
de deu ger german deutsch allemand
fr fra fre french français französisch
es spa spanish español spanisch
it ita italian italiano italienisch
pt por portuguese português
nl nld dutch nederlands
ru rus russian русский
zh zho cmn chinese 中文 汉语
ja jpn japanese 日本語
ar ara arabic العربية
hi hin hindi हिन्दी
tr tur turkish türkçe
pl pol polish polski
sv swe swedish svenska
cs ces czech čeština
ko kor korean 한국어
vi vie vietnamese
uk ukr ukrainian
ro ron romanian
fi fin finnish suomi
el ell greek
he heb hebrew""".splitlines()
)


class Layout(NamedTuple):
    """The columns of a tab-separated file that contain the sentences."""

    source: int = 0  # column, counted from 0
    target: int = 1
    header: bool = False  # whether the first line contains the names of the columns


class _Column:
    """Collects the cells of a column; `kind` says what they contain."""

    def __init__(self) -> None:
        self._possible = dict(_KINDS)
        self._values: set[str] = set()
        self._lines = 0
        self.example = ""

    def add(self, cell: str) -> None:
        """Add a cell; an empty one is ignored."""
        if not cell:
            return
        self._lines += 1
        self.example = self.example or cell
        if len(self._values) <= _MOST_CODES:
            self._values.add(cell)
        if self._possible:
            for name in [name for name, form in self._possible.items() if not form.fullmatch(cell)]:
                del self._possible[name]

    @property
    def is_known(self) -> bool:
        """Whether it is certainly text, also with further cells."""
        return not self._possible and len(self._values) > 1

    @property
    def kind(self) -> str:
        """`text`, or the name of what all cells contain instead."""
        if not self.example:
            return "nothing"
        few = len(self._values) <= min(_MOST_CODES, max(1, self._lines // _LINES_PER_CODE))
        possible = [name for name in self._possible if name != _CODES or few]
        if possible and self._lines >= _FEW:
            return possible[0]
        return "one value" if len(self._values) == 1 and self._lines >= _CONSTANT else TEXT


def layout(path: Path, lines: Iterable[str], chosen: Sequence[int] | None) -> Layout:
    """Find the columns of source and target in a tab-separated file.

    By default they are the first two, which must be the only ones with text.

    Args:
        path: the path of the file, for messages.
        lines: all lines of the file.
        chosen: the setting `data.columns`.

    Raises:
        RequestError: a line has more or fewer columns than the first line, the chosen columns
            aren't text although others are, or the columns of text aren't the first two.
    """
    first, columns = _read(path, lines)
    kinds = [column.kind for column in columns]
    is_header = bool(first) and _is_header(first, kinds)
    if not is_header:
        for column, cell in zip(columns, first, strict=True):
            column.add(cell)
        kinds = [column.kind for column in columns]
    texts = [number for number, kind in enumerate(kinds) if kind == TEXT]
    known = "; ".join(
        f"{number} {kind}" + f" ({_short(column.example)})" * bool(column.example)
        for number, (kind, column) in enumerate(zip(kinds, columns, strict=True))
    )
    if chosen is None:
        if len(columns) > 1 and texts != [0, 1]:
            raise _unclear(path, texts, len(columns), known)
        return Layout(header=is_header)
    source, target = _checked(path, chosen, known, len(columns))
    if len(texts) > 1 and not {source, target} <= {*texts}:
        raise RequestError(
            f"{path}: data.columns={_list(chosen)}, counted from 0, isn't text in both columns. "
            f"Columns: {known}."
        )
    return Layout(source, target, is_header)


def _read(path: Path, lines: Iterable[str]) -> tuple[list[str], list[_Column]]:
    """Return the first line's cells, and the columns with the cells of all other lines."""
    first: list[str] = []
    columns: list[_Column] = []
    open_columns: list[int] = []  # those that aren't certainly text yet
    for number, line in enumerate(lines, 1):
        if first and not open_columns and line.count("\t") == len(first) - 1:
            continue
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not first:
            first, columns, where = cells, [_Column() for _ in cells], number
            open_columns = [*range(len(cells))]
            continue
        if len(cells) != len(first):
            while len(cells) > len(first) and not cells[-1]:
                cells.pop()
            if len(cells) != len(first) and not _is_blank_end(cells, first):
                found = "no tab" if len(cells) == 1 else f"{len(cells)} columns"
                expected = f"{len(first)} columns as in line {where}"
                if len(first) == 2:
                    expected = "a source, a tab and a target"
                raise RequestError(
                    f"{path}:{number}: expected {expected}, got {found}: {_short(line)}."
                )
        for place in open_columns:
            columns[place].add(cells[place] if place < len(cells) else "")
        open_columns = [place for place in open_columns if not columns[place].is_known]
    return first, columns


def _is_blank_end(cells: Sequence[str], first: Sequence[str]) -> bool:
    """Whether the line lacks only cells that are empty in the first line, too."""
    return len(cells) >= 2 and not any(first[len(cells) :]) and len(cells) < len(first)


def _is_header(first: Sequence[str], kinds: Sequence[str]) -> bool:
    """Whether the first line contains names of columns instead of sentences."""
    names = [cell.lower().replace(" ", "_") in _NAMES for cell in first]
    languages = [_language(cell) for cell in first]
    broken = [
        kind in ("numbers", "identifiers", "dates") and not _KINDS[kind].fullmatch(cell)
        for cell, kind in zip(first, kinds, strict=True)
    ]
    is_pair = len(first) > 1 and len({*languages}) == len(first) and all(languages)
    return all(names) or any(broken) or is_pair


def _language(cell: str) -> str:
    """Return the code of the language that a cell names, by code or by name; "" for others."""
    word = cell.lower()
    return next((code for code, *names in _LANGUAGES if word in (code, *names)), "")


def _checked(path: Path, chosen: Sequence[int], known: str, count: int) -> tuple[int, int]:
    """Return the two columns of the setting; raise `RequestError` if the file lacks them."""
    whole = all(type(number) is int for number in chosen)
    if not whole or len({*chosen}) != 2 or len(chosen) != 2:
        raise RequestError(
            f"data.columns: expected two columns, counted from 0, such as [1,3], got "
            f"{_list(chosen)}."
        )
    if wrong := [number for number in chosen if not 0 <= number < count]:
        raise RequestError(
            f"data.columns: expected columns 0 to {count - 1} of {path}, got {wrong[0]}. "
            f"Columns: {known}."
        )
    return chosen[0], chosen[1]


def _unclear(path: Path, texts: Sequence[int], count: int, known: str) -> RequestError:
    """Return the error for a file in which the columns of text aren't exactly the first two."""
    fix = "Choose two with data.columns=[SOURCE,TARGET]."
    if len(texts) == 2:
        fix = f"Choose two with data.columns={_list(texts)}."
    elif count == 2:
        fix = "If they are source and target all the same: data.columns=[0,1]."
    elif len(texts) < 2:
        fix = "Source and target must be in one file, a pair a line."
    return RequestError(
        f"{path}: expected text in columns 0 and 1, and in no other. Columns, counted from 0: "
        f"{known}. {fix}"
    )


def _list(numbers: Sequence[object]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
