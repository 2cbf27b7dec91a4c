"""Translate words in times, such as months and days of the week, from any language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

# Languages that are tried before all others.
_FIRST = "en de fr fr+ es it pt nl ru pl sv da nb fi cs tr hu el ro uk ja zh ko ar hi id".split()
_NUMERALS = "Roman numerals"  # for months, in place of a language
_MOST_WORDS = 100  # different words of a column: months and days, short, long and inflected
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\d\s/,:;()'’_+\-<>\[\]]*[^\W\d_][^\d\s/,:;()'’_+\-<>\[\]]*")
_PLAIN = {*"t z h q w m s am pm uhr utc gmt".split()}
_FILLERS = {
    *"de del of the al le la el den der st nd rd th er o a i an ano dnia nam ngay".split(),
    *"at fy thang thg г года год р рік року r roku".split(),
}
_EAST_ASIAN = re.compile(
    r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日일号])?"
    r"(?:\s*(\d{1,2})\s*[時时시点](?:\s*(\d{1,2})\s*[分분])?)?"
)
_HALF = re.compile(r"(?<![^\W\d])([ap])\.?\s?m\b\.?")
_HALVES = {"上午": "am", "午前": "am", "오전": "am", "下午": "pm", "午後": "pm", "오후": "pm"}
_QUARTER_WORD = "quartal|quarter|trimestre|trim|kvartal|kvartál|kwartał|квартал|kvt|qtr|kv|кв|qu|ç"
_QUARTER = re.compile(
    rf"(?<![^\W\d])(?:{_QUARTER_WORD}|q|t|k)[.\s]*([1-4]|iv|i{{1,3}})(?!\w)|"
    rf"(?<!\w)([1-4]|iv|i{{1,3}})\s?(?:\.|-?й|er|o|st|nd|rd|th|e|ème)?\s?"
    rf"(?:{_QUARTER_WORD}|kw|q|t|k)(?![^\W\d])\.?"
)
_BARE_ROMAN = re.compile(r"\d{4}[\s./-]*(iv|i{1,3})|(iv|i{1,3})[\s./-]*\d{4}")
_OF = re.compile(r"\b(?:de|del|di|do|of|von)\b")
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4"}
_WEEK_WORD = "week|woche|semaine|semana|settimana|sem|wk|kw|uke|uge|vecka|w|v|s(?=\\d\\d)"
_WEEK = re.compile(rf"(?<![^\W\d])(?:{_WEEK_WORD})[.\s]*(\d{{1,2}})(?!\d)")
_HALF_YEAR = re.compile(
    r"(?<![^\W\d])(?:hy|hj|h|s)\s?([12])(?!\w)|(?<!\w)([12])\.?\s?(?:hj|halbjahr)"
)
_MONTH_NUMBER = re.compile(r"(?<![^\W\d])(?:m|thg|tháng)\s?(\d{1,2})(?!\w)")
_PERIOD = re.compile(r"[\s.,/:'’_-]*([qwsm]\d{1,2})(?!\d)[\s.,/:'’_-]*")
_ZONES = {
    **{"z": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "mez": 60},
    **{"cest": 120, "mesz": 120, "eet": 120, "eest": 180, "msk": 180, "jst": 540, "kst": 540},
    **{"est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360},
    **{"pst": -480, "pdt": -420, "aest": 600, "aedt": 660},
}
_ZONE = re.compile(rf"(?<=[\d\sm])\s*\b(?:{'|'.join(_ZONES)})(?:([+-]\d{{1,2}}(?::?\d\d)?))?$")
_MARKS = str.maketrans("‐‑–−", "----", "\u200b\u200e\u200f\u2060\ufeff")
_ASIDE = re.compile(r"\s*\([^\W\d_]+( [^\W\d_]+)*\)")  # such as (Mon)
_YEAR_LAST = re.compile(r"(\d{1,2}:\d\d(?::\d\d)?(?: [+-]\d{4})?) (\d{4})$")
_MARKED = re.compile(r"[\s.,/_'’-]*(<\d+>)[\s.,/_'’-]*")


def normalized(text: str) -> str:
    """Return a text in lower case, with a uniform spelling of AM, dates, quarters and zones."""
    text = unicodedata.normalize("NFKC", text).casefold().translate(_MARKS).strip(" \t'")
    if not _LETTER.search(text):
        return text
    text = _ASIDE.sub("", text)
    for word, half in _HALVES.items():
        text = text.replace(word, f" {half} ")
    text = _EAST_ASIAN.sub(_with_dashes, text)
    text = re.sub(r"(\d{4})\s*[年년]\s*(?:第|제)?", r"\1 ", text)
    text = re.sub(r"(?:第)?([1-4])\s*(?:季度?|分기|분기)", r"q\1", text)
    text = _HALF.sub(r" \1m", text)
    text = _ZONE.sub(_as_offset, text)
    return " ".join(text.split())


def _with_dashes(found: re.Match[str]) -> str:
    date = "-".join(f"{int(part):02d}" for part in found.groups()[:3] if part)
    clock = f" {found[4]}:{int(found[5] or 0):02d}" if found[4] else ""
    return date + clock


def _as_offset(found: re.Match[str]) -> str:
    name = re.sub(r"[^a-z]", "", found[0])
    if found[1]:
        sign, hours, *minutes = re.findall(r"[+-]|\d\d?", found[1])
        return f"{sign}{int(hours):02d}:{minutes[0] if minutes else '00'}"
    offset = _ZONES[name]
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


def periods(text: str) -> str:
    """Write the period of a year in a normalized text as ` q1 `, ` w05 `, ` s1 ` or ` m01 `."""
    if ":" in text and not _PERIOD.search(text):
        return text
    text = _WEEK.sub(lambda found: f" w{int(found[1]):02d} ", text)
    text = _QUARTER.sub(_as_quarter, text)
    if _BARE_ROMAN.fullmatch(text):  # 2020 IV
        text = re.sub("[iv]+", lambda found: f" q{_ROMAN[found[0]]} ", text)
    text = _HALF_YEAR.sub(lambda found: f" s{found[1] or found[2]} ", text)
    text = _MONTH_NUMBER.sub(lambda found: f" m{int(found[1]):02d} ", text)
    return " ".join(_OF.sub(" ", _PERIOD.sub(r" \1 ", text)).split())


def _as_quarter(found: re.Match[str]) -> str:
    number = found[1] or found[2]
    return f" q{_ROMAN.get(number, number)} "


def may_be_months(texts: Sequence[str]) -> bool:
    """Return whether each text has two digits and one word that may be the name of a month."""
    words = [_WORD.findall(text) for text in texts]
    few = 1 < len({*map(tuple, words)}) <= 24  # a month may be written in two ways
    return few and all(
        len(own) == 1 and len(own[0]) > 2 and re.search(r"\d\d", text)
        for own, text in zip(words, texts, strict=True)
    )


def in_words(texts: Sequence[str]) -> list[str]:
    """Return the different words of normalized texts, without those of clock times and zones."""
    found = dict.fromkeys(word for text in texts for word in _WORD.findall(text))
    return [word for word in found if word.strip(".") not in _PLAIN]


def readings(texts: Sequence[str], *, common: bool = False) -> Iterator[list[str]]:
    """Yield the texts with `<1>` to `<12>` for months, for each language that knows all words.

    Days of the week and fillers are removed. A reading that an earlier language had is not
    repeated. With `common`, only widespread languages are tried.
    """
    words, seen = in_words(texts), set()
    if not 0 < len(words) < _MOST_WORDS:
        return
    for language in _FIRST if common else [*_languages(), _NUMERALS]:
        meanings = {}
        for word in words:
            meanings[word] = meaning(word, language)
            if meanings[word] is None:
                break
        found = tuple(meanings.values())
        if None in found or found in seen:
            continue
        seen.add(found)
        yield [_replaced(text, meanings) for text in texts]


def _replaced(text: str, meanings: Mapping[str, int | None]) -> str:
    def mark(found: re.Match[str]) -> str:
        month = meanings.get(found[0], -1)
        return found[0] if month == -1 else f"<{month}>" if month else " "

    text = _YEAR_LAST.sub(r"\2 \1", _MARKED.sub(r" \1 ", _WORD.sub(mark, text)))
    return " ".join(text.replace(",", " ").split()).strip(" .")


def meaning(word: str, language: str) -> int | None:
    """Return the month (1 to 12) that a word means; 0 for other known words, None for unknown."""
    plain = _plain(word)
    months, days = _names(language)
    if plain in months:
        return months[plain]
    if plain in days or plain in _FILLERS:
        return 0
    starts = {month for name, month in months.items() if len(plain) > 2 and name.startswith(plain)}
    if len(starts) == 1:
        return starts.pop()
    return 0 if len(plain) > 1 and any(name.startswith(plain) for name in days) else None


@lru_cache(maxsize=512)
def _names(language: str) -> tuple[dict[str, int], set[str]]:
    """Return a language's months with their numbers, and its days of the week; see `_plain`."""
    from babel import Locale

    if language == _NUMERALS:
        numerals = "i ii iii iv v vi vii viii ix x xi xii".split()
        return {name: number for number, name in enumerate(numerals, 1)}, set()
    locale = Locale.parse(language.rstrip("+"))
    months, days = dict(_MORE.get(language, {})), set()
    for use in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[use][width].items():
                months.setdefault(_plain(name), number)
            days |= {_plain(name) for name in locale.days[use][width].values()}
    return {name: month for name, month in months.items() if not re.search(r"\d", name)}, days


