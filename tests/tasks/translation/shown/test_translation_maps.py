"""Attention maps: the right weights at the right tokens, in every size and script."""

from __future__ import annotations

import numpy as np
import pytest

from attnlab.errors import RequestError
from attnlab.tasks.translation.shown import maps as shown
from attnlab.views.png.figure import draw
from attnlab.views.png.style import write

END = "<end>"
SOURCE = ["The", "black", "cat", "sleeps", ".", END]
TARGET = ["Die", "schwarze", "Katze", "schläft", "heute", "nicht", ".", END]


def weights(*shape):
    """Weights (L, H, T, S), with one layer and one head if only T and S are given."""
    shape = (1, 1, *shape)[-4:]
    return np.random.default_rng(0).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def transformer(source, target, layers=2, heads=3):
    size = layers, heads
    return {
        "cross": weights(*size, target, source),
        "encoder": weights(*size, source, source),
        "decoder": weights(*size, target, target),
    }


def maps_figure(maps, source=SOURCE, target=TARGET, links=(), **chosen):
    return draw(shown.maps_figure(maps, source, target, links, **{"title": "attention", **chosen}))


def pictures(figure):
    """The arrays drawn as heat maps; the colour bar is the other kind of axes."""
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_one_map_has_its_tokens_and_gold_links_without_padding():
    table = weights(11, 13)
    figure = maps_figure({"cross": table}, links=[(0, 0), (2, 1)])
    (picture,) = pictures(figure)
    np.testing.assert_array_equal(picture, table[0, 0, :8, :6])
    axes = figure.axes[0]
    assert words(axes) == [*TARGET, *SOURCE]
    assert [text.get_position()[1] for text in axes.texts[:8]] == list(range(8))
    assert [text.get_position()[0] for text in axes.texts[8:]] == list(range(6))
    assert [frame.get_xy() for frame in axes.patches] == [(-0.5, -0.5), (0.5, 1.5)]
    assert figure.texts[1].get_text() == "rows: target, columns: source; frames: gold links"


def test_layers_are_rows_and_heads_are_columns():
    table = weights(2, 3, 8, 6)
    (picture,) = pictures(maps_figure({"cross": table}, all_heads=True))
    gap = picture.shape[0] - 16
    assert picture.shape == (16 + gap, 18 + 2 * gap)
    for layer in range(2):
        for head in range(3):
            top, left = layer * (8 + gap), head * (6 + gap)
            part = picture[top : top + 8, left : left + 6]
            np.testing.assert_array_equal(part, table[layer, head])
    assert np.ma.count(picture) == table.size  # the gaps are empty


def test_a_transformer_has_three_blocks_with_one_scale():
    maps = transformer(6, 8)
    figure = maps_figure(maps, all_heads=True)
    encoder, decoder, cross = (axes for axes in figure.axes if axes.images)
    assert words(encoder)[:6] == SOURCE
    assert words(decoder)[:8] == TARGET
    assert words(decoder)[-9:] == ["<start>", *TARGET[:-1], "head 3"]
    assert words(cross)[-7:] == [*SOURCE, "head 3"]
    limits = {axes.images[0].get_clim() for axes in (encoder, decoder, cross)}
    assert limits == {(0, max(table.max() for table in maps.values()))}


@pytest.mark.parametrize(
    ("chosen", "part", "words"),
    [
        ({}, np.s_[:, :], "mean of 2 layers, mean of 3 heads; "),
        ({"layer": 2}, np.s_[1:, :], "layer 2, mean of 3 heads; "),
        ({"layer": 1, "head": 2}, np.s_[:1, 1:2], "layer 1, head 2; "),
    ],
)
def test_one_map_is_a_mean_or_that_of_a_layer_and_head(chosen, part, words):
    maps = transformer(6, 8)
    figure = maps_figure(maps, **chosen)
    (picture,) = pictures(figure)
    np.testing.assert_allclose(picture, maps["cross"][part].mean(axis=(0, 1)))
    assert figure.texts[1].get_text() == f"{words}rows: target, columns: source"


def test_a_missing_head_is_named():
    with pytest.raises(RequestError, match="--head: expected 1 to 3, got 4"):
        maps_figure(transformer(6, 8), head=4)


ODD = ["Donaudampfschifffahrtsgesellschaftskapitän", "$5", "x^2$", "中文", "😀", "ß", "e\u0301"]
ODD += ["\u200d", "\n", "العربية", "·haus", "\ud800", "\N{DOUBLE QUESTION MARK}", "", "{", "\\"]


@pytest.mark.parametrize("ending", [".png", ".PDF", ".svg"])
def test_tokens_of_every_script_and_weights_that_are_not_finite_are_drawn(tmp_path, ending):
    path = tmp_path / f"new/map{ending}"
    table = weights(len(ODD) + 1, len(ODD) + 1)
    table[..., 0, 0] = np.nan
    write(maps_figure({"cross": table}, [*ODD, END], [*ODD[::-1], END]), path)
    assert path.stat().st_size > 3000


@pytest.mark.parametrize(
    ("maps", "source", "target", "all_heads"),
    [
        ({"cross": weights(1, 1)}, [END], [END], False),
        (transformer(6, 8), SOURCE, TARGET, False),
        (transformer(6, 8, layers=6, heads=8), SOURCE, TARGET, True),
        ({"cross": weights(2, 8, 91, 101)}, [*SOURCE[:5] * 20, END], [*TARGET[:6] * 15, END], True),
    ],
    ids=["empty", "transformer", "base size", "long, heads"],
)
def test_labels_neither_overlap_nor_leave_the_figure(maps, source, target, all_heads, drawn_texts):
    title = "translate · scaled_dot_product · seed 0: attention, epoch mean of 3, 4, 5, 6"
    links = [(n, n) for n in range(min(len(source), len(target)))]
    figure = maps_figure(maps, source, target, links, title=title, all_heads=all_heads)
    boxes = drawn_texts(figure)
    inside = figure.bbox.padded(1)
    for text, box in boxes:
        assert inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1), text
    corners = np.array([(box.x0, box.y0, box.x1, box.y1) for _, box in boxes])
    low, high = corners[:, None, :2], corners[:, None, 2:]
    apart = (high <= corners[None, :, :2]).any(-1) | (corners[None, :, 2:] <= low).any(-1)
    close = np.argwhere(np.triu(~apart, 1))
    assert not len(close), [(boxes[i][0], boxes[j][0]) for i, j in close[:5]]
