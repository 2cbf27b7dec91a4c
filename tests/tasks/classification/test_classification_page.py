"""Pages about classifiers: texts, confusions, and attention by epoch."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from compared_runs import column, on_page
from labelled import CLASSES, answers, attention, labelled, some_texts, write_classifier

from attnlab.errors import RequestError
from attnlab.tasks.classification.data import LabelledTexts
from attnlab.tasks.classification.part import TextPart
from attnlab.tasks.classification.shown import items as items_module
from attnlab.tasks.classification.shown.items import item_records, likelihood
from attnlab.tasks.classification.shown.texts import _rows, attention_records
from attnlab.text.tokenizers import Tokenizer
from attnlab.views.records import Epochs, ShadedWords, Tabs, Text

TEST = some_texts(40, seed=1, grouped=True)
DATA = labelled(some_texts(60), TEST)
PROBABILITIES = answers(TEST.labels, 0.6)


# Texts


def test_texts_are_ordered_from_worst_to_best(tmp_path):
    write_classifier(tmp_path, "none", PROBABILITIES, DATA)
    table, confusion, groups = item_records(on_page(tmp_path))
    own = PROBABILITIES[np.arange(40), TEST.labels]
    shown_p = [float(cell) for cell in column(table, "p")]
    assert len(shown_p) == 24 and shown_p == sorted(shown_p)
    assert shown_p[:12] == pytest.approx(np.sort(own)[:12], abs=6e-4)
    assert shown_p[-1] == pytest.approx(own.max(), abs=6e-4)
    row = int(own.argmin())
    said = CLASSES[PROBABILITIES[row].argmax()]
    assert table.rows[0][:4] == [TEST.texts[row], CLASSES[TEST.labels[row]], TEST.groups[row],
                                 f"{said} ✗"]  # fmt: skip
    assert table.rows[-1][3] == table.rows[-1][1]  # a right one has no mark
    assert confusion.header == ["class", *CLASSES, "texts", "right"]
    assert column(groups, "group") == ["4 words", "7 words"]


def test_several_runs_are_shown_side_by_side(tmp_path):
    write_classifier(tmp_path, "none", PROBABILITIES, DATA)
    write_classifier(tmp_path, "bahdanau", np.eye(3)[TEST.labels], DATA)
    table, confusions, groups = item_records(on_page(tmp_path))
    assert {*table.header} >= {
        "says no attention",
        "says bahdanau",
        "p, no attention",
        "p, bahdanau",
    }
    assert column(table, "says bahdanau") == column(table, "class")
    assert isinstance(confusions, Tabs) and list(confusions.choices) == ["bahdanau", "no attention"]
    assert column(groups, "bahdanau") == ["1.000", "1.000"]


def test_other_texts_and_damaged_files_are_named(tmp_path):
    write_classifier(tmp_path, "none", PROBABILITIES, DATA)
    other = labelled(some_texts(60), some_texts(40, seed=3))
    write_classifier(tmp_path, "bahdanau", np.eye(3)[other.parts["test"].labels], other)
    damaged = write_classifier(tmp_path, "pooling", PROBABILITIES, DATA)
    damaged.write_predictions({"index": [0], "text": ["a"]})
    said = {part.text for part in item_records(on_page(tmp_path)) if isinstance(part, Text)}
    assert any("was tested on other items" in text for text in said)
    assert any("pooling: no predictions" in text and "label" in text for text in said)


def test_with_many_classes_the_largest_probability_bounds_the_others():
    columns = {
        "label": np.array(["a", "b", "c"]),
        "prediction": np.array(["a", "c", "c"]),
        "probability": np.array([0.75, 0.875, 0.5]),
    }
    assert likelihood(columns).tolist() == [0.75, 0.125, 0.5]
    table = items_module._table({"none": {**columns, "text": np.array([*"xyz"])}})
    assert column(table, "p") == ["≤ 0.125", "0.500", "0.750"]
    known = {**columns, "p_b": np.array([0.0, 0.0625, 0.0])}
    assert likelihood(known).tolist() == [0.75, 0.0625, 0.5]


def test_few_classes_have_a_confusion_matrix_and_many_a_list():
    few = items_module._confusion({"classes": ["x", "y"], "counts": [[6, 2], [0, 0]]}, "texts")
    assert few.rows == [["x", "6", "2", "8", "75.0%"], ["y", "0", "0", "0", "-"]]
    counts = np.diag(np.full(13, 5))
    counts[3, 7], counts[2, 1] = 15, 5
    classes = [f"c{n}" for n in range(13)]
    many = items_module._confusion({"classes": classes, "counts": counts}, "texts")
    assert many.rows == [["c3", "c7", "15", "75.0%"], ["c2", "c1", "5", "50.0%"]]


# Attention


class Looking:
    """A model of one head for each shift, whose weights lie that far behind the epoch's number.

    It predicts the class with the epoch's number.
    """

    def __init__(self, shifts=(0,), every=False):
        self.epoch, self.shifts, self.every = 0, shifts, every

    def attend(self, tokens):
        import tensorflow as tf

        steps = tokens.shape[1]
        heads = [tf.one_hot(self.epoch + shift, steps) for shift in self.shifts]
        weights = tf.reshape(tf.stack(heads), (1, len(heads), 1, steps))
        return tf.tile(weights, (tokens.shape[0], 1, steps if self.every else 1, 1))

    def __call__(self, tokens, training):
        import tensorflow as tf

        assert not training
        return tf.tile(tf.one_hot([self.epoch], 3), (tokens.shape[0], 1))


class Run:
    """A reported run with such a model, which reads its epoch at each call."""

    def __init__(self, run, data, tokenizer, model, room=10**6):
        self.run, self.label, self.colour, self.room = run, "bahdanau", 0, room
        self.metrics = {"attention": "bahdanau", "best_epoch": 2}
        self._task = SimpleNamespace(tokenizer=tokenizer, unknown=tokenizer.unknown)
        self._data, self._model = data, model

    def task(self):
        return self._task

    def load_data(self):
        if self._data is None:
            raise RequestError("the texts are gone")
        self._task.data = self._data

    def models(self, most):
        import tensorflow as tf

        self._model.epoch = tf.Variable(0)
        for epoch in (1, 2):
            self._model.epoch.assign(epoch)
            yield epoch, self._model

    def epochs(self, numbers):
        return Epochs(numbers, [""] * len(numbers), 0)

    def problems(self):
        return []


def tokenized(
    test: TextPart, tokenizer: Tokenizer | None = None
) -> tuple[LabelledTexts, Tokenizer]:
    """The same texts with tokens; without a tokenizer all words are known."""
    tokenizer = tokenizer or Tokenizer.fit(test.texts, kind="word")
    rows = tokenizer.encode(test.texts)
    longest = max(map(len, rows))
    tokens = np.array([[*row, *[0] * (longest - len(row))] for row in rows], np.int32)
    own = TextPart(test.texts, tokens, test.labels, test.groups)
    return labelled(some_texts(60), own), tokenizer


@pytest.fixture
def looking(tmp_path):
    """A function from a model to a run with it."""

    def made(model, room=10**6, kept=None):
        run = write_classifier(tmp_path, "bahdanau", PROBABILITIES, DATA, kept=kept)
        return Run(run, *tokenized(TEST), model, room)

    return made


def test_each_epoch_has_its_class_and_its_weights(looking):
    note, slider = attention_records([looking(Looking())])
    assert isinstance(note, Text) and "Each word is a query" not in note.text
    assert slider.epochs.numbers == [1, 2]
    for epoch, ((words,), said) in enumerate(zip(slider.frames, ["good", "mixed"], strict=True), 1):
        assert isinstance(words, ShadedWords) and words.maps == ["weights"]
        assert len(words.items) == 8
        for each in words.items:
            assert " ".join(each.words) in TEST.texts and each.said == said
            assert each.weights.shape == (1, len(each.words))
            assert each.weights.argmax() == epoch and each.weights.sum() == 1


def test_heads_have_maps_after_the_mean_if_there_is_room(looking):
    model = Looking((0, 1))
    slider = attention_records([looking(model)])[1]
    words = slider.frames[0][0]
    assert words.maps == ["mean of 2 heads", "head 1", "head 2"]
    weights = words.items[0].weights
    assert weights[:, 1:3].tolist() == [[0.5, 0.5], [1, 0], [0, 1]]
    cells = 2 * sum(len(each.words) for each in words.items)
    scarce = attention_records([looking(model, room=3 * cells - 1)])[1].frames[0][0]
    assert scarce.maps == ["mean of 2 heads"] and len(scarce.items) == 8
    fewer = attention_records([looking(model, room=cells - 1)])[1].frames[0][0]
    assert len(fewer.items) == 7


def test_a_note_says_that_each_word_is_a_query(looking):
    note, slider = attention_records([looking(Looking(every=True))])
    assert "Each word is a query" in note.text
    assert slider.frames[0][0].items[0].weights.max() == 1


def test_half_of_the_texts_are_wrong_ones(looking):
    run = looking(Looking())
    tokens = np.ones((40, 3), int)
    rows = _rows(run, tokens)
    right = PROBABILITIES.argmax(axis=1) == TEST.labels
    assert right[rows].tolist() == [False] * 4 + [True] * 4
    likely = PROBABILITIES[np.arange(40), TEST.labels]
    assert rows[0] == likely.argmin() and rows[-1] == likely.argmax()
    tokens[rows[0]] = 0  # a text without a word
    assert rows[0] not in _rows(run, tokens)
    with pytest.raises(RequestError, match="expected 39 texts, got 40"):
        _rows(run, tokens[1:])


def test_an_unknown_word_is_named_and_noted(looking):
    run = looking(Looking())
    word = TEST.texts[0].split()[0]
    fewer = [text.replace(word, "") for text in TEST.texts]
    run._data, tokenizer = tokenized(TEST, Tokenizer.fit(fewer, kind="word"))
    run._task = SimpleNamespace(tokenizer=tokenizer, unknown=tokenizer.unknown)
    items = attention_records([run])[1].frames[0][0].items
    assert any(word in each.words for each in items)
    for each in items:
        assert " ".join(each.words) in TEST.texts
        assert each.notes[word].startswith("not in the vocabulary")


def test_without_the_texts_only_the_best_epoch_is_shown(looking):
    kept = attention(TEST, PROBABILITIES, range(5), heads=2)
    run = looking(Looking(), kept=kept)
    run._data = None
    _, slider, why = attention_records([run])
    assert slider.epochs.numbers == [2] and "the texts are gone" in why.text
    first, *others = slider.frames[0][0].items
    assert len(others) == 4 and " ".join(first.words) == TEST.texts[0]
    assert first.weights[1:] == pytest.approx(kept["weights"][0, :, 0, : len(first.words)])


def test_a_model_that_has_no_weights_is_named(looking):
    model = Looking()
    model.attend = lambda tokens: None
    (why,) = attention_records([looking(model)])
    assert "has no attention weights" in why.text


def test_a_run_without_attention_shows_no_maps(looking):
    run = looking(Looking())
    run.metrics = {"attention": "none"}
    (said,) = attention_records([run])
    assert said.text == "bahdanau: the model has no attention."
