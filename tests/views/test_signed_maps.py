"""Maps of weights below 0 have colours around 0; others have the colours of before."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attnlab.views.png.attention import attention_figure
from attnlab.views.png.images import images_figure
from attnlab.views.png.maps import draw_maps, panels
from attnlab.views.png.style import COLOUR_MAP, SIGNED_COLOUR_MAP
from attnlab.views.records import AttentionMap, AttentionMaps, ImageMap, ImageMaps, Maps

WEIGHTS = np.array([[[0.5, 0.25], [0.0, 1.0]], [[0.5, 0.5], [0.75, 0.125]]])
SIGNED = np.where(WEIGHTS == 0.25, -2.0, WEIGHTS)
both = pytest.mark.parametrize(
    "weights, colours, limits",
    [(WEIGHTS, COLOUR_MAP, (0, 1)), (SIGNED, SIGNED_COLOUR_MAP, (-2, 2))],
    ids=["shares", "signed"],
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def look(image):
    return image.get_cmap().name, image.get_clim()


@both
def test_maps(weights, colours, limits):
    """All maps of a record have the same colours."""
    for each in sum(panels(Maps(["a", "b"], weights)), []):
        assert look(draw_maps(plt.figure().add_subplot(), each)) == (colours, limits)
    fixed = Maps([""], weights, limits=(-1.0, 1.0))
    assert look(draw_maps(plt.figure().add_subplot(), fixed)) == (COLOUR_MAP, (-1, 1))
    fixed = replace(fixed, signed=True)
    assert look(draw_maps(plt.figure().add_subplot(), fixed)) == (SIGNED_COLOUR_MAP, (-1, 1))


@both
def test_maps_between_words(weights, colours, limits):
    figure = attention_figure("", "", AttentionMaps([AttentionMap("ab", "cd", weights)]))
    assert look(figure.axes[0].images[0]) == (colours, limits)


@both
def test_maps_on_images(weights, colours, limits):
    pixels = np.zeros((2, 2, 1), np.uint8)
    record = ImageMaps([ImageMap(pixels, weights[:1], "1")], ["a"])
    image = images_figure("", "", record).axes[1].images[0]
    assert look(image) == (colours, limits)
