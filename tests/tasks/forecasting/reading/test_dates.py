"""Times in the formats of many programs and countries, recognised by the whole column."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.forecasting.data.reading.dates import read_times
from attnlab.tasks.forecasting.data.times import next_labels

MONTHS = pd.date_range("2018-01-01", periods=30, freq="MS")
DAYS = pd.date_range("2019-12-25", periods=30, freq="D")
HOURS = pd.date_range("2024-01-30", periods=50, freq="h")
WEEKS = pd.date_range("2019-11-04", periods=20, freq="7D")
SPREADSHEET = pd.Timestamp("1899-12-30")


def written(times, form, names=""):
    """Times in a form of `str.format`: d the time, month its name among some, iso its week."""
    known = names.split() or [""] * 12
    return [
        form.format(
            d=d,
            month=known[d.month - 1],
            quarter=(d.month + 2) // 3,
            roman=("I", "II", "III", "IV")[(d.month - 1) // 3],
            iso=d.isocalendar(),
            seconds=int(d.timestamp()),
            serial=(d - SPREADSHEET) / pd.Timedelta("1D"),
        )
        for d in times
    ]


QUARTERS = MONTHS[::3]
FORMS = [
    (
        DAYS,
        [
            *("{d:%Y%m%d}", "{d:%Y%m%d}.0", "{d:%d.%m.%Y}", "{d.day}. {d.month}. {d.year}"),
            *("{d:%Y. %m. %d.}", "{d.month}/{d.day}/{d.year}", "{d.day}/{d.month}/{d:%y}"),
            *("{d.month}/{d.day}/{d:%y}", "{d:%y-%m-%d}", "{d:%Y/%m/%d}", "{d:%d-%b-%Y}"),
            *("{d:%d%b%Y}", "{d:%b %d, %Y}", "{d:%A, %B %d, %Y}", "{d:%a %d/%m/%Y}", "{d:%Y-%j}"),
            *("{iso[0]}-W{iso[1]:02d}-{iso[2]}", "{d:%d.%m.%Y %H:%M}", "{d:%d/%b/%Y:%H:%M:%S}"),
            *(
                "{d.year}年{d.month}月{d.day}日",
                "{d.year}年{d.month}月{d.day}日(木)",
                "{d:%y.%m.%d}",
            ),
            *("{d:%y%m%d}", "{d:%d%m%y}", "{d:%Y/%j}", "{d:%Y}–{d:%m}–{d:%d}"),
            "\u200e{d:%Y-%m-%d}",
        ],
    ),
    (
        MONTHS,
        [
            *("{d:%Y%m}", "{d:%m/%Y}", "{d:%Y.%m}", "{d:%YM%m}", "{d:%Y-M%m}", "{d:%b-%y}"),
            *("{d:%B %Y}", "{d.year}年{d.month}月", "{d.year}년 {d.month}월"),
            *("tháng {d.month} {d.year}", "{d:%Y %b}", "{d:%m/%y}", "{d:%y-%m}", "{d:%Y,%m}"),
            *("{d:%Y - %m}", "'{d:%Y%m}"),
        ],
    ),
    (
        HOURS,
        [
            *("{d:%Y-%m-%d %H:%M}", "{d:%d/%m/%Y %I:%M %p}", "{d:%m/%d/%Y %I:%M:%S %p}"),
            *("{seconds}", "{seconds}000", "{seconds}.0", "{d:%Y%m%d%H}", "{d:%Y%m%dT%H%M%S}"),
            *("{d.year}年{d.month}月{d.day}日 {d:%H:%M}", "{d:%Y%m%d:%H%M}", "{d:%Y%m%d_%H%M}"),
            *("{d:%Y%m%d %H%M}", "{d:%B %d %Y} at {d:%I:%M %p}", "{d:%a %b %d %H:%M:%S %Y}"),
            *("{d:%d.%m.%Y %H.%M}", "{d:%d.%m.%Y %H:%M} Uhr"),
        ],
    ),
    (
        QUARTERS,
        [
            *("{d.year}Q{quarter}", "{d.year}-Q{quarter}", "Q{quarter} {d.year}"),
            *("{quarter}Q{d:%y}", "T{quarter}-{d.year}", "{quarter}. Quartal {d.year}"),
            *("{roman} кв. {d.year}", "{roman} kw. {d.year}", "{d.year}年第{quarter}季度"),
            *("Q{quarter}/{d.year}", "{d.year}.{quarter}", "{d.year}-{quarter}"),
            *("{d.year} {roman}", "{roman}/{d.year}", "{quarter}º trimestre de {d.year}"),
        ],
    ),
    (
        WEEKS,
        [
            *("{iso[0]}-W{iso[1]:02d}", "{iso[0]}W{iso[1]:02d}", "KW{iso[1]}/{iso[0]}"),
            *("Week {iso[1]} {iso[0]}", "Semana {iso[1]} de {iso[0]}"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("times", "form"),
    [pytest.param(times, form, id=form) for times, forms in FORMS for form in forms],
)
def test_forms_of_days_months_hours_quarters_and_weeks(times, form):
    np.testing.assert_array_equal(read_times(written(times, form)).times.local, times)


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("{month} {d.year}", "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez"),
        ("{month}. {d:%y}", "Jän Feb März Apr Mai Juni Juli Aug Sept Okt Nov Dez"),
        ("{month} {d.year}", "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."),
        ("{month}-{d:%y}", "janv fevr mars avr mai juin juil aout sept oct nov dec"),
        ("{month}-{d:%y}", "ene feb mar abr may jun jul ago sep oct nov dic"),
        ("{month}/{d.year}", "jan fev mar abr mai jun jul ago set out nov dez"),
        ("{month} {d.year}", "gen feb mar apr mag giu lug ago set ott nov dic"),
        ("{month}{d.year}", "JAN FEV MAR AVR MAI JUN JUL AOU SEP OCT NOV DEC"),
        ("{month}-{d:%y}", "OCAK ŞUBAT MART NİSAN MAYIS HAZİRAN TEMMUZ AĞUSTOS EYLÜL EKİM KASIM "
         "ARALIK"),
        ("{month}-{d:%y}", "gener febrer març abril maig juny juliol agost setembre octubre "
         "novembre desembre"),
        ("{month} {d.year}", "I II III IV V VI VII VIII IX X XI XII"),
        ("{month} {d.year}", "jan feb mrt apr mei jun jul aug sep okt nov dec"),
        ("{month} {d.year}", "янв фев мар апр май июн июл авг сен окт ноя дек"),
        ("{month} {d.year} г.", "Январь Февраль Март Апрель Май Июнь Июль Август Сентябрь Октябрь "
         "Ноябрь Декабрь"),
        ("{month} {d.year}", "sty lut mar kwi maj cze lip sie wrz paź lis gru"),
        ("{month} {d.year}", "sij velj ožu tra svi lip srp kol ruj lis stu pro"),
        ("{month} {d.year}", "leden únor březen duben květen červen červenec srpen září říjen "
         "listopad prosinec"),
        ("{month} {d.year}", "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu "
         "elokuu syyskuu lokakuu marraskuu joulukuu"),
        ("{month} {d.year}", "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara"),
        ("{month} {d.year}", "січень лютий березень квітень травень червень липень серпень "
         "вересень жовтень листопад грудень"),
        ("{d.year} {month}", "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر "
         "ديسمبر"),
        ("{d.day} {month} {d.year} г.", "января февраля марта апреля мая июня июля августа "
         "сентября октября ноября декабря"),
        ("{d.day} de {month} de {d.year}", "enero febrero marzo abril mayo junio julio agosto "
         "septiembre octubre noviembre diciembre"),
        ("{d.day} {month} {d.year} r.", "stycznia lutego marca kwietnia maja czerwca lipca "
         "sierpnia września października listopada grudnia"),
        ("{d.year}. {month} {d.day}.", "január február március április május június július "
         "augusztus szeptember október november december"),
        ("{d.day}. {month} {d.year}", "Januar Februar März April Mai Juni Juli August September "
         "Oktober November Dezember"),
    ],
)  # fmt: skip
def test_names_of_months_in_months_and_in_days(form, names):
    times = DAYS if "{d.day}" in form else MONTHS[::-1]  # newest first
    found = read_times(written(times, form, names))
    np.testing.assert_array_equal(found.times.local, times)


def test_am_and_pm_in_other_languages():
    spanish = read_times(
        ["01/02/2024 12:30 a. m.", "01/02/2024 12:30 p. m.", "13/02/2024 1:30 p. m."]
    )
    assert [str(time)[11:16] for time in spanish.times.local] == ["00:30", "12:30", "13:30"]
    chinese = read_times(["2020/01/13 上午 12:05", "2020/01/13 下午 3:05"])
    assert [str(time)[11:16] for time in chinese.times.local] == ["00:05", "15:05"]


def test_weeks_in_digits_need_a_column_name_for_weeks():
    weeks = pd.date_range("2019-12-30", periods=10, freq="7D")
    for form in ("{iso[0]}{iso[1]:02d}", "{iso[0]}-{iso[1]:02d}"):
        texts = written(weeks, form)
        np.testing.assert_array_equal(read_times(texts, named="week").times.local, weeks)
    short = read_times(["KW 52/19", "KW 1/20", "KW 2/20"]).times.local
    np.testing.assert_array_equal(short, pd.date_range("2019-12-23", periods=3, freq="7D"))
    longer = written(WEEKS, "{iso[0]}/{iso[1]:02d}")
    np.testing.assert_array_equal(read_times(longer, named="date").times.local, WEEKS)


@pytest.mark.parametrize("form", ["{}/{:02d}", "{}-{:02d}", "{0}-20{1:02d}"])
def test_seasons_are_their_first_years(form):
    texts = [form.format(year, year - 1999) for year in range(2000, 2020)]
    times, step = read_times(texts).times.regular()
    assert (times.labels(step)[0], step) == ("2000", "12MS")


@pytest.mark.parametrize(
    ("shift", "digits"),
    [(0.0, 2), (0.0, 3), (0.5, 4), (0.5, 3)],
    ids=["two digits", "starts", "middles", "rounded"],
)
def test_years_with_decimals_are_months(shift, digits):
    texts = [f"{d.year + (d.month - 1 + shift) / 12:.{digits}f}" for d in MONTHS]
    for written_so in (texts, [text.replace(".", ",") for text in texts]):
        np.testing.assert_array_equal(read_times(written_so).times.local, MONTHS)


def test_years_with_decimals_are_quarters_years_or_days():
    quarters = read_times(["2019", "2019.25", "2019.5", "2019.75"], named="year")
    assert np.diff(quarters.times.local.astype("M8[M]")).tolist() == [np.timedelta64(3, "M")] * 3
    assert read_times(["1700.5", "1701.5"]).times.regular()[1] == "12MS"
    days = [f"{d.year + (d.day_of_year - 1) / (365 + d.is_leap_year):.5f}" for d in DAYS]
    np.testing.assert_array_equal(read_times(days).times.local, DAYS)


def test_spreadsheet_day_numbers_need_a_column_name_for_dates():
    for times, form in [(DAYS, "{serial:.0f}"), (HOURS, "{serial:.6f}")]:
        texts = written(times, form)
        np.testing.assert_array_equal(read_times(texts, named="date").times.local, times)
        assert read_times(texts) is None


def test_24_is_the_first_hour_of_the_next_day():
    found = read_times(["2019-12-31 23:00", "2019-12-31 24:00", "2020-01-01 01:00"])
    assert found.times.regular()[1] == "h"
    assert found.notes == ("24:00 is read as 00:00 of the next day.",)
    assert read_times(["2019-12-31 24:30"]) is None
    days, step = read_times(["2019-12-31 24:00", "2020-01-01 24:00"]).times.regular()
    assert (days.labels(step), step) == (["2020-01-01 00:00", "2020-01-02 00:00"], "1D")
    months, step = read_times(["2019-12-31 24:00", "2020-01-31 24:00"]).times.regular()
    assert (months.labels(step), step) == (["2020-01-01 00:00", "2020-02-01 00:00"], "1MS")
    assert next_labels("2020-02-01 00:00", step, 1) == ["2020-03-01 00:00"]


@pytest.mark.parametrize(
    ("texts", "years"),
    [
        (["Jan-49", "Feb-49", "Dec-58"], "1949 to 1958"),
        (["Nov-99", "Dec-99", "Jan-00"], "1999 to 2000"),
        (["01.01.00", "31.12.99"], "1999 to 2000"),
        (["12/31/68", "1/1/69"], "1968 to 1969"),
        (["Jan-20", "Feb-20"], "2020"),
    ],
)
def test_years_of_two_digits_are_in_one_run_of_years_before_today(texts, years):
    assert read_times(texts).notes == (f"Years of two digits are read as {years}.",)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["01/01/2020", "02/01/2020", "13/01/2020"], "%d/%m/%Y"),
        (["01/01/2020", "01/02/2020", "01/13/2020"], "%m/%d/%Y"),
        ([f"01/{month:02d}/2020" for month in range(1, 13)] + ["01/01/2021"], "%d/%m/%Y"),
        ([f"{month}/1/2020" for month in range(1, 13)] + ["1/1/2021"], "%m/%d/%Y"),
        (["01.02.2020", "01.03.2020"], "%d.%m.%Y"),
    ],
)
def test_the_whole_column_decides_between_day_and_month(texts, form):
    found = read_times(texts)
    assert found.form == form and (form == "%d.%m.%Y" or len({*texts}) == 3 or not found.notes)


def test_an_order_of_day_and_month_that_the_column_leaves_open_is_noted():
    assert "%m/%d/%Y fits, too" in read_times([f"01/07/{2000 + n}" for n in range(20)]).notes[0]
    labels = ["01/02/2020", "01/03/2020"]
    (note,) = read_times(labels).notes
    assert "01/02/2020 are read as %d/%m/%Y, though %m/%d/%Y fits, too; task.time_format" in note
    for form, step in [("%d/%m/%Y", "1MS"), ("%m/%d/%Y", "1D")]:
        assert read_times(labels, form).times.regular()[1] == step


@pytest.mark.parametrize(
    "texts",
    [
        *(["1", "2"], ["abc", "def"], ["00:00", "01:00"], ["44 BC", "43 BC"], ["-0044-03-15"]),
        *(["May", "June"], ["3.14", "2.71"], ["2020-13-01"], ["32.01.2020"], ["0000-01-01"]),
        *(["H1", "H2"], ["v1 2", "v1 3"], ["today", "now"], ["12345", "12346"]),
        *([""], ["Monday"], ["05:00"], ["12"], ["1.5"], ["2020-13"], ["a"]),
    ],
)
def test_cells_that_are_not_times_are_refused(texts):
    assert read_times(texts) is None


def test_cells_in_another_format_are_not_times():
    found = read_times(["2020-01-31", "2020-02-01", "01.02.2020", "2020-02-30"])
    assert found.times.invalid.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("texts", "form", "first"),
    [
        (["2020-W05", "2020-W06"], "%G-W%V", "2020-01-27"),
        (["2020 Quarter 3"], "%Y Quarter %q", "2020-07-01"),
        (["1577836800"], "%s", "2020-01-01"),
        (["1-Dez-2019"], "%d-%b-%Y", "2019-12-01"),
        (["Mrz. 19"], "%b. %y", "2019-03-01"),
        (["Mo, 06.01.2020"], "%a, %d.%m.%Y", "2020-01-06"),
        (["2020-01-31T23:59:59.25"], "%Y-%m-%dT%H:%M:%S.%f", "2020-01-31T23:59:59.25"),
    ],
)
def test_a_given_form(texts, form, first):
    assert read_times(texts, form).times.local[0] == np.datetime64(first)


@pytest.mark.parametrize(
    ("texts", "starts"),
    [
        (["01.01.2024 00:00 - 01.01.2024 01:00", "01.01.2024 01:00 - 01.01.2024 02:00"], [0, 1]),
        (["2024-01-01 00:00 - 01:00", "2024-01-01 03:00 - 04:00"], [0, 3]),
        (["2024-01-01 – 2024-01-02", "2024-01-02 – 2024-01-03"], [0, 24]),
        (["2024-01-01 to 2024-01-02", "2024-01-02 to 2024-01-03"], [0, 24]),
        (["2024-01-01/2024-01-02", "2024-01-02/2024-01-03"], [0, 24]),
    ],
)
def test_ranges_start_at_their_times(texts, starts):
    found = read_times(texts)
    expected = np.datetime64("2024-01-01", "h") + np.array(starts)
    np.testing.assert_array_equal(found.times.local, expected)
    assert found.notes == ("Ranges of times are read as their starts.",)
    (clock,) = read_times(["2024-01-01 - 10:00"]).times.local
    assert clock == np.datetime64("2024-01-01T10:00")


def test_cells_that_are_not_seconds_are_not_times():
    assert read_times(["0", "soon", "1e20"], "%s").times.invalid.tolist() == [False, True, True]


@pytest.mark.parametrize("form", ["%k", "%Y-%U", "%", "%Y-%"])
def test_an_unknown_directive_is_refused_with_the_known_ones(form):
    with pytest.raises(RequestError, match=r"unknown directive %.*\. Directives are: %Y %y"):
        read_times(["2020"], form)
    with pytest.raises(RequestError, match="%m repeats a directive"):
        read_times(["2020"], "%m-%Y-%m")


def test_names_of_months_are_loaded_only_if_cells_have_words():
    code = "from attnlab.tasks.forecasting.data.reading.dates import read_times as read; import sys"
    code += "; read(['2020-01-01T00:00Z', '2020-01-02T00:00Z']); print('babel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
