"""Pages about runs that answer questions: answers, and attention by epoch."""

from __future__ import annotations

import numpy as np
from asked import asked_texts, fitted, said, some_questions, write_answerer
from compared_runs import column, on_page

from attnlab.errors import RequestError
from attnlab.tasks.answering.shown.answers import answer_records
from attnlab.tasks.answering.shown.attention import attention_records
from attnlab.tasks.answering.spans import PredictedAnswer
from attnlab.text.cleaning import normalized
from attnlab.views.records import AttentionMaps, Epochs, Text

TRAIN, TEST = some_questions(60), some_questions(40, seed=1)
DATA = asked_texts(TRAIN, TEST)
ANSWERS = said(TEST, 0.6)
Q, P = 8, 24


def test_answers_are_ordered_from_worst_to_best(tmp_path):
    write_answerer(tmp_path, "none", ANSWERS, DATA)
    table, groups = answer_records(on_page(tmp_path))
    scores = [float(cell) for cell in column(table, "F1")]
    assert len(scores) == 24 and scores == sorted(scores) and scores[-1] == 1
    wrong = [cell.endswith(" ✗") for cell in column(table, "prediction")]
    assert wrong == [score < 1 for score in scores]
    assert groups.header == ["question word", "questions", "exact match", "F1"]
    assert column(groups, "question word") == ["when", "who"]


def test_several_runs_are_shown_side_by_side(tmp_path):
    write_answerer(tmp_path, "none", ANSWERS, DATA)
    write_answerer(tmp_path, "bahdanau", said(TEST, 1), DATA)
    table, groups = answer_records(on_page(tmp_path))
    assert {*table.header} >= {
        "answer of no attention",
        "answer of bahdanau",
        "F1, no attention",
        "p, bahdanau",
    }
    assert column(table, "answer of bahdanau") == column(table, "answer")
    assert column(groups, "exact, bahdanau") == ["100.0", "100.0"]


def test_other_questions_and_damaged_files_are_named(tmp_path):
    write_answerer(tmp_path, "none", ANSWERS, DATA)
    other = asked_texts(TRAIN, some_questions(40, seed=3))
    write_answerer(tmp_path, "bahdanau", said(other.parts["test"].questions, 1), other)
    damaged = write_answerer(tmp_path, "pooling", ANSWERS, DATA)
    damaged.write_predictions({"index": [0], "question": ["a"]})
    texts = [part.text for part in answer_records(on_page(tmp_path)) if isinstance(part, Text)]
    assert any("was tested on other items" in text for text in texts)
    assert any("pooling: no predictions" in text and "exact_match" in text for text in texts)


class Looking:
    """A model whose text attends to the question's word with the epoch's number."""

    epoch = None

    def attend(self, tokens):
        import tensorflow as tf

        weights = tf.reshape(tf.one_hot(self.epoch, Q), (1, 1, 1, Q))
        return tf.tile(weights, (tokens.shape[0], 1, P, 1))


class Task:
    """Answers with the text's word that has the epoch's number."""

    question_places, text_places = Q, P

    def __init__(self):
        self.tokenizer = fitted(TRAIN)

    def words(self, tokens):
        return np.array(
            [
                [self.tokenizer.pieces([token])[0] if token else "" for token in row]
                for row in tokens
            ]
        )

    def unknown(self, text):
        return self.tokenizer.unknown(normalized(text))

    def answer(self, model, question, text):
        word = text.split()[int(model.epoch)]
        start = text.index(word)
        return [PredictedAnswer(word, start, start + len(word), 1.0)]


class Run:
    """A reported run with such a model."""

    def __init__(self, run, data=DATA, room=10**6):
        self.run, self.label, self.colour, self.room = run, "bahdanau", 0, room
        self.metrics = {"attention": "bahdanau", "best_epoch": 2}
        self._task, self._data, self._model = Task(), data, Looking()

    def task(self):
        return self._task

    def load_data(self):
        if self._data is None:
            raise RequestError("the questions are gone")
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


def test_each_epoch_has_its_answer_in_brackets_and_its_weights(tmp_path):
    run = Run(write_answerer(tmp_path, "bahdanau", ANSWERS, DATA))
    note, slider = attention_records([run])
    assert isinstance(note, Text) and slider.epochs.numbers == [1, 2]
    for epoch, (maps,) in enumerate(slider.frames, 1):
        assert isinstance(maps, AttentionMaps) and len(maps.items) == 6
        assert maps.names == ("question", "answer", "text")
        for each in maps.items:
            first, last = each.rows.index("["), each.rows.index("]")
            assert last == first + 2
            assert each.weights.shape == (1, len(each.rows), len(each.columns))
            assert each.weights[0, [first, last]].sum() == 0
            assert (each.weights[0, first + 1] == np.eye(Q)[epoch][: len(each.columns)]).all()


def test_unknown_words_of_questions_and_texts_are_named_and_noted(tmp_path):
    changed = [
        each._replace(question=f"zyx {each.question}", text=f"{each.text} abcxyz") for each in TEST
    ]
    data = asked_texts(TRAIN, changed)
    run = Run(write_answerer(tmp_path, "bahdanau", ANSWERS, data), data)
    for each in attention_records([run])[1].frames[0][0].items:
        assert "zyx" in each.columns and "zyx" in each.column_notes
        assert "abcxyz" in each.rows and "abcxyz" in each.row_notes
        assert "⁇" not in [*each.columns, *each.rows]


def test_a_small_page_has_fewer_questions(tmp_path):
    run = Run(write_answerer(tmp_path, "bahdanau", ANSWERS, DATA), room=600)
    assert 1 <= len(attention_records([run])[1].frames[0][0].items) < 6


def test_without_the_questions_only_the_best_epoch_is_shown(tmp_path):
    from attnlab.tasks.answering.examples import looked_at

    part = DATA.parts["test"]
    model = Looking()
    model.epoch = 2
    kept = looked_at(Task(), part, ANSWERS, np.arange(4), model.attend)
    run = Run(write_answerer(tmp_path, "bahdanau", ANSWERS, DATA, kept=kept), data=None)
    _, slider, why = attention_records([run])
    assert slider.epochs.numbers == [2] and "the questions are gone" in why.text
    first = slider.frames[0][0].items[0]
    assert " ".join(first.reference) == TEST[0].answers[0].text.lower()
    tokens = first.rows
    assert " ".join(tokens[tokens.index("[") + 1 : tokens.index("]")]) == ANSWERS[0].text.lower()


def test_a_model_that_has_no_weights_is_named(tmp_path):
    run = Run(write_answerer(tmp_path, "bahdanau", ANSWERS, DATA))
    run._model.attend = lambda tokens: None
    (why,) = attention_records([run])
    assert "has no attention weights" in why.text
    run.metrics = {"attention": "none"}
    (nothing,) = attention_records([run])
    assert nothing.text == "bahdanau: the model has no attention."
