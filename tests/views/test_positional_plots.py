"""The figures of positional encodings show the formula's values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import drawn
from matplotlib.image import imread
from matplotlib.text import Annotation

from attnlab.layers.sinusoids import sinusoidal
from attnlab.views import positions
from attnlab.views.png.figure import save
from attnlab.views.positions import default_dimensions, positional_figures

matrix_figure, waves_figure = drawn(positions.matrix_figure), drawn(positions.waves_figure)
circles_figure, distances_figure = (
    drawn(positions.circles_figure),
    drawn(positions.distances_figure),
)

CODES = sinusoidal(100, 128)


def test_the_matrix_is_drawn_as_it_is():
    picture = matrix_figure(CODES).axes[0].images[0]
    np.testing.assert_array_equal(picture.get_array(), CODES)
    assert picture.get_clim() == (-1, 1)


def test_waves_of_chosen_dimensions():
    figure = waves_figure(CODES, [0, 33, 7])
    for axes, column in zip(figure.axes, [0, 33, 7], strict=True):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), CODES[:, column])
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles[0] == "dimension 0: sine, 6.3 positions a wave"
    # The wave of pair 16 of 64: 2 pi 10000^(32/128).
    assert titles[1] == f"dimension 33: cosine, {2 * math.pi * 10:.1f} positions a wave"


def test_a_sine_without_its_cosine_has_its_own_length():
    figure = waves_figure(sinusoidal(20, 5), [4])
    title = figure.axes[0].get_title("left")
    assert title == f"dimension 4: sine, {2 * math.pi * 10000**0.8:,.1f} positions a wave"


def test_default_waves_range_from_fast_to_slow():
    chosen = default_dimensions(CODES)
    assert chosen[:2] == [0, 1]
    assert len(chosen) == 6
    assert all(np.ptp(CODES[:, column]) > 0.9 for column in chosen)


def test_points_are_on_circles_and_arrows_turn_by_one_angle():
    figure = circles_figure(CODES, 10)
    panels = [axes for axes in figure.axes if axes.get_xlabel() == "cosine"]
    assert len(panels) == 6
    for axes in panels:
        points = axes.collections[0].get_offsets()
        np.testing.assert_allclose(np.hypot(*points.T), 1)
        expected = float(axes.get_title().split(": ")[1].rstrip("°"))
        arrows = [child for child in axes.get_children() if isinstance(child, Annotation)]
        assert len(arrows) == 2
        for arrow in arrows:
            start, end = (math.atan2(y, x) for x, y in (arrow.xyann, arrow.xy))
            turned = math.degrees(end - start) % 360
            assert turned == pytest.approx(expected, abs=0.6)


def test_distances_depend_only_on_the_steps_between():
    left, right = (axes for axes in distances_figure(CODES).axes if axes.get_xlabel())
    table = left.images[0].get_array()
    expected = np.linalg.norm(CODES[:, None] - CODES[None], axis=-1)
    np.testing.assert_allclose(table, expected, atol=1e-6)
    far, near = (line.get_ydata() for line in right.lines[:2])
    np.testing.assert_allclose(far, expected[0] / expected[0].max(), atol=1e-6)
    np.testing.assert_allclose(near, CODES @ CODES[0] / 64, atol=1e-9)


@pytest.mark.parametrize(
    ("length", "units"),
    [
        (2, 2),
        (50, 512),
        *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((3, 3), (7, 5), (300, 6))),
    ],
)
def test_every_size_is_drawn(tmp_path, length, units):
    figures = positional_figures(sinusoidal(length, units))
    files = [save(figure, tmp_path / "new" / name) for name, figure in figures.items()]
    names = ["matrix", "waves", "circles", "distances"]
    assert [path.name for path in files] == [f"positional_{name}.png" for name in names]
    for path in files:
        assert 0.01 < (imread(path)[..., :3].min(axis=-1) < 0.9).mean() < 0.9


@pytest.mark.parametrize(
    "figure",
    [
        matrix_figure(CODES),
        waves_figure(CODES, default_dimensions(CODES)),
        circles_figure(CODES, 10),
        distances_figure(CODES),
    ],
    ids=["matrix", "waves", "circles", "distances"],
)
def test_texts_neither_overlap_nor_leave_the_figure(figure, legible_texts):
    assert legible_texts(figure)
