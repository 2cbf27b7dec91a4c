"""Axes: the places of values, and ticks."""

from __future__ import annotations

import math

import pytest

from attnlab.views.html.axes import Scale, digits_of, scale, time_ticks
from attnlab.views.png.figure import draw
from attnlab.views.png.labels import drawable, font_warning
from attnlab.views.records import IntervalRow, Intervals, figure
from attnlab.views.scales import is_logarithmic


def test_a_value_is_placed_proportionally_between_the_ends():
    assert Scale(0, 10, 100, 200).at(2.5) == 125
    assert Scale(0, 10, 200, 100).at(2.5) == 175
    assert Scale(1, 100, 0, 1, logarithmic=True).at(10) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("low", "high", "pixels", "expected"),
    [
        (0, 10, 300, [0, 2, 4, 6, 8, 10]),
        (0.0035, 0.0044, 300, [0.0036, 0.0038, 0.004, 0.0042, 0.0044]),
        (-1, 1, 240, [-1, -0.5, 0, 0.5, 1]),
        (18, 21, 180, [18, 19, 20, 21]),
        (1e12 + 99, 1e12 + 101, 180, [1e12 + 99, 1e12 + 100, 1e12 + 101]),
    ],
)
def test_ticks_are_round_and_inside(low, high, pixels, expected):
    ticks = Scale(low, high, 0, pixels).ticks()
    assert [value for value, _ in ticks] == pytest.approx(expected, rel=1e-15)
    assert [float(text) for _, text in ticks] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([1.0, 2.0, None, math.nan], 5),
        ([1e12, 1e12 + 100], 15),
        ([1500.0, 1501.0], 8),
        ([7.0, 7.0], 5),
        ([], 5),
    ],
)
def test_digits_show_what_values_differ_by(values, digits):
    assert digits_of(values, 5) == digits


def test_ticks_of_decades():
    known = [text for _, text in Scale(1e-4, 1e-1, 0, 400, logarithmic=True).ticks()]
    assert known == ["0.0001", "0.001", "0.01", "0.1"]
    known = [text for _, text in Scale(0.9, 60, 0, 600, logarithmic=True).ticks()]
    assert known == ["1", "2", "5", "10", "20", "50"]


@pytest.mark.parametrize("values", [[1.0], [0.0], [-3.0, -3.0], [1e-9, 1.0], [], [math.nan]])
def test_the_axis_contains_all_values_and_has_ticks(values):
    for logarithmic in (False, True):
        found = scale(values, 0, 100, logarithmic)
        assert found.low < found.high
        assert all(0 < found.at(value) < 100 for value in values if value == value)
        assert found.ticks()


def test_only_positive_values_over_a_decade_are_logarithmic():
    assert scale([1, 11], 0, 1, True).logarithmic
    assert not scale([1, 9], 0, 1, True).logarithmic
    assert not scale([0, 11], 0, 1, True).logarithmic
    assert not scale([1, 11], 0, 1).logarithmic


@pytest.mark.parametrize(("low", "expected"), [(0.5, True), (-5.0, False)])
def test_an_interval_that_reaches_below_zero_makes_the_axis_linear(low, expected):
    row = IntervalRow("a", 0, 10.0, low, 25.0, [1.0, 20.0])
    record = Intervals("", "", [row], logarithmic=True)
    assert is_logarithmic(record) == expected
    axes = draw(figure("", "", [[record]], (4, 2))).axes[0]
    assert (axes.get_xscale() == "log") == expected


def test_times_have_ticks_at_the_start_of_a_year_or_month():
    months = [f"{1936 + n // 12}-{n % 12 + 1:02d}" for n in range(5, 564)]
    years = time_ticks(months)
    assert [text for _, text in years] == ["1940", "1950", "1960", "1970", "1980"]
    assert all(months[int(place)] == f"{text}-01" for place, text in years)
    days = [f"2020-{1 + n // 28:02d}-{n % 28 + 1:02d}" for n in range(100)]
    assert time_ticks(days) == [(28, "2020-02"), (56, "2020-03"), (84, "2020-04")]
    assert time_ticks(["a", "b", "c"]) == [(0, "a"), (1, "b"), (2, "c")]
    assert len(time_ticks([str(n) for n in range(1000, 1600)])) <= 9
    assert time_ticks([str(n) for n in range(12_000, 12_600)])[1] == (100, "12100")


def test_labels_that_no_font_has_become_squares():
    assert drawable("straße·") == "straße·"
    assert drawable("e\u0301\u200d") == "é"
    assert drawable("\n\ud800a") == "□□a" and font_warning() is None
    assert drawable("\N{NUSHU CHARACTER-1B170}") == "□" and "Noto Sans CJK" in font_warning()
    assert font_warning() is None
    assert drawable("Donaudampfschiff", 10) == "Donau…hiff"
