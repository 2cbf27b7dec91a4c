"""Find out by a column's name whether it has times, and which part of them."""

from __future__ import annotations

import re
from functools import lru_cache

from attnlab.tasks.forecasting.data.reading.words import without_accents

# Role -> words of several languages, without accents. Words of `date` count anywhere in a name.
_WORDS = {
    "date": (
        "date datum datetime timestamp zeitstempel zeitpunkt stichtag fecha dato paivamaara pvm "
        "tarih дата ημερομηνια 日期 日付 年月日 年月 날짜 日時 日时 التاريخ تاريخ תאריך तारीख วันที่ "
        "ngay datahora dateandtime yearmonth yyyymm yyyymmdd"
    ),
    "period": (
        "period periode periodo zeitraum perioden when observation month_year monthyear data "
        "период okres dates"
    ),
    "time": (
        "time times zeit uhrzeit heure hora ora godzina czas время час tid tidspunkt aika cas "
        "idopont saat ωρα 时间 時間 時刻 시간 시각 الوقت clock tijd tempo temps tiempo"
    ),
    "count": "ds t",
    "row": "index idx step nr no number lfd nummer obs",
    "year": (
        "year years yr jahr annee an ano anno rok год ar jaar vuosi yil ev έτος ετος 年 "
        "年度 年份 연도 년도 سنة वर्ष ปี nam leto godina"
    ),
    "month": (
        "month months mon monat mois mes mese miesiac месяц maand maned manad kuukausi "
        "ay honap mesic luna μηνας 月 月份 월 شهر महीना เดือน thang kk mjesec"
    ),
    "day": (
        "day days tag jour dia giorno dzien день dag paiva gun nap den zi ημερα 日 天 일 يوم दिन วัน"
    ),
    "hour": "hour hours hr stunde std heures horas ore godz часы time_hour timme tunti uur h",
    "minute": "minute minutes min minuto minuten",
    "ordinal": "doy dayofyear yearday yday julianday",
    "week": (
        "week wk isoweek epiweek weekofyear weeknumber weeknum yearweek "
        "woche kw cw kalenderwoche semaine semana settimana tydzien неделя "
        "vecka uge uke viikko hafta het 周"
    ),
    "quarter": "quarter qtr quartal trimestre kwartal квартал kvartal ceyrek negyedev 季度 분기",
}
# Words that such a name may have in addition.
_ADDITIONS = {
    *"utc gmt local cet of the and start end beginning ending from to von bis".split(),
    *"de da id ref local z h s".split(),
}


# Names that mean parts of times only if other columns have the other parts.
_SHORT = {
    **{"yyyy": "year", "yy": "year", "mo": "month", "mm": "month", "dd": "day", "dy": "day"},
    **{"hh": "hour", "q": "quarter"},
}


def part_of(name: str) -> str:
    """Return the part of times that a column has if other columns have the rest; see `role`."""
    return role(name) or _SHORT.get(name.strip("#_ ").casefold(), "")


@lru_cache(maxsize=1024)
def role(name: str) -> str:
    """Return what a column's name announces: a key of `_WORDS`; "" if it isn't a name of times."""
    tokens = _tokens(name)
    for whole in ("ordinal", "week"):
        if "".join(tokens) in _known()[whole]:  # day_of_year
            return whole
    found = [
        next((role for role, known in _known().items() if token in known), "") for token in tokens
    ]
    if "date" in found or any(token.endswith("datum") for token in tokens):
        return "date"
    roles = [role for role in found if role]
    strange = [t for t, role in zip(tokens, found, strict=True) if not role and t not in _ADDITIONS]
    if strange or not roles:
        return ""
    if len({*roles}) == 1:
        return roles[0]
    return "time" if {*roles} <= {"time", "period"} else "period"


@lru_cache(maxsize=1)
def _known() -> dict[str, set[str]]:
    return {
        role: {without_accents(word) for word in words.split()} for role, words in _WORDS.items()
    }


def _tokens(name: str) -> list[str]:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)  # DateTime
    return [without_accents(token) for token in re.split(r"[\W\d_]+", parted) if token]