# Names that spreadsheets write and CLDR doesn't have.
_MORE = {
    "de": {"mrz": 3, "maerz": 3, "jän": 1, "jänner": 1, "feber": 2, "sept": 9},
    "en": {"sept": 9},
    "es": {"set": 9, "setiembre": 9, "sept": 9},
    "fr+": {"mar": 3, "jun": 6, "jul": 7},  # mar is a Tuesday, too
    "it": {"sett": 9},
}


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    """Return a name in lower case without dots, spaces and accents."""
    text = without_accents(unicodedata.normalize("NFKC", name))
    text = text.replace("ı", "i")  # Turkish capitals lose the dot or get one
    return "".join(letter for letter in text if letter not in ". \u200f॰")


def without_accents(text: str) -> str:
    """Return a text in lower case without accents, its letters in their simplest form (NFKD)."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")


@lru_cache(maxsize=1)
def _languages() -> list[str]:
    from babel import localedata

    others = sorted(name for name in localedata.locale_identifiers() if "_" not in name)
    return [*_FIRST, *(name for name in others if name not in _FIRST)]


def with_months(texts: Sequence[str]) -> list[str]:
    """Replace the names of months by `<1>` to `<12>`.

    The language is the first one that finds a month in every text.
    """

    def translated(text: str, language: str) -> str:
        def mark(found: re.Match[str]) -> str:
            month = meaning(found[0], language)
            return f"<{month}>" + "." * found[0].endswith(".") if month else found[0]

        return _WORD.sub(mark, text)

    for language in _languages():
        if all(re.search(r"<\d+>", translated(text, language)) for text in texts):
            return [translated(text, language) for text in texts]
    return list(texts)
