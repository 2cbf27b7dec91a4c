"""The figures of a translation run, drawn from its folder."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import drawn

from attnlab.errors import RequestError
from attnlab.records.run_directory import RunDirectory
from attnlab.run.figures import draw_run
from attnlab.tasks.attention import Recorded, write_attention
from attnlab.tasks.translation.shown import figures as shown
from attnlab.tasks.translation.shown.figures import translation_result
from attnlab.views.png.figure import draw

curves_figure, lengths_figure = drawn(shown.curves_figure), drawn(shown.lengths_figure)

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


def predictions(rows=100):
    lengths = RANDOM.integers(2, 15, rows)
    return {
        "index": np.arange(rows),
        "source": np.array([" ".join(["w"] * length) for length in lengths], object),
        "reference": np.array(["r"] * rows, object),
        "hypothesis": np.array(["h"] * rows, object),
        "sentence_bleu": 100.0 - lengths,
        "sentence_chrf": np.full(rows, 50.0),
    }


def attention(count=8, layers=1, heads=1):
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
        "cross": RANDOM.random((count, layers, heads, count + 1, count)).astype(np.float16),
        "encoder": RANDOM.random((layers, heads, 1, 1)).astype(np.float16),
        "decoder": RANDOM.random((layers, heads, 2, 2)).astype(np.float16),
        "source": source,
        "target": target,
        "reference": reference,
        "links": np.eye(count + 1, count, dtype=bool)[None].repeat(count, 0)
        & (np.arange(count) < 1),
    }


def make_run(folder, arrays=None):
    run = RunDirectory.create(folder, "translate", "bahdanau", 3)
    run.write_json("metrics.json", METRICS)
    columns = history()
    rows = zip(*columns.values(), strict=True)
    run.history.replace([dict(zip(columns, row, strict=True)) for row in rows])
    run.write_predictions(predictions())
    if arrays:
        write_attention(run, Recorded({1: attention(), 6: arrays}, 6))
    run.status.write("completed")
    return run


def translation_figures(run):
    return {name: draw(each) for name, each in shown.figures(run, METRICS).items()}


def test_a_run_has_all_its_figures(tmp_path):
    drawings = draw_run(make_run(tmp_path, attention()))
    names = ["loss.png", "lengths.png", *(f"attention_{number}.png" for number in range(1, 9))]
    assert [path.name for path in drawings] == names
    assert all(path.stat().st_size > 3000 for path in drawings)


def test_a_run_without_attention_has_two_and_missing_data_are_named(tmp_path):
    run = make_run(tmp_path)
    assert [path.name for path in draw_run(run)] == ["loss.png", "lengths.png"]
    run.write_predictions({"index": [0], "source": ["a"]})
    with pytest.raises(RequestError, match="damaged: no 'sentence_bleu'"):
        draw_run(run)


def test_maps_of_the_best_epoch_are_drawn_without_padding(tmp_path):
    arrays = attention()
    figures = translation_figures(make_run(tmp_path, arrays))
    axes = figures["attention_2.png"].axes[0]
    assert [text.get_text() for text in axes.texts] == ["t0", "t1", "<end>", "s0", "<end>"]
    np.testing.assert_array_equal(axes.images[0].get_array(), arrays["cross"][1, 0, 0, :3, :2])


def test_gold_links_of_right_translations_are_framed(tmp_path):
    figures = translation_figures(make_run(tmp_path, attention()))
    frames = [len(figures[f"attention_{number}.png"].axes[0].patches) for number in range(1, 5)]
    assert frames == [1, 0, 1, 0]


@pytest.mark.parametrize("heads", [1, 64])
def test_a_transformers_means_and_heads_are_drawn(tmp_path, heads):
    arrays = attention(layers=2, heads=heads)
    figures = translation_figures(make_run(tmp_path, arrays))
    assert len(figures) == 2 + 8 + 1
    mean = figures["attention_8.png"].axes[0].images[0].get_array()
    wanted = arrays["cross"][7].astype(np.float64).mean(axis=(0, 1))
    np.testing.assert_allclose(mean, wanted, rtol=1e-6)
    every = figures["attention_heads.png"].axes
    shown_maps = [axes.images[0].get_array() for axes in every if axes.images]
    # Of the first sentence: 1 source and 2 target labels, in two layers.
    sizes = [2 * heads * size for size in (1, 2 * 2, 2 * 1)]
    assert [np.ma.count(picture) for picture in shown_maps[:3]] == sizes


def test_loss_perplexity_and_scores_have_a_panel_each():
    loss, perplexity, scores = curves_figure(history(), METRICS).axes
    assert loss.get_ylabel().startswith("loss")
    assert perplexity.get_yscale() == "log"
    bleu, chrf = scores.get_lines()[:2]
    assert bleu.get_xdata().tolist() == [2, 4, 6, 7]
    assert bleu.get_ydata().tolist() == [12, 24, 36, 42]
    assert chrf.get_ydata().tolist() == [16, 32, 48, 56]
    labels = [text.get_text() for text in scores.get_legend().get_texts()]
    assert labels == ["validation BLEU", "validation chrF", "best epoch: 6 (36)"]


@pytest.mark.parametrize("rows", [1, 11, 400])
def test_scores_by_length(rows):
    bleu, chrf = (
        lines[0] for lines in lengths_figure(predictions(rows), METRICS).axes[0].containers
    )
    np.testing.assert_allclose(bleu.get_ydata(), 100 - bleu.get_xdata())
    np.testing.assert_allclose(chrf.get_ydata(), 50)
    assert len(bleu.get_xdata()) == 1 if rows < 20 else 4 <= len(bleu.get_xdata()) <= 8
    assert (np.diff(bleu.get_xdata()) > 0).all()


@pytest.mark.parametrize(
    ("lengths", "points"),
    [([5] * 71, [5]), ([5] * 79 + [9] * 30, [5, 9]), ([5] * 79 + [9] * 2, [5]), ([5] * 4, [5])],
)
def test_groups_of_equal_lengths_and_few_sentences(lengths, points):
    table = predictions(len(lengths))
    table["source"] = np.array([" ".join(["w"] * length) for length in lengths], object)
    bleu, _ = (lines[0] for lines in lengths_figure(table, METRICS).axes[0].containers)
    assert bleu.get_xdata().tolist() == points


def test_the_result_is_shown_with_the_best_baseline():
    assert translation_result(METRICS) == (
        "test BLEU 41.24   chrF 60.4   perplexity 3.21   best baseline: nearest_pair 12.34"
    )
    unbounded = {"bleu": 0.0, "chrf": 1.5, "perplexity": None}
    assert translation_result({"test": unbounded}) == "test BLEU 0   chrF 1.5"


@pytest.mark.parametrize(
    "figure",
    [curves_figure(history(), METRICS), lengths_figure(predictions(), METRICS)],
    ids=["curves", "lengths"],
)
def test_texts_neither_overlap_nor_leave_the_figure(figure, legible_texts):
    assert legible_texts(figure)
