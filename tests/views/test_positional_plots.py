"""The figures of positional encodings show the formula's values."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.layers.positional_encoding import sinusoidal
from attnlab.views.png.figure import draw
from attnlab.views.positions import positional_figures

CODES = sinusoidal(100, 128)
FIGURES = positional_figures(CODES)


@pytest.fixture(scope="module")
def drawn():
    """The figures by what they show."""
    return {name[11:-4]: draw(figure) for name, figure in FIGURES.items()}


def test_the_matrix_is_drawn_as_it_is(drawn):
    picture = drawn["matrix"].axes[0].images[0]
    np.testing.assert_array_equal(picture.get_array(), CODES)
    assert picture.get_clim() == (-1, 1)


def test_distances_depend_only_on_the_steps_between(drawn):
    left, right = (axes for axes in drawn["distances"].axes if axes.get_xlabel())
    table = left.images[0].get_array()
    expected = np.linalg.norm(CODES[:, None] - CODES[None], axis=-1)
    np.testing.assert_allclose(table, expected, atol=1e-6)
    far, near = (line.get_ydata() for line in right.lines[:2])
    np.testing.assert_allclose(far, expected[0] / expected[0].max(), atol=1e-6)
    np.testing.assert_allclose(near, CODES @ CODES[0] / 64, atol=1e-9)


def test_texts_neither_overlap_nor_leave_the_figure(drawn, legible_texts):
    assert all(legible_texts(figure) for figure in drawn.values())
