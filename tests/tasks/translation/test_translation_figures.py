"""The figures of a translation run, and attention maps in every size and script."""

from __future__ import annotations

import math

import numpy as np
import pytest
from run_folders import write_run

from attnlab.runner.follow import draw_run
from attnlab.tasks.attention import Recorded, write_attention
from attnlab.tasks.translation import shown
from attnlab.views.png.figure import draw

METRICS = {
    "task": "translate",
    "attention": "bahdanau",
    "seed": 3,
    "metric": "bleu",
    "monitor": "val_bleu",
    "best_epoch": 6,
    "test": {"bleu": 41.237, "chrf": 60.4, "perplexity": 3.21, "loss": 1.17},
    "baselines": {"nearest_pair": {"bleu": 12.34}},
    "best_baseline": "nearest_pair",
}
RANDOM = np.random.default_rng(0)


def history(epochs=7, every=2):
    numbers = list(range(1, epochs + 1))
    scored = [number % every == 0 or number == epochs for number in numbers]
    return {
        "epoch": numbers,
        "train_loss": [5 * 0.7**number + 1 for number in numbers],
        "val_loss": [5 * 0.7**number + 1.1 for number in numbers],
        "val_perplexity": [math.exp(5 * 0.7**number + 1.1) for number in numbers],
        "val_accuracy": [0.5] * epochs,
        "val_bleu": [6.0 * n if s else math.nan for n, s in zip(numbers, scored, strict=True)],
        "val_chrf": [8.0 * n if s else math.nan for n, s in zip(numbers, scored, strict=True)],
    }


def attention(count=8):
    """Sentence n has n + 1 source and n + 2 target labels, END among them; the rest is padding.

    Its reference is the translation for an even n; the first words are linked.
    """

    def labels(name, lengths):
        width = max(lengths)
        return [[f"{name}{i}" if i < n else "" for i in range(width)] for n in lengths]

    source, target = (
        np.array(labels(name, range(more, count + more)), "U5")
        for name, more in (("s", 1), ("t", 2))
    )
    for rows, more in ((source, 0), (target, 1)):
        for n, row in enumerate(rows):
            row[n + more] = "<end>"
    reference = np.where(target == "<end>", "", target)
    reference[1::2, 0] = "other"
    return {
        "cross": RANDOM.random((count, 2, 3, count + 1, count)).astype(np.float16),
        "source": source,
        "target": target,
        "reference": reference,
        "links": np.eye(count + 1, count, dtype=bool)[None].repeat(count, 0)
        & (np.arange(count) < 1),
    }


def seven_epochs(folder, arrays=None):
    run = write_run(folder, "bahdanau", 3, task="translate", metrics=METRICS)
    columns = history()
    rows = zip(*columns.values(), strict=True)
    run.history.replace([dict(zip(columns, row, strict=True)) for row in rows])
    if arrays:
        write_attention(run, Recorded({1: attention(), 6: arrays}, 6))
    return run


def translation_figures(run):
    return {name: draw(figure) for name, figure in shown.figures(run, METRICS).items()}


def test_a_run_has_all_its_figures(tmp_path):
    drawings = draw_run(seven_epochs(tmp_path, attention()))
    names = ["loss.png", *(f"attention_{number}.png" for number in range(1, 9))]
    assert [path.name for path in drawings] == names
    assert all(path.stat().st_size > 3000 for path in drawings)


def test_maps_of_the_best_epoch_are_drawn_without_padding(tmp_path):
    arrays = attention()
    figures = translation_figures(seven_epochs(tmp_path, arrays))
    axes = figures["attention_2.png"].axes[0]
    assert words(axes) == ["t0", "t1", "<end>", "s0", "<end>"]
    mean = arrays["cross"][1].astype(np.float64).mean(axis=(0, 1))
    np.testing.assert_allclose(axes.images[0].get_array(), mean[:3, :2], rtol=1e-6)


def test_loss_perplexity_and_scores_have_a_panel_each(tmp_path, legible_texts):
    figure = translation_figures(seven_epochs(tmp_path))["loss.png"]
    loss, perplexity, scores = figure.axes
    assert loss.get_ylabel().startswith("loss")
    assert perplexity.get_yscale() == "log"
    bleu, chrf = scores.get_lines()[:2]
    assert bleu.get_xdata().tolist() == [2, 4, 6, 7]
    assert bleu.get_ydata().tolist() == [12, 24, 36, 42]
    assert chrf.get_ydata().tolist() == [16, 32, 48, 56]
    labels = [text.get_text() for text in scores.get_legend().get_texts()]
    assert labels == ["validation BLEU", "validation chrF", "best epoch: 6 (36)"]
    result = "test BLEU 41.24   chrF 60.4   perplexity 3.21   best baseline: nearest_pair 12.34"
    assert result in [text.get_text() for text in figure.texts]
    assert legible_texts(figure)


# --- maps --------------------------------------------------------------------------------------

END = "<end>"
SOURCE = ["The", "black", "cat", "sleeps", ".", END]
TARGET = ["Die", "schwarze", "Katze", "schläft", "heute", "nicht", ".", END]


def weights(*shape):
    """Weights (L, H, T, S), with one layer and one head if only T and S are given."""
    shape = (1, 1, *shape)[-4:]
    return np.random.default_rng(0).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def maps_figure(cross, source=SOURCE, target=TARGET, links=(), title="attention", **chosen):
    return draw(shown.maps_figure(cross, source, target, links, title=title, **chosen))


def pictures(figure):
    """The arrays drawn as heat maps; the colour bar is the other kind of axes."""
    return [axes.images[0].get_array() for axes in figure.axes if axes.images]


def words(axes):
    return [text.get_text() for text in (*axes.get_yticklabels(), *axes.get_xticklabels())]


def test_one_map_has_its_tokens_and_gold_links_without_padding():
    table = weights(11, 13)
    figure = maps_figure(table, links=[(0, 0), (2, 1)])
    (picture,) = pictures(figure)
    np.testing.assert_array_equal(picture, table[0, 0, :8, :6])
    axes = figure.axes[0]
    assert words(axes) == [*TARGET, *SOURCE]
    assert (axes.get_yticks().tolist(), axes.get_xticks().tolist()) == ([*range(8)], [*range(6)])
    assert [frame.get_xy() for frame in axes.patches] == [(-0.5, -0.5), (0.5, 1.5)]
    assert figure.texts[1].get_text() == "rows: target, columns: source; frames: gold links"


def test_each_layer_and_head_has_a_map():
    table = weights(2, 3, 8, 6)
    figure = maps_figure(table, all_heads=True)
    np.testing.assert_array_equal(pictures(figure), table.reshape(6, 8, 6))
    names = [axes.get_title() for axes in figure.axes if axes.images]
    assert names[0] == "layer 1, head 1" and names[-1] == "layer 2, head 3"
    assert words(figure.axes[0])[:8] == TARGET


@pytest.mark.parametrize(
    ("table", "all_heads"), [(weights(2, 3, 8, 6), False), (weights(6, 8, 8, 6), True)]
)
def test_no_label_overlaps_or_leaves_the_figure(table, all_heads, legible_texts):
    title = "translate · scaled_dot_product · seed 0: attention, epoch mean of 3, 4, 5, 6"
    links = [(n, n) for n in range(6)]
    assert legible_texts(maps_figure(table, links=links, title=title, all_heads=all_heads))
