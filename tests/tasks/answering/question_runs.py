"""Synthetic questions about texts, and runs that answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.answering.corpora import Question, RightAnswer
from attnlab.tasks.answering.data import (
    QuestionPart,
    cut_question,
    cut_text,
    make_part,
)
from attnlab.tasks.answering.report import build_report
from attnlab.tasks.answering.spans import PredictedAnswer
from attnlab.tasks.attention import Recorded, write_attention
from attnlab.tasks.base import TaskData
from attnlab.text.tokenizers import Tokenizer

PEOPLE = ("Anna", "Peter", "Clara", "David")
TIMES = ("at noon", "on Monday", "in March", "after lunch")
NOTHING = PredictedAnswer("", None, None, 1.0)


def question(number: int, text: str, words: str, *answers: str) -> Question:
    """A question with answers at their first positions in the text."""
    places = tuple(RightAnswer(text.index(answer), answer) for answer in answers)
    return Question(f"q{number}", words, text, places)


def some_questions(count: int, seed: int = 0) -> list[Question]:
    """Who came, and when: one of two sentences answers."""
    draw = np.random.default_rng(seed)
    questions = []
    for number in range(count):
        people, times = draw.permutation(PEOPLE)[:2], draw.permutation(TIMES)[:2]
        text = " ".join(f"{who} came {when}." for who, when in zip(people, times, strict=True))
        text += f" It was day {number}."
        which = int(draw.integers(2))
        words, answer = f"Who came {times[which]}?", people[which]
        if draw.integers(2):
            words, answer = f"When did {people[which]} come?", times[which]
        questions.append(question(number, text, words, str(answer)))
    return questions


def squad_json(questions: Sequence[Question]) -> str:
    """The same questions as a file in SQuAD's format."""
    paragraphs = [
        {
            "context": item.text,
            "qas": [
                {
                    "id": item.id,
                    "question": item.question,
                    "answers": [{"text": a.text, "answer_start": a.start} for a in item.answers],
                    "is_impossible": not item.answers,
                }
            ],
        }
        for item in questions
    ]
    return json.dumps({"version": "1.1", "data": [{"title": "made up", "paragraphs": paragraphs}]})


def fitted(questions: Sequence[Question]) -> Tokenizer:
    texts = [text for item in questions for text in (item.question, item.text)]
    return Tokenizer.fit(texts, kind="word", lowercase=True)


def part_of(
    questions: Sequence[Question], tokenizer: Tokenizer, places: tuple[int, int] = (8, 24)
) -> QuestionPart:
    """Tokenized questions, with these numbers of places for question and text."""
    tokens = {item.question: cut_question(tokenizer, item.question) for item in questions}
    texts = {item.text: cut_text(tokenizer, item.text) for item in questions}
    sizes = {"question_places": places[0], "text_places": places[1], "stride": 128}
    return make_part(questions, tokens, texts, **sizes)


def data_of(train: Sequence[Question], test: Sequence[Question]) -> TaskData:
    tokenizer = fitted(train)
    parts = {"train": part_of(train, tokenizer), "test": part_of(test, tokenizer)}
    return TaskData(name="made up", source="a test", digest="0" * 64, longest=33, parts=parts)


def predicted(questions: Sequence[Question], right: float, seed: int = 0) -> list[PredictedAnswer]:
    """Answers: about this share is right; the others are the text's first word."""
    draw = np.random.default_rng(seed)
    answers = []
    for item in questions:
        wrong = RightAnswer(0, item.text.split()[0])
        answer = item.answers[0] if draw.random() < right else wrong
        probability = float(draw.uniform(0.2, 1))
        answers.append(PredictedAnswer(answer.text, answer.start, answer.end, probability))
    return answers


def write_answers(
    runs: Path,
    attention: str,
    answers: Sequence[PredictedAnswer],
    data: TaskData,
    *,
    seed: int = 0,
    arrays: Mapping[int, Mapping[str, np.ndarray]] | None = None,
) -> RunDirectory:
    """Write a run with these answers to the test questions; `arrays` are its attention by epoch."""
    from run_folders import write_run

    report = build_report(data, "test", answers, 0.5)
    scores = report.scores()
    metrics = {"test": scores.pop("metrics"), **scores, "notes": report.notes}
    metrics |= {"monitor": "val_f1", "best_epoch": 2}
    run = write_run(runs, attention, seed, None, task="answer", metrics=metrics)
    run.write_predictions(report.predictions)
    if arrays is not None:
        write_attention(run, Recorded(arrays, 2))
    return run
