"""Figures and page sections of runs that classify, from their folders."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import column, on_page
from drawn import drawn
from labelled import CLASSES, answers, attention, labelled, some_texts, write_classifier

from attnlab.runner.follow import draw_run
from attnlab.tasks.classification import shown
from attnlab.tasks.classification.shown import (
    attention_figure,
    attention_records,
    item_records,
)
from attnlab.views.png.words import DARKEST
from attnlab.views.records import ShadedWords, Slider, Text

words_figure = drawn(attention_figure)
confusion_figure = drawn(shown.confusion_figure)

TEST = some_texts(40, seed=1, grouped=True)
DATA = labelled(some_texts(60), TEST)
PROBABILITIES = answers(TEST.labels, 0.6)
METRICS = {"task": "classify", "attention": "bahdanau", "seed": 3, "test": {"accuracy": 0.5}}
RECORDED = {
    epoch: attention(TEST, np.roll(PROBABILITIES, epoch, axis=1), range(5), heads=2)
    for epoch in (1, 2)
}


def written(axes):
    return [text.get_text() for text in axes.texts]


# Figures


def test_a_run_has_all_its_figures(tmp_path):
    run = write_classifier(tmp_path, "bahdanau", PROBABILITIES, DATA, recorded=RECORDED)
    files = draw_run(run)
    names = ["loss.png", "confusion.png", "attention.png"]
    assert [path.name for path in files] == names
    assert all(path.stat().st_size > 3000 for path in files)


def test_confused_classes_have_their_numbers():
    axes = confusion_figure(np.array([[6, 2], [0, 4]]), ["$no$", "yes"], METRICS).axes[0]
    assert written(axes) == ["6", "2", "0", "4"]
    # Dark numbers on light cells, and light ones on dark cells.
    assert [text.get_color() == "white" for text in axes.texts] == [False, True, True, False]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["$no$  (8)", "yes  (4)"]
    assert axes.images[0].get_array().tolist() == [[0.75, 0.25], [0, 1]]


def shades(figure):
    """The shade of each word."""
    boxes = [(text.get_text(), text.get_bbox_patch()) for text in figure.texts]
    return [(word, round(box.get_alpha() / DARKEST, 6)) for word, box in boxes if box]


def arrays(weights, tokens, label="good", prediction="good"):
    names = {"label": np.array([label]), "prediction": np.array([prediction])}
    return {"weights": np.array([weights], np.float32), "tokens": np.array([tokens]), **names,
            "index": np.array([7])}  # fmt: skip


def test_a_words_shade_is_its_mean_weight_relative_to_the_largest():
    figure = words_figure(arrays([[[0.5, 0.25, 0.25, 0]]], ["it", "$is", "so", ""]), METRICS)
    assert shades(figure) == [("it", 1), ("$is", 0.5), ("so", 0.5)]
    assert "right: good   (test text 7, largest weight 0.5)" in written(figure)
    figure = words_figure(arrays([[[1, 0, 0]], [[0, 0.5, 0]]], ["a", "b", ""]), METRICS)
    assert shades(figure) == [("a", 1), ("b", 0.5)]  # means over heads


# Pages


def test_texts_are_ordered_from_worst_to_best(tmp_path):
    write_classifier(tmp_path, "none", PROBABILITIES, DATA)
    table, groups = item_records(on_page(tmp_path))
    likelihoods = PROBABILITIES[np.arange(40), TEST.labels]
    shares = [float(cell) for cell in column(table, "p")]
    assert len(shares) == 24 and shares == sorted(shares)
    assert shares[:12] == pytest.approx(np.sort(likelihoods)[:12], abs=6e-4)
    assert shares[-1] == pytest.approx(likelihoods.max(), abs=6e-4)
    row = int(likelihoods.argmin())
    said = CLASSES[PROBABILITIES[row].argmax()]
    assert table.rows[0][:4] == [TEST.names[row], CLASSES[TEST.labels[row]], TEST.groups[row],
                                 f"{said} ✗"]  # fmt: skip
    assert table.rows[-1][3] == table.rows[-1][1]  # a right one has no mark
    assert column(groups, "group") == ["4 words", "7 words"]


def test_other_texts_and_damaged_files_are_named(tmp_path):
    write_classifier(tmp_path, "none", PROBABILITIES, DATA)
    other = labelled(some_texts(60), some_texts(40, seed=3))
    write_classifier(tmp_path, "bahdanau", np.eye(3)[other.parts["test"].labels], other)
    damaged = write_classifier(tmp_path, "pooling", PROBABILITIES, DATA)
    damaged.write_predictions({"index": [0], "text": ["a"]})
    said = {record.text for record in item_records(on_page(tmp_path)) if isinstance(record, Text)}
    assert any("was tested on other items" in text for text in said)
    assert any("pooling: no predictions" in text and "label" in text for text in said)


def test_each_epoch_has_its_classes_and_its_weights(tmp_path):
    write_classifier(tmp_path, "bahdanau", PROBABILITIES, DATA, recorded=RECORDED)
    note, slider = attention_records(on_page(tmp_path))
    assert isinstance(note, Text) and isinstance(slider, Slider)
    assert slider.epochs.numbers == [1, 2]
    for (words,), expected in zip(slider.frames, RECORDED.values(), strict=True):
        assert isinstance(words, ShadedWords)
        assert words.maps[1:] == ["last layer, head 1", "last layer, head 2"]
        for row, item in enumerate(words.items):
            assert " ".join(item.words) == TEST.names[row]
            assert item.said == expected["prediction"][row]
            heads = expected["weights"][row, :, 0, : len(item.words)]
            assert item.weights == pytest.approx(np.vstack([heads.mean(0), heads]), abs=1e-3)
