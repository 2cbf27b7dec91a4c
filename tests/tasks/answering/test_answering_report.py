"""Baselines, reports, comparisons, figures and pages of runs that answer questions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from compared_runs import on_page
from drawn import drawn
from question_runs import (
    NOTHING,
    data_of,
    fitted,
    part_of,
    predicted,
    question,
    some_questions,
    write_answers,
)
from scipy.stats import binomtest

from attnlab.runner.follow import draw_run
from attnlab.tasks.answering.baselines import baselines, longest_new_run
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.report import (
    attention_on_questions,
    best,
    build_report,
    exact,
    item_test,
)
from attnlab.tasks.answering.shown import attention_figure, attention_records
from attnlab.tasks.answering.spans import PredictedAnswer
from attnlab.views.records import AttentionMaps

TEST = some_questions(40, seed=1)
DATA = data_of(some_questions(60), TEST)
METRICS = {
    **{"task": "answer", "attention": "bahdanau", "seed": 3, "monitor": "val_f1"},
    **{"best_epoch": 2, "test": {"exact_match": 50.0, "f1": 62.5}},
}


# Baselines


@pytest.mark.parametrize(
    ("words", "sentence", "phrase"),
    [
        ("Where did the dog sleep?", "The old dog slept under a tree.", "slept under a tree"),
        ("Who met Anna?", "On Monday, Peter met Anna at the lake.", "at the lake"),
        ("Where did Anna go?", "Anna did go.", "Anna did go."),  # nothing is new
        ("When was it?", "It was on the", "It was on the"),  # a run doesn't end with such words
    ],
)
def test_a_phrase_is_the_longest_run_of_new_words(words, sentence, phrase):
    assert longest_new_run(words, sentence) == phrase


def test_baselines_are_the_best_sentence_its_phrase_and_no_answer():
    text = "Anna came at noon. The old dog slept under a tree. Peter left."
    questions = [question(0, text, "Where did the dog sleep?", "under a tree")]
    answers = {"sentence": ["The old dog slept under a tree."], "phrase": ["slept under a tree"]}
    assert baselines(questions, questions) == answers
    assert baselines(some_questions(5), [question(9, "A text.", "Who?")])["no_answer"] == [""]


# The report


def test_a_report_has_scores_and_skill():
    answers = [NOTHING, *predicted(TEST, 0.5)[1:]]
    report = build_report(DATA, "test", answers, 0.75)
    right = np.array([a.text == q.answers[0].text for a, q in zip(answers, TEST, strict=True)])
    assert report.metrics["exact_match"] == pytest.approx(100 * right.mean())
    assert report.metrics["f1"] >= report.metrics["exact_match"]
    assert report.metrics["loss"] == 0.75 and report.metric == KIND.scoring.reported
    best = report.baselines[report.best_baseline]["exact_match"]
    assert report.skill == pytest.approx(1 - (100 - report.metrics["exact_match"]) / (100 - best))
    assert build_report(DATA, "test", answers, math.nan).metrics["loss"] is None
    columns = report.predictions
    assert (columns["start"][0], columns["end"][0], columns["prediction"][0]) == (-1, -1, "")
    assert columns["exact_match"].tolist() == right.tolist()
    assert {n for n in columns if columns[n].dtype.kind in "OU"} == {*KIND.scoring.text_columns}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("彼得于1900年在柏林遇见了克拉拉。", "1900年"),
        ("東京タワーは1958年にできた。", "東京タワー"),
        ("ปีเตอร์พบน้ำที่เบอร์ลิน", "น้ำ"),
        ("나는 서울에 산다", "서울에"),
        ("Anna's dog (a poodle) ran.", "a poodle"),
    ],
)
def test_tokens_can_give_answers_exactly_in_any_script(text, answer):
    questions = [question(0, text, "?", answer)]
    (cut,) = part_of(questions, fitted(questions), (8, 40)).texts
    place = questions[0].answers[0]
    start, end = cut.characters(*cut.holding(place.start, place.end))
    assert best(exact, text[start:end], [answer]) == 1


def test_the_item_test_is_mcnemars_exact_test(tmp_path):
    runs = []
    for attention, wrong in (("none", [0, 1]), ("pooling", [0, *range(2, 8)])):
        answers = predicted(TEST, 1)
        for number in wrong:
            answers[number] = PredictedAnswer("day", 0, 3, 0.5)
        runs.append(write_answers(tmp_path, attention, answers, DATA))
    (test,) = item_test("exact_match", [([runs[1]], [runs[0]])], False)
    assert test.p == pytest.approx(binomtest(1, 7).pvalue)


# Attention


def test_attention_is_that_of_words_around_the_answer():
    text = " ".join(f"w{n}" for n in range(100))

    def at(word):
        return PredictedAnswer(word, text.index(word), text.index(word) + len(word), 1.0)

    questions = [
        *(question(0, text, "which one?", "w80"), question(1, text, "none?")),
        question(2, "short text", "which?", "text"),
    ]
    tokenizer = fitted(questions)
    part = part_of(questions, tokenizer, (8, 70))
    answers = [at("w81"), at("w10"), NOTHING]
    weights = np.random.default_rng(0).random((3, 2, 70, 8)).astype(np.float32)

    def words(tokens):
        return np.array([[f"w{n}" if n else "" for n in row] for row in tokens.tolist()])

    arrays = attention_on_questions(part, answers, 8, words, lambda rows: weights)
    assert arrays["weights"].shape == (3, 2, 60, 8) and arrays["weights"].dtype == np.float16
    for row, (predicted_word, right_word) in enumerate((("w81", "w80"), ("w10", None))):
        for name, word in (("prediction", predicted_word), ("answer", right_word)):
            first, last = arrays[name][row]
            labels = [] if word is None else [f"w{tokenizer.encode([word])[0][0]}"]
            assert arrays["text"][row, first : last + 1].tolist() == labels or first < 0
            assert (first < 0) == (word is None)
    assert arrays["prediction"][2].tolist() == [-1, -1] and arrays["answer"][2].tolist() == [1, 1]
    # w80 is in the window from w35 to w99: 65 words, the last 60 of which are shown.
    assert arrays["answer"][0, 0] == 80 - 35 - 5
    np.testing.assert_array_equal(arrays["weights"][0], weights[0, :, 5:65].astype(np.float16))
    assert attention_on_questions(part, answers, 8, words, lambda rows: None) is None


def arrays_of(epoch: int, count: int = 7, heads: int = 1) -> dict[str, np.ndarray]:
    words = np.array([["who", "came", "?", "<end>", "", ""]] * count)
    text = np.array([[f"word{n}" for n in range(10)] + [""] * 2] * count)
    weights = np.random.default_rng(epoch).dirichlet(np.ones(6), (count, heads, 12))
    return {
        **{"weights": weights.astype(np.float16), "question": words, "text": text},
        "index": np.arange(count),
        "answer": np.array([[3, 4], [6, 9], [-1, -1], *[[0, 0]] * 4][:count]),
        "prediction": np.array([[3, 4], [2, 2], [-1, -1], *[[epoch, epoch]] * 4][:count]),
        "right": np.array([True, False, True, *[False] * 4][:count]),
    }


def test_a_run_draws_its_figures(tmp_path):
    arrays = {epoch: arrays_of(epoch, heads=2) for epoch in (1, 2)}
    run = write_answers(tmp_path, "bahdanau", predicted(TEST, 0.5), DATA, arrays=arrays)
    history = {"epoch": 1, "train_loss": 2.0, "val_loss": 1.0, "val_exact_match": 40, "val_f1": 50}
    run.history.replace([history, {**history, "epoch": 2, "val_f1": 60}])
    assert [path.name for path in draw_run(run)] == ["loss.png", "attention.png"]
    figure = drawn(attention_figure)(arrays[2], METRICS)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == 6 and "mean over 2 heads" in figure.texts[1].get_text()
    expected = arrays[2]["weights"][1].astype(np.float32).mean(axis=0)[:10, :4].T
    np.testing.assert_allclose(maps[0].images[0].get_array(), expected, rtol=1e-6)
    headings = [axes.get_title("left").split()[0] for axes in maps]
    assert headings == ["wrong"] * 5 + ["right"]  # the wrong ones come first
    alone = {name: array for name, array in arrays[2].items() if name not in ("right", "index")}
    assert "right" not in drawn(attention_figure)(alone, METRICS).texts[1].get_text()


def test_each_epoch_has_its_answer_in_brackets_and_its_weights(tmp_path):
    arrays = {epoch: arrays_of(epoch) for epoch in (1, 2)}
    write_answers(tmp_path, "bahdanau", predicted(TEST, 0.5), DATA, arrays=arrays)
    write_answers(tmp_path, "none", predicted(TEST, 0.5), DATA)
    (pages,) = attention_records(on_page(tmp_path))
    assert pages.choices["no attention"][0].text == "The model has no attention."
    slider = pages.choices["bahdanau"][1]
    assert slider.epochs.numbers == [1, 2]
    for epoch, (maps,) in enumerate(slider.frames, 1):
        assert isinstance(maps, AttentionMaps) and len(maps.items) == 6
        item = maps.items[3]
        place = item.rows.index("[")
        assert item.rows[place : place + 3] == ["[", f"word{epoch}", "]"]
        assert item.weights[0, [place, place + 2]].sum() == 0
        expected = arrays[epoch]["weights"][3, 0, epoch, :4]
        assert (item.weights[0, place + 1] == expected.astype(np.float32)).all()


# The page's tables
