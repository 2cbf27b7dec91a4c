"""Read a column's cells as times: find the format that fits, and note ambiguities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from attnlab.tasks.forecasting.data.reading import numeric, words
from attnlab.tasks.forecasting.data.reading.forms import EARLIEST, Read, form_pattern, read_form
from attnlab.tasks.forecasting.data.reading.numbers import (
    WHOLE_NUMBER,
    is_number,
    numbers_of,
    to_number,
)
from attnlab.tasks.forecasting.data.times import Calendar

# Formats in order of preference, if several fit a column equally well.
_NUMBERS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y %m %d", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d %m %Y", "%m %d %Y", "%d%m%Y", "%m%d%Y"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%y/%m/%d", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    "%y.%m.%d",
    *("%Y-%m", "%Y/%m", "%Y.%m", "%Y %m", "%Y_%m", "%Y:%m", "%Y%m", "%m/%Y", "%m.%Y", "%m-%Y"),
    *("%Y,%m", "%Y-%q", "%Y.%q", "%Y:%q", "%Y/%q", "%Y %q", "%q/%Y", "%q-%Y", "%q.%Y"),
    *("%m %Y", "%Y-%j", "%Y%j", "%Y/%j", "%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%Y%m%d %H%M%S"),
    *("%Y%m%d %H%M", "%Y%m%d:%H%M", "%Y%m%d_%H%M", "%Y%m%d_%H%M%S", "%Y%m%d-%H%M%S"),
    *("%Y%m%dt%H%M", "%Y%m%dt%H%M%S", "%Y%m%dt%H%M%z", "%Y%m%dt%H%M%S%z", "%Y", "%Y-%m-%dt%H%M%S"),
)
_PERIODS = (
    *("%G w%V", "w%V %G", "w%V %y", "%y w%V", "%G w%V %u", "%Y q%q", "q%q %Y", "q%q %y", "%y q%q"),
    *("%Y s%Q", "s%Q %Y", "%Y m%m", "m%m %Y"),
)
_NAMED = (
    *("%d %b %Y", "%b %d %Y", "%Y %b %d", "%Y %d %b", "%b %Y", "%Y %b", "%b %y", "%y %b"),
    *("%d %b %y", "%b %d %y", "%y %b %d"),
)
# Accepted if the column's name announces times, or if all steps are equal.
_SHORT = ("%m/%y", "%m-%y", "%y-%m", "%y%m%d", "%d%m%y")
# Accepted only if the column's name announces times.
_NAMED_ONLY = ("%m.%y", "%y%m", "%m%Y")
_WEEKS = ("%G-%V", "%G/%V", "%G.%V", "%G%V", "%V/%G", "%V-%G")
_SAMPLE = 30
_MOST = 0.5  # smallest share of cells that a column's format fits
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?")
_SPACED = re.compile(r"\s*([./-])(?:\s+|$)|\s+([./-])")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT, _YEAR = re.compile(r"\d"), re.compile(r"(?<!\d)\d{4}(?!\d)")
_TO = r"(?:\s+(?:[-–—]|to|bis|until|a|au|al)\s+|(?<=\d\d)/(?=\d{4}-\d\d-\d\d))"
_RANGE = re.compile(rf"(.*\d.*?){_TO}(?!\d+[:h]|\d\d?$).*\d\w?|(.*\d:\d.*?){_TO}.*\d.*")
_YEARS = re.compile(r"(\d{4})\s?[-–/]\s?(?:\d\d)?(\d\d)")  # such as 1999/00


def read_times(cells: Sequence[str], form: str | None = None, *, named: str = "") -> Read | None:
    """Read cells as times in the format that most of them have; None if there is no such format.

    Cells in other formats become NaT. Known formats: dates and clock times in digits, ISO weeks,
    quarters, month names in any language, seconds since 1970, years with decimals, and, if `named`
    announces dates, day numbers of spreadsheets. If several fit equally well, the one with the
    most regular steps is chosen.

    Args:
        cells: the column, in the order of rows.
        form: the format in the notation of `strptime`, if it is given.
        named: what the column's name announces, see `headers.role`.

    Raises:
        RequestError: the format has an unknown directive.
    """
    if form is not None:
        return _in_given_form(cells, form)
    if fast := _plain_iso(cells):
        return fast
    if all(map(_RANGE.fullmatch, _sample(cells))):
        start = read_times([_RANGE.sub(r"\1\2", cell) for cell in cells], named=named)
        note = "Ranges of times are read as their starts."
        return start and Read(start.form, start.times, (*start.notes, note))
    if _are_seasons(cells):
        return read_times([cell[:4] for cell in cells], named=named)
    texts = [words.normalized(cell) for cell in cells]
    found = [*_in_known_forms(texts, named)]
    if all(map(is_number, _sample(cells))):
        found += _in_numbers(cells, named)
        if any(read.form == numeric.YEARS for read in found):  # 1700.5 is not May
            found = [read for read in found if read.form != "%Y.%m" or _has_months(read.times)]
    return _best(found, cells)


def _plain_iso(cells: Sequence[str]) -> Read | None:
    """Read common dates fast: 2020-01-31 or 2020-01-31 23:59:59; None if any cell differs."""
    length = len(cells[0])
    if not _ISO.fullmatch(cells[0]) or any(len(cell) != length for cell in cells):
        return None
    letters = np.array(cells).view("U1").reshape(len(cells), length)
    marks = np.array([not letter.isdigit() for letter in cells[0]])
    digits = (letters[:, ~marks] >= "0") & (letters[:, ~marks] <= "9")
    if not digits.all() or not np.all(letters[:, marks] == letters[0, marks]):
        return None
    with suppress(ValueError):  # such as 24:00
        local = np.array(cells, "M8[us]")
        return Read("%Y-%m-%d", Calendar(local)) if local.min() >= EARLIEST else None
    return None


def _are_seasons(cells: Sequence[str]) -> bool:
    """Return whether each cell is a pair of consecutive years, such as 1999/00 or 2019-2020."""
    found = [*map(_YEARS.fullmatch, cells)] if _YEARS.fullmatch(cells[0]) else [None]
    pairs = [(int(each[1]), int(each[2])) for each in found if each]
    return 2 < len(pairs) == len(cells) and all((a + 1) % 100 == b for a, b in pairs)


def _in_numbers(cells: Sequence[str], named: str) -> list[Read]:
    """Read numbers as times; as days of a spreadsheet only if the column's name says dates."""
    numbers = numbers_of(cells)
    if not np.isfinite(numbers).all():
        return []
    found = [numeric.since_1970(numbers, named=bool(named)), numeric.decimal_years(numbers)]
    fractions = bool(named) and bool(np.any(numbers % 1))
    if fractions or named not in ("", "count", "row", "time", "year", "hour", "minute"):
        found.append(numeric.spreadsheet_days(numbers))
    return [read for read in found if read]


