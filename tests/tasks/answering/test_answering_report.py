"""Baselines, reports, comparisons and figures of runs that answer questions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from asked import asked_texts, fitted, part, question, said, some_questions, write_answerer
from drawn import drawn
from scipy.stats import binomtest

from attnlab.run.figures import draw_run
from attnlab.tasks.answering.baselines import baselines, longest_new_run, most_frequent_place
from attnlab.tasks.answering.examples import shown_window
from attnlab.tasks.answering.item_test import item_test
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.report import build_report
from attnlab.tasks.answering.shown.figures import attention_figure, figures
from attnlab.tasks.answering.spans import PredictedAnswer
from attnlab.tasks.shown.run_figures import result_line
from attnlab.views.png.figure import draw

TEST = some_questions(40, seed=1)
DATA = asked_texts(some_questions(60), TEST)
METRICS = {
    **{"task": "answer", "attention": "bahdanau", "seed": 3, "monitor": "val_f1"},
    **{"best_epoch": 2, "test": {"exact_match": 50.0, "f1": 62.5}},
}


# Baselines


def test_the_best_sentence_and_its_longest_new_run():
    text = "Anna came at noon. The old dog slept under a tree. Peter left."
    asked = [question(0, text, "Where did the dog sleep?", "under a tree")]
    found = baselines(asked, asked)
    assert found["sentence"] == ["The old dog slept under a tree."]
    assert found["phrase"] == ["slept under a tree"]
    assert found["position"] == ["under a tree"] and "no_answer" not in found


@pytest.mark.parametrize(
    ("asking", "sentence", "expected"),
    [
        ("Who met Anna?", "On Monday, Peter met Anna at the lake.", "at the lake"),
        ("Where did Anna go?", "Anna did go.", "Anna did go."),  # nothing is new
        ("When was it?", "It was on the", "It was on the"),  # a run doesn't end with such words
        ("Who came?", "Clara and David came", "Clara and David"),
    ],
)
def test_runs_of_words_that_the_question_does_not_have(asking, sentence, expected):
    assert longest_new_run(asking, sentence) == expected


def test_each_question_word_has_its_own_most_frequent_place():
    train = [
        question(0, "a b c d e", "Who?", "b c"),
        question(1, "f g h i j", "Who?", "g h"),
        question(2, "k l m n o", "Who?", "o"),
        question(3, "k l m n o", "When?", "n"),
    ]
    asked = [question(n, "p q r s t", word, "p") for n, word in enumerate(("Who?", "When?", "Is?"))]
    assert most_frequent_place(train, asked) == ["q r", "s", "q r"]
    assert most_frequent_place(train, [question(0, "u v", "Who?", "u")]) == ["u v"]
    assert most_frequent_place([], asked)[:1] == ["p"]


def test_no_answer_is_a_baseline_if_some_questions_have_none():
    asked = [*some_questions(3), question(9, "A text.", "Who?")]
    assert baselines(some_questions(5), asked)["no_answer"] == [""] * 4


# The report


def test_a_report_has_scores_groups_and_skill():
    answers = said(TEST, 0.5)
    report = build_report(DATA, "test", answers, 0.75)
    right = np.array(
        [s.text == each.answers[0].text for s, each in zip(answers, TEST, strict=True)]
    )
    assert report.metrics["exact_match"] == pytest.approx(100 * right.mean())
    assert report.metrics["f1"] >= report.metrics["exact_match"]
    assert report.metrics["loss"] == 0.75 and report.metric == KIND.scoring.reported
    best = report.baselines[report.best_baseline]["exact_match"]
    expected = 1 - (100 - report.metrics["exact_match"]) / (100 - best)
    assert report.skill == pytest.approx(expected)
    groups = report.details["groups"]
    assert sum(groups[word]["n"] for word in ("who", "when")) == 40
    for word in ("who", "when"):
        own = right[[each.group == word for each in TEST]]
        assert groups[word]["exact_match"] == pytest.approx(100 * own.mean())
    assert build_report(DATA, "test", answers, math.nan).metrics["loss"] is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("彼得于1900年在柏林遇见了克拉拉。", "1900年"),
        ("彼得于1900年在柏林遇见了克拉拉。", "柏林"),
        ("東京タワーは1958年にできた。", "東京タワー"),
        ("ปีเตอร์พบน้ำที่เบอร์ลิน", "น้ำ"),
        ("ဦးနုသည်ရန်ကုန်မြို့တွင်နေသည်။", "ရန်ကုန်"),
        ("ភ្នំពេញជារាជធានី", "ភ្នំពេញ"),
        ("ວຽງຈັນເປັນນະຄອນຫຼວງ", "ວຽງຈັນ"),
        ("나는 서울에 산다", "서울에"),
        ("Anna's dog (a poodle) ran.", "a poodle"),
    ],
)
def test_answers_that_can_be_given_exactly(text, answer):
    asked = [question(0, text, "?", answer)]
    own = part(asked, fitted(asked), places=(8, 40))
    assert own.inexpressible(40) == (0, 0)
    first, last = own.texts[0].holding(text.index(answer), text.index(answer) + len(answer))
    spans = own.texts[0].spans
    given = PredictedAnswer(
        text[spans[first][0] : spans[last][1]], spans[first][0], spans[last][1], 1.0
    )
    report = build_report(asked_texts(asked, asked), "test", [given], 0.5)
    assert report.metrics["exact_match"] == 100 and report.notes == []
    assert report.details["best_possible_exact_match"] == 100


def test_answers_that_cannot_be_given_exactly_are_counted():
    asked = [
        question(0, "나는 서울에 산다", "어디?", "서울"),  # a particle belongs to the word
        question(1, "In the 1990s it was. Was it 1990?", "When?", "1990"),  # also a word elsewhere
        question(2, "In the 1990s it was.", "When?", "1990", "1990s"),  # one of them
        question(3, "a b c d e f g h", "What?", "a b c d e f"),
        question(4, "No answer.", "What?"),
    ]
    own = part(asked, fitted(asked))
    assert own.inexpressible(6) == (1, 0) and own.inexpressible(5) == (1, 1)
    data = replace(asked_texts(asked, asked), inexpressible={"train": (1, 0), "test": (1, 1)})
    report = build_report(
        data, "test", said(asked[:4], 1) + [PredictedAnswer("", None, None, 1.0)], 0.5
    )
    assert report.details["best_possible_exact_match"] == 60
    assert report.notes == [
        "1 of the 5 answers of train can't be expressed exactly, 1 because they start or end "
        "inside a word (also for baselines); the best possible exact match is 80.0.",
        "2 of the 5 answers of test can't be expressed exactly, 1 because they start or end "
        "inside a word (also for baselines) and 1 because of task.max_answer or the length of a "
        "window; the best possible exact match is 60.0.",
    ]
    assert data.summary() == report.notes
    counts = data.describe()["test"]
    assert counts["no exact answer in words"] == 2


def test_an_empty_answer_has_no_place():
    answers = [PredictedAnswer("", None, None, 0.5), *said(TEST, 1)[1:]]
    columns = build_report(DATA, "test", answers, 0).predictions
    assert (columns["start"][0], columns["end"][0], columns["prediction"][0]) == (-1, -1, "")
    assert columns["exact_match"].tolist() == [0] + [1] * 39
    assert {n for n in columns if columns[n].dtype.kind in "OU"} == {*KIND.scoring.text_columns}


def test_the_result_is_one_line():
    metrics = {"test": {"exact_match": 61.25, "f1": 70.0}, "skill": 0.5}
    metrics |= {"best_baseline": "phrase", "baselines": {"phrase": {"exact_match": 22.5}}}
    expected = "test exact match 61.25   F1 70   best baseline: phrase 22.5   skill 0.5"
    assert result_line(metrics, KIND, "f1") == expected and result_line({}, KIND) == ""


# Comparisons


def run_with(runs, attention, wrong, seed=0, data=DATA):
    """Write a run with wrong answers to these questions, and right ones to all others."""
    answers = said(data.parts["test"].questions, 1)
    for number in wrong:
        answers[number] = PredictedAnswer("day", 0, 3, 0.5)
    return write_answerer(runs, attention, answers, data, seed=seed)


def test_one_seed_is_mcnemars_test(tmp_path):
    base, own = run_with(tmp_path, "none", [0, 1]), run_with(tmp_path, "pooling", [0, *range(2, 8)])
    (found,) = item_test("exact_match", [([own], [base])], False)
    assert found.p == pytest.approx(binomtest(1, 7).pvalue)
    assert found.method == "exact McNemar test over 40 test questions"
    (other,) = item_test("f1", [([own], [base])], False)
    assert other.method.endswith("; of right answers, whatever the metric")


# Figures


def kept(count: int = 5, heads: int = 1) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    words = np.array([["who", "came", "?", "<end>", "", ""]] * count)
    text = np.array([[f"word{n}" for n in range(70)] + [""] * 4] * count)
    weights = draw.dirichlet(np.ones(6), (count, heads, 74)).astype(np.float32)
    return {
        **{"weights": weights, "question": words, "text": text, "index": np.arange(count)},
        "answer": np.array([[3, 4], [66, 69], [-1, -1], [0, 0], [30, 31]][:count]),
        "prediction": np.array([[3, 4], [2, 2], [5, 6], [0, 0], [-1, -1]][:count]),
        "right": np.array([True, False, False, True, False][:count]),
    }


def test_maps_have_the_words_around_the_answer():
    figure = drawn(attention_figure)(kept(heads=2), METRICS)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == 5
    assert "mean over 2 heads" in figure.texts[1].get_text()
    texts = [[text.get_text() for text in axes.texts] for axes in maps]
    assert all(len(own) == 4 + 60 for own in texts)
    assert texts[0][:4] == ["who", "came", "?", "<end>"]
    assert texts[0][4] == "word10" and texts[0][-1] == "word69"  # the wrong ones come first
    expected = kept(heads=2)["weights"][1].mean(axis=0)[10:70, :4].T
    np.testing.assert_allclose(maps[0].images[0].get_array(), expected, rtol=1e-6)
    headings = [text.get_text().split()[0] for text in figure.texts[2:]]
    assert headings == ["wrong", "wrong", "wrong", "right", "right"]


def test_a_question_whose_answer_is_not_known_has_no_verdict():
    own = {name: values for name, values in kept(1).items() if name not in ("right", "index")}
    figure = drawn(attention_figure)(own, METRICS)
    assert len(figure.texts) == 2 and "right" not in figure.texts[1].get_text()


def test_a_run_draws_its_figures(tmp_path):
    run = write_answerer(tmp_path, "bahdanau", said(TEST, 0.5), DATA, kept=kept())
    history = {"epoch": 1, "train_loss": 2.0, "val_loss": 1.0, "val_exact_match": 40, "val_f1": 50}
    run.history.replace([history, {**history, "epoch": 2, "val_f1": 60}])
    found = {name: draw(each) for name, each in figures(run, run.read_metrics()).items()}
    assert list(found) == ["loss.png", "groups.png", "attention.png"]
    loss, scores = found["loss.png"].axes
    assert [line.get_label() for line in scores.lines][:2] == ["exact match", "F1"]
    assert "   F1 " in found["loss.png"].texts[1].get_text()
    assert {path.name for path in draw_run(run)} == {*found}


def test_the_shown_window_has_the_most_context_around_the_answer():
    from asked import fitted, part

    text = " ".join(f"w{n}" for n in range(60))
    asked = [question(0, text, "which?", "w33"), question(1, text, "none?")]
    own = part(asked, fitted(asked), places=(4, 20))
    assert own.rows.starts[own.rows.owners == 0].tolist() == [0, 10, 20, 30, 40]
    start = text.index("w33")
    assert (
        own.rows.starts[shown_window(own, 0, PredictedAnswer("w33", start, start + 3, 1), 20)] == 20
    )
    nothing = PredictedAnswer("", None, None, 1)
    holding = own.rows.starts[shown_window(own, 0, nothing, 20)]
    assert holding <= 33 < holding + 20
    assert own.rows.starts[shown_window(own, 1, nothing, 20)] == 0
