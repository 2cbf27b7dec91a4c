"""Charts: axes, the lines of baselines, and characters that no font has."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.views.png.figure import draw, save
from attnlab.views.png.style import font_warning, printable
from attnlab.views.records import Curve, Curves, IntervalRow, Intervals, Scatter, figure


def axes_of(record):
    return draw(figure("", "", [[record]], (5, 3))).axes[0]


def test_only_positive_values_over_a_decade_are_logarithmic():
    for values, scale in (([1, 11], "log"), ([1, 9], "linear"), ([0, 11], "linear")):
        record = Curves("", "", "", [1, 2], [Curve("a", values)], logarithmic=True)
        assert axes_of(record).get_yscale() == scale
    for low, scale in ((0.5, "log"), (-5.0, "linear")):
        row = IntervalRow("a", 0, 10.0, low, 25.0, [1.0, 20.0])
        assert axes_of(Intervals("", "", [row], logarithmic=True)).get_xscale() == scale


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_each_baseline_has_a_name_and_a_mark_unless_it_is_far_away(
    logarithmic, count, legible_texts
):
    means = (1e-4, 2e-3, 0.3)
    rows = [
        IntervalRow(f"a group with a long name / {mean}", n, mean, mean / 3, 3 * mean, [mean] * 2)
        for n, mean in enumerate(means)
    ]
    lines = [("persistence", 0.5), ("drift", 1e-4), ("seasonal_naive", 0.499)][:count]
    far = [("far", 1e9)] * (count > 1)  # several have a row each
    record = Intervals("means", "rmse", rows, [*lines, *far], logarithmic)
    picture = draw(figure("title", "", [[record]], (4.4, 3)))
    texts, axes = legible_texts(picture), picture.axes[0]
    low, high = axes.get_xlim()
    places = [line.get_xdata()[0] for line in axes.lines]
    assert all(low < value < high and value in places and name in texts for name, value in lines)
    assert not far or ({"far", "1e+09"} <= {*texts} and 1e9 not in places)
    assert len([tick for tick in axes.get_xticks() if low <= tick <= high]) >= 4


@pytest.mark.parametrize(
    "values, ticks",
    [
        ([2e-6, 3e-4], ["1e-05", "1e-04"]),
        ([2e-3, 3e-1], ["0.01", "0.1"]),
        ([0, 3e-5], ["0", "1e-05", "2e-05", "3e-05"]),
        ([0, 1.2e-4], ["0", "0.00002", "0.0001"]),
    ],
)
def test_the_numbers_of_an_axis_have_one_form(values, ticks):
    axes = axes_of(Curves("", "", "", [1, 2], [Curve("a", values)], logarithmic=True))
    low, high = axes.get_ylim()
    places = axes.get_yticks()
    texts = axes.yaxis.get_major_formatter().format_ticks(places)
    seen = [text for at, text in zip(places, texts, strict=True) if low <= at <= high]
    assert {*ticks} <= {*seen} and len({"e" in text for text in seen if text != "0"}) == 1


def test_labels_have_no_control_characters_and_a_warning_if_no_font_has_them(tmp_path):
    font_warning()  # forget those of other tests
    assert printable("e\u0301\n\ud800a", 9) == "é□□a"
    assert printable("Donaudampfschiff", 10) == "Donau…hiff"
    for word, warning in (("straße", None), ("\N{NUSHU CHARACTER-1B170}", "Noto Sans CJK")):
        record = Scatter("", "", "", np.zeros((1, 2)), [word])
        save(figure("", "", [[record]]), tmp_path / "words.png")
        said = font_warning()
        assert warning is said is None or warning in said
        assert font_warning() is None
