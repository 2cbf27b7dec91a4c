"""The figures of a run that classifies, drawn from its folder."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import drawn
from labelled import CLASSES, answers, attention, labelled, part, some_texts, write_classifier

from attnlab.errors import RequestError
from attnlab.run.figures import draw_run
from attnlab.tasks.accuracy_tests import wilson_interval
from attnlab.tasks.classification.shown import figures as shown
from attnlab.tasks.classification.shown import texts
from attnlab.tasks.classification.word_weights import word_weights
from attnlab.views.png.words import DARKEST

curves_figure, groups_figure = drawn(shown.curves_figure), drawn(shown.groups_figure)
confusion_figure = drawn(shown.confusion_figure)
calibration_figure = drawn(shown.calibration_figure)
words_figure = drawn(texts.attention_figure)

TEST = some_texts(90, seed=1, grouped=True)
DATA = labelled(some_texts(60), TEST)
PROBABILITIES = answers(TEST.labels, 0.6)
METRICS = {
    **{"task": "classify", "attention": "bahdanau", "seed": 3, "monitor": "val_loss"},
    **{"best_epoch": 2, "test": {"accuracy": 0.5, "calibration_error": 0.1234}},
}
HISTORY = {
    "epoch": [1, 2, 3],
    "train_loss": [1.0, 0.5, 0.25],
    "val_loss": [1.1, 0.6, math.nan],
    "val_accuracy": [0.4, 0.8, 0.7],
}
NAMES = ["loss.png", "calibration.png", "confusion.png", "groups.png", "attention.png"]


def written(axes):
    return [text.get_text() for text in axes.texts]


def test_a_run_has_all_its_figures(tmp_path):
    kept = attention(TEST, PROBABILITIES, range(4), heads=2)
    run = write_classifier(tmp_path, "bahdanau", PROBABILITIES, DATA, kept=kept)
    files = draw_run(run)
    assert [path.name for path in files] == NAMES
    assert all(path.stat().st_size > 3000 for path in files)


def test_without_groups_and_attention_a_run_has_the_other_figures(tmp_path):
    data = labelled(some_texts(60), some_texts(30))
    run = write_classifier(tmp_path, "none", answers(data.parts["test"].labels, 0.5), data)
    assert [*shown.figures(run, run.read_metrics())] == NAMES[:3]
    run.write_predictions({"index": [0], "text": ["a"], "label": ["b"]})
    with pytest.raises(RequestError, match="damaged: no 'prediction'"):
        draw_run(run)


def test_loss_and_accuracy_have_a_panel_each():
    loss, accuracy = curves_figure(HISTORY, METRICS).axes
    train, validation = loss.get_lines()[:2]
    assert train.get_ydata().tolist() == [1.0, 0.5, 0.25]
    assert validation.get_xdata().tolist() == [1, 2]  # NaN is left out
    assert accuracy.get_lines()[0].get_ydata().tolist() == [0.4, 0.8, 0.7]
    labels = [text.get_text() for text in loss.get_legend().get_texts()]
    assert labels[-1] == "best epoch: 2 (0.6)"


def test_a_history_of_one_epoch_without_validation_is_drawn():
    (axes,) = curves_figure({"epoch": [1], "train_loss": [1.0]}, METRICS).axes
    assert axes.get_lines()[0].get_marker() == "o"


def test_confused_classes_have_their_numbers():
    axes = confusion_figure(np.array([[6, 2], [0, 4]]), ["$no$", "yes"], METRICS).axes[0]
    assert written(axes) == ["6\n75%", "2\n25%", "4\n100%"]
    # Dark numbers on light cells, and light ones on dark cells.
    assert [text.get_color() == "white" for text in axes.texts] == [False, True, False]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["$no$  (8)", "yes  (4)"]
    assert axes.images[0].get_array().tolist() == [[0.75, 0.25], [0, 1]]


@pytest.mark.parametrize(("classes", "numbers"), [(12, 144), (60, 0)])
def test_many_classes_have_small_cells_and_labels_that_cover_no_other(
    drawn_texts, classes, numbers
):
    counts = np.full((classes, classes), 3)
    figure = confusion_figure(counts, [f"a class of number {n}" for n in range(classes)], METRICS)
    assert len(written(figure.axes[0])) == numbers
    boxes = [box for text, box in drawn_texts(figure) if text.startswith("a class")]
    assert len(boxes) == 2 * classes
    assert not any(box.overlaps(other) for n, box in enumerate(boxes) for other in boxes[:n])


def test_the_reliability_diagram_has_accuracy_by_confidence():
    label = np.array(["a"] * 20)
    said = np.where(np.arange(20) < 8, "a", "b")  # 8 of the first 10 right, none of the others
    predictions = {"label": label, "prediction": said, "probability": np.repeat([0.9, 0.5], 10)}
    figure = calibration_figure(predictions, METRICS)
    upper, lower = figure.axes
    points = upper.containers[0].lines[0]
    assert points.get_xdata() == pytest.approx([0.5, 0.9])
    assert points.get_ydata() == pytest.approx([0, 0.8])
    ends = upper.containers[0].lines[2][0].get_segments()[1][:, 1]
    assert ends == pytest.approx(wilson_interval(8, 10))
    assert sorted(bar.get_height() for bar in lower.patches)[-3:] == [0, 10, 10]
    assert figure.texts[0].get_text().endswith("calibration, expected calibration error 0.123")


def test_groups_have_accuracy_and_number_of_texts():
    groups = {"1 noun": {"n": 30, "accuracy": 0.9}, "2 nouns": {"n": 4, "accuracy": 0.25}}
    axes = groups_figure(groups, METRICS).axes[0]
    ends, point = axes.lines[:2]
    assert list(point.get_xdata()) == [0.25]
    assert list(ends.get_xdata()) == pytest.approx(wilson_interval(1, 4))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["2 nouns  (4)", "1 noun  (30)"]


def test_only_the_largest_of_many_groups_are_drawn():
    groups = {f"group {n}": {"n": n + 1, "accuracy": 0.5} for n in range(45)}
    figure = groups_figure(groups, METRICS)
    assert len(figure.axes[0].get_yticklabels()) == 40
    assert "the largest 40 of 45" in figure.texts[0].get_text()


# Words


def shades(axes):
    """The shade of each word."""
    known = [patch for patch in axes.patches if patch.get_alpha() is not None]
    words_there = [text for text in axes.texts if text.get_ha() == "center"]
    pairs = zip(words_there, known, strict=True)
    return [(text.get_text(), round(patch.get_alpha() / DARKEST, 6)) for text, patch in pairs]


def kept(weights, tokens, label="good", prediction="good"):
    names = {"label": np.array([label]), "prediction": np.array([prediction])}
    return {"weights": np.array([weights], np.float32), "tokens": np.array([tokens]), **names,
            "index": np.array([7])}  # fmt: skip


def test_a_words_shade_is_its_weight_relative_to_the_largest():
    figure = words_figure(kept([[[0.5, 0.25, 0.25, 0]]], ["it", "$is", "so", ""]), METRICS)
    assert shades(figure.axes[0]) == [("it", 1), ("$is", 0.5), ("so", 0.5)]
    assert "right: good   (test text 7, largest weight 0.5)" in written(figure.axes[0])
    assert figure.texts[1].get_text() == "darkest: the largest weight of a text"


def test_a_wrong_class_with_the_same_drawn_name_is_marked_wrong():
    names = ("a" * 30 + "b" + "a" * 30, "a" * 61)
    figure = words_figure(kept([[[1.0]]], ["it"], *names), METRICS)
    alike = "a" * 12 + "…" + "a" * 11
    assert f"wrong: said {alike}, is {alike}   (test" in written(figure.axes[0])[0]
    long = words_figure(kept([[[1.0]]], ["it"], names[0], names[0]), METRICS)
    assert written(long.axes[0])[0].startswith(f"right: {alike}   (")


def test_heads_and_queries_are_averaged_as_the_subtitle_says():
    first, second = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    figure = words_figure(kept([first, second], ["a", "b", ""]), METRICS)
    # The third query is padding, so it is ignored.
    assert shades(figure.axes[0]) == [("a", pytest.approx(1 / 3)), ("b", 1)]
    assert figure.texts[1].get_text().startswith("mean over 2 heads and the queries of a text; ")


def test_queries_of_padding_are_ignored():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (3, 2, 5))
    known = np.arange(5) < np.array([[5], [3], [1]])
    found = word_weights(weights, known)
    for n, count in enumerate((5, 3, 1)):
        assert found[n] == pytest.approx(weights[n, :, :count].mean(axis=1))
    one = weights[:, :, :1]
    assert np.array_equal(word_weights(one, known), one[:, :, 0])


def test_long_texts_are_cut_with_a_note(drawn_texts):
    both = part(["extraordinary " * 200, "$5 a short one"], [0, 1])
    arrays = attention(both, np.eye(3)[[1, 1]], [0, 1])
    figure = words_figure(arrays, METRICS)
    assert written(figure.axes[0])[0].startswith(f"wrong: said {CLASSES[1]}, is {CLASSES[0]}")
    (rest,) = [text for text in written(figure.axes[0]) if text.startswith("…")]
    count = sum(word == "extraordinary" for word, _ in shades(figure.axes[0]))
    left = arrays["weights"][0, 0, 0, count:].sum()
    assert rest == f"… {200 - count} more words, {left:.0%} of the weight"
    boxes = [box for _, box in drawn_texts(figure)]
    assert not any(box.overlaps(other) for n, box in enumerate(boxes) for other in boxes[:n])
    width, height = figure.bbox.size
    assert all(0 <= box.x0 and box.x1 <= width and box.y0 >= 0 for box in boxes)


def test_the_vocabulary_of_a_preset_cannot_be_drawn():
    trained = SimpleNamespace(task=None, model=SimpleNamespace(embedding=None))
    with pytest.raises(RequestError, match="encoder is a preset"):
        shown.vocabulary_maps(trained, 10)
