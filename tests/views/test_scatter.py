"""Maps of vocabularies: the right plane, and labels that don't cover each other."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import drawn

from attnlab.tasks.shown.run_figures import principal_plane, vocabulary_figure

word_map = drawn(vocabulary_figure)

RANDOM = np.random.default_rng(0)


def clusters(count=90, width=16):
    middles = RANDOM.normal(size=(3, width)) * 3
    return np.concatenate([middle + RANDOM.normal(size=(count // 3, width)) for middle in middles])


def test_the_plane_is_the_one_of_largest_variance():
    # Stretched along two known directions.
    flat = RANDOM.normal(size=(500, 2)) * [5, 2]
    turn, _ = np.linalg.qr(RANDOM.normal(size=(7, 7)))
    vectors = flat @ turn[:2] + 3 + RANDOM.normal(size=(500, 7)) * 1e-3
    places, shares = principal_plane(vectors)
    assert shares.sum() == pytest.approx(1, abs=1e-6)
    assert shares[0] == pytest.approx(25 / 29, abs=0.02)
    centred = flat - flat.mean(axis=0)
    np.testing.assert_allclose(
        np.linalg.norm(places, axis=1), np.linalg.norm(centred, axis=1), atol=0.02
    )


def test_equal_vectors_give_equal_maps_in_any_order():
    vectors = clusters()
    order = RANDOM.permutation(len(vectors))
    places, _ = principal_plane(vectors)
    np.testing.assert_allclose(principal_plane(vectors[order])[0], places[order], atol=1e-9)


def test_one_dimension_and_one_point():
    places, shares = principal_plane(np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose(np.abs(places[:, 0]), [2, 1, 3])
    np.testing.assert_array_equal(places[:, 1], 0)
    np.testing.assert_allclose(shares, [1, 0])
    np.testing.assert_array_equal(principal_plane(np.ones((4, 3)))[1], [0, 0])


def test_no_label_covers_another_or_the_legend_which_names_all(legible_texts):
    names = ["class", "__label__", "cost_$ per_$ "]
    words = [f"Wort{number}" for number in range(90)]
    figure = word_map(clusters(), words, title="", groups=names, members=np.arange(90) % 3)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert f"; {len(axes.texts)} have room" in figure.texts[1].get_text()
    assert len({*legible_texts(figure)} & {*words}) > 30
    legend = axes.get_legend().get_window_extent()
    assert not any(text.get_window_extent().overlaps(legend) for text in axes.texts)


def test_a_point_without_strength_is_grey_and_others_have_the_colour_of_their_group():
    groups = {"groups": ["a", "b"], "members": [0, 1, 1], "strengths": [1.0, 1.0, 0.0]}
    figure = word_map(np.eye(3), ["x", "y", "z"], title="", **groups)
    points, *legend = figure.axes[0].collections
    first, second = (handle.get_facecolor()[0] for handle in legend)
    np.testing.assert_allclose(points.get_facecolor(), [first, second, [0.8, 0.8, 0.8, 1.0]])


def test_words_in_one_spot_keep_their_points():
    figure = word_map(np.ones((50, 4)), [f"Wort{i}" for i in range(50)], title="which run")
    axes = figure.axes[0]
    assert len(axes.collections[0].get_offsets()) == 50
    assert 0 < len(axes.texts) < 50
    title, subtitle = (text.get_text() for text in figure.texts)
    assert title == "which run" and subtitle.startswith("PCA of the 50 most frequent words")
    assert subtitle.endswith(f"% of the variance; {len(axes.texts)} have room for a label")
    assert axes.texts[0].get_text() == "Wort0"  # the most frequent one first