def _has_months(times: Calendar) -> bool:
    """Return whether the times are in different months of the year."""
    return len({*times.local.astype("M8[M]").astype(int) % 12}) > 1


def _in_given_form(cells: Sequence[str], form: str) -> Read:
    if form == "%s":
        seconds = np.array([to_number(cell) for cell in cells])
        local, known = np.full(len(cells), np.datetime64("NaT", "us")), np.abs(seconds) < 1e11
        local[known] = np.round(seconds[known] * 1e6).astype("M8[us]")
        return Read(form, Calendar(local))
    texts = [words.normalized(cell) for cell in cells]
    if re.search("%[bBh]", form):
        texts = words.with_months(texts)
    return read_form(texts, form)


def _in_known_forms(texts: list[str], named: str) -> Iterator[Read]:
    if all(map(WHOLE_NUMBER.fullmatch, texts)):
        texts = [text.partition(".")[0] for text in texts]
    plain = texts
    if any(map(_SPACED.search, _sample(texts))):
        plain = [_SPACED.sub(r"\1\2", text).strip(". ") for text in texts]
    yield from _in_digits(plain, named)
    if not any(map(_LETTER.search, _sample(texts))):
        return
    yield from _fitting([words.periods(text) for text in texts], _PERIODS)
    if not all(map(_DIGIT.search, _sample(texts))):
        return
    common = not named and not all(map(_YEAR.search, _sample(texts)))
    common = common and not words.may_be_months(texts)
    for translated in words.readings(texts, common=common):
        found = [*_fitting(translated, (*_NAMED, *_NUMBERS))]
        yield from found
        if any(regularity(read.times) > 0.9 for read in found):
            return


