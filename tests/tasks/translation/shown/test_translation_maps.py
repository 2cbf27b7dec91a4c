"""Attention maps: the right weights at the right tokens, in every size and script."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import imread

from attnlab.errors import RequestError
from attnlab.tasks.translation.shown import maps as shown
from attnlab.views.png.figure import draw
from attnlab.views.png.labels import drawable
from attnlab.views.png.style import write

END = "<end>"
SOURCE = ["The", "black", "cat", "sleeps", ".", END]
TARGET = ["Die", "schwarze", "Katze", "schläft", "heute", "nicht", ".", END]


def weights(*shape):
    """Weights (L, H, T, S), with one layer and one head if only T and S are given."""
    shape = (1, 1, *shape)[-4:]
    return np.random.default_rng(0).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def maps_figure(maps, source, target, gold=None, title="attention", all_heads=None, **chosen):
    if all_heads is None:
        all_heads = len(maps) > 1 or maps["cross"].shape[:2] != (1, 1)
    chosen = {"title": title, "all_heads": all_heads, **chosen}
    return draw(shown.maps_figure(maps, source, target, gold, **chosen))


def transformer(source, target, layers=2, heads=3):
    size = layers, heads
    return {
        "cross": weights(*size, target, source),
        "encoder": weights(*size, source, source),
        "decoder": weights(*size, target, target),
    }


def pictures(figure):
    """The arrays drawn as heat maps; the colour bar is the other kind of axes."""
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_one_map_has_its_tokens_and_end():
    table = weights(1, 1, 8, 6)
    figure = maps_figure({"cross": table}, SOURCE, TARGET)
    (picture,) = pictures(figure)
    np.testing.assert_array_equal(picture, table[0, 0])
    assert words(figure.axes[0]) == [*TARGET, *SOURCE]


def test_each_label_is_at_its_row_or_column():
    axes = maps_figure({"cross": weights(8, 6)}, SOURCE, TARGET).axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts[:8]}
    assert [places[word][1] for word in TARGET] == list(range(8))
    assert [text.get_position()[0] for text in axes.texts[8:]] == list(range(6))


def test_padding_is_cut_off():
    table = weights(11, 13)
    (picture,) = pictures(maps_figure({"cross": table}, SOURCE, TARGET))
    np.testing.assert_array_equal(picture, table[0, 0, :8, :6])


def test_layers_are_rows_and_heads_are_columns():
    table = weights(2, 3, 8, 6)
    (picture,) = pictures(maps_figure({"cross": table}, SOURCE, TARGET))
    gap = picture.shape[0] - 16
    assert picture.shape == (16 + gap, 18 + 2 * gap)
    for layer in range(2):
        for head in range(3):
            top, left = layer * (8 + gap), head * (6 + gap)
            found = picture[top : top + 8, left : left + 6]
            np.testing.assert_array_equal(found, table[layer, head])
    assert np.ma.count(picture) == table.size  # the gaps are empty


def test_a_transformer_has_three_blocks_with_one_scale():
    maps = transformer(6, 8)
    figure = maps_figure(maps, SOURCE, TARGET)
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
        ({"head": 3}, np.s_[:, 2:], "mean of 2 layers, head 3; "),
        ({"layer": 1, "head": 2}, np.s_[:1, 1:2], "layer 1, head 2; "),
    ],
)
def test_one_map_is_a_mean_or_that_of_a_layer_and_head(chosen, part, words):
    maps = transformer(6, 8)
    figure = maps_figure(maps, SOURCE, TARGET, all_heads=False, **chosen)
    (picture,) = pictures(figure)
    np.testing.assert_allclose(picture, maps["cross"][part].mean(axis=(0, 1)))
    assert figure.texts[1].get_text() == f"{words}rows: target, columns: source"


def test_a_missing_head_is_named():
    with pytest.raises(RequestError, match="--head: expected 1 to 3, got 4"):
        maps_figure(transformer(6, 8), SOURCE, TARGET, all_heads=False, head=4)


def test_gold_links_are_framed():
    gold = np.zeros((9, 6), bool)
    gold[[0, 2, 8], [0, 2, 1]] = True  # the last one is padding
    figure = maps_figure({"cross": weights(8, 6)}, SOURCE, TARGET, gold)
    frames = [frame.get_xy() for frame in figure.axes[0].patches]
    assert frames == [(-0.5, -0.5), (1.5, 1.5)]
    assert figure.texts[1].get_text().endswith("; frames: gold links")


ODD = ["Donaudampfschifffahrtsgesellschaftskapitän", "$5", "x^2$", "中文", "😀", "ß", "e\u0301"]
ODD += ["\u200d", "\n", "العربية", "·haus", "\ud800", "\N{DOUBLE QUESTION MARK}", "", "{", "\\"]


@pytest.mark.parametrize("ending", [".png", ".PDF", ".svg"])
def test_tokens_of_every_script_are_drawn_without_a_warning(tmp_path, ending):
    path = tmp_path / f"new/map{ending}"
    size = len(ODD) + 1
    figure = maps_figure({"cross": weights(size, size)}, [*ODD, END], [*ODD[::-1], END])
    write(figure, path)
    assert path.stat().st_size > 3000


def test_labels_that_no_font_has_become_squares():
    assert drawable("straße·") == "straße·"
    assert drawable("e\u0301") == "é"
    assert drawable("\n\ud800a") == "□□a"
    assert drawable("\u200d") == ""
    assert drawable("Donaudampfschiff", 10) == "Donau…hiff"
    assert len(drawable("Donaudampfschiff", 11)) == 11


@pytest.mark.parametrize(
    ("maps", "source", "target"),
    [
        ({"cross": weights(8, 6)}, SOURCE, TARGET),
        ({"cross": weights(1, 1)}, [END], [END]),
        ({"cross": weights(1, 4, 2, 3)}, ["Go", ".", END], ["Geh", END]),
        (transformer(6, 8), SOURCE, TARGET),
        (transformer(6, 8, layers=6, heads=8), SOURCE, TARGET),
        ({"cross": weights(91, 101)}, [*SOURCE[:5] * 20, END], [*TARGET[:6] * 15, END]),
        ({"cross": weights(2, 8, 91, 101)}, [*SOURCE[:5] * 20, END], [*TARGET[:6] * 15, END]),
    ],
    ids=["one", "empty", "short", "transformer", "base size", "long", "long, heads"],
)
@pytest.mark.parametrize("all_heads", [True, False])
def test_labels_neither_overlap_nor_leave_the_figure(maps, source, target, drawn_texts, all_heads):
    title = "translate · scaled_dot_product · seed 0: attention, epoch mean of 3, 4, 5, 6"
    gold = np.eye(len(target), len(source), dtype=bool)
    figure = maps_figure(maps, source, target, gold, title=title, all_heads=all_heads)
    boxes = drawn_texts(figure)
    inside = figure.bbox.padded(1)
    for text, box in boxes:
        assert inside.contains(box.x0, box.y0), text
        assert inside.contains(box.x1, box.y1), text
    corners = np.array([(box.x0, box.y0, box.x1, box.y1) for _, box in boxes])
    low, high = corners[:, None, :2], corners[:, None, 2:]
    apart = (high <= corners[None, :, :2]).any(-1) | (corners[None, :, 2:] <= low).any(-1)
    close = np.argwhere(np.triu(~apart, 1))
    assert not len(close), [(boxes[i][0], boxes[j][0]) for i, j in close[:5]]


def test_weights_that_are_not_finite_are_drawn(tmp_path):
    table = np.full((1, 1, 8, 6), np.nan)
    write(maps_figure({"cross": table}, SOURCE, TARGET), tmp_path / "map.png")
    assert imread(tmp_path / "map.png").shape[2] == 4
