"""Maps of weights below 0 have colours around 0; others have the colours of before."""

from dataclasses import replace

import numpy as np
import pytest

from attnlab.views.png.figure import draw
from attnlab.views.png.style import COLOUR_MAP, SIGNED_COLOUR_MAP
from attnlab.views.records import AttentionMap, AttentionMaps, ImageMap, ImageMaps, Maps, figure

WEIGHTS = np.array([[[0.5, 0.25], [0.0, 1.0]], [[0.5, 0.5], [0.75, 0.125]]])
SIGNED = np.where(WEIGHTS == 0.25, -2.0, WEIGHTS)
both = pytest.mark.parametrize(
    "weights, colours, limits",
    [(WEIGHTS, COLOUR_MAP, (0, 1)), (SIGNED, SIGNED_COLOUR_MAP, (-2, 2))],
    ids=["shares", "signed"],
)


def looks(record, size=None):
    """The colours and limits of a record's heat maps."""
    axes = draw(figure("", "", [[record]], size)).axes
    return [(image.get_cmap().name, image.get_clim()) for panel in axes for image in panel.images]


@both
def test_maps(weights, colours, limits):
    """All maps of a record have the same colours."""
    maps = Maps(["a", "b"], weights)
    assert looks(maps, (4, 2)) == [(colours, limits)] * 2
    fixed = replace(maps, limits=(-1.0, 1.0))
    assert looks(fixed, (4, 2)) == [(COLOUR_MAP, (-1, 1))] * 2
    assert looks(replace(fixed, signed=True), (4, 2)) == [(SIGNED_COLOUR_MAP, (-1, 1))] * 2


@both
def test_maps_between_words_and_on_images(weights, colours, limits):
    assert looks(AttentionMaps([AttentionMap("ab", "cd", weights)])) == [(colours, limits)]
    pixels = np.zeros((2, 2, 1), np.uint8)
    assert looks(ImageMaps([ImageMap(pixels, weights[:1], "1")], ["a"]))[1:] == [(colours, limits)]