def _in_digits(texts: list[str], named: str) -> Iterator[Read]:
    """Read texts as dates in digits."""
    weeks = [*_fitting(texts, _WEEKS if named else ())]
    if named == "week" and any(read.is_whole for read in weeks):
        yield from weeks  # 202001 is a week, not a month
        return
    found = [*_fitting(texts, _NUMBERS)]
    yield from found
    yield from () if any(read.is_whole for read in found) else weeks
    yield from (read for read in _fitting(texts, _NAMED_ONLY if named else ()) if read.is_whole)
    if named or not _counts_on(texts):
        yield from (read for read in _fitting(texts, _SHORT) if named or _is_even(read))


def _fitting(texts: Sequence[str], forms: Iterable[str]) -> Iterator[Read]:
    """Read the texts in each format that fits most of them."""
    sample = _sample(texts)
    for form in forms:
        pattern = form_pattern(form, clock=True)
        if sum(map(bool, map(pattern.fullmatch, sample))) < _MOST * len(sample):
            continue
        read = read_form(texts, form, clock=True)
        if read.times.invalid.mean() <= 1 - _MOST:
            yield read


def _is_even(read: Read) -> bool:
    """Return whether all steps are equal and no time is repeated."""
    return regularity(read.times) == 1 and len({*read.times.instants}) == len(read.times)


def _counts_on(texts: Sequence[str]) -> bool:
    """Return whether texts are whole numbers that go up or down by one, like row numbers."""
    if not all(map(str.isdigit, texts)):
        return False
    steps = np.diff(np.array(texts, float))
    return bool(np.all(steps == 1) or np.all(steps == -1))


def _sample(cells: Sequence[str]) -> list[str]:
    """Return a few cells, evenly spread from the first to the last."""
    places = np.linspace(0, len(cells) - 1, min(_SAMPLE, len(cells)), dtype=int)
    return [cells[at] for at in places]


def _best(found: Sequence[Read], cells: Sequence[str]) -> Read | None:
    """Return the reading with the fewest unread cells, then the most regular steps."""
    if not found:
        return None
    ranks = [(-int(read.times.invalid.sum()), round(regularity(read.times), 6)) for read in found]
    best = max(ranks)
    first, *others = sorted(
        (read for read, rank in zip(found, ranks, strict=True) if rank == best),
        key=lambda read: not _on_first_days(read.times),
    )
    other = next((each for each in others if _differ(first, each)), None)
    if other is None or best[0]:
        return first
    note = (
        f"Times such as {cells[0]} are read as {first.form}, though {other.form} fits, too; "
        f"task.time_format chooses."
    )
    return Read(first.form, first.times, (*first.notes, note))


def _differ(one: Read, other: Read) -> bool:
    return not np.array_equal(one.times.instants, other.times.instants)


def _on_first_days(times: Calendar) -> bool:
    """Return whether all times are first days of a month."""
    return bool(np.all(times.local == times.local.astype("M8[M]")))


def regularity(times: Calendar) -> float:
    """Return the share of steps that equal the commonest one, in file order or in time order."""
    local = times.instants[~times.invalid]
    months = local.astype("M8[M]")
    days = local - months.astype("M8[us]")
    in_months = len({*days}) == 1 or np.all((local.astype("M8[D]") + 1).astype("M8[M]") > months)
    if len(local) < 2:
        return 0.0
    steps = [local, np.unique(local)]
    steps += [months, np.unique(months)] if in_months else []
    return max(map(_share_of_commonest, steps))


def _share_of_commonest(times: np.ndarray) -> float:
    steps = np.diff(times).astype(int)
    steps = steps[steps != 0]
    if not len(steps):
        return 0.0
    return np.unique(steps, return_counts=True)[1].max() / len(steps)
