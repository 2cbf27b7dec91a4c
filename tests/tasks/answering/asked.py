"""Synthetic questions about texts, and runs that answer them, with attention."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.records.run_directory import RunDirectory
from attnlab.tasks.answering.corpora.corpus import Answer, Asked
from attnlab.tasks.answering.data import AskedPart, AskedTexts
from attnlab.tasks.answering.encoding import cut_question, cut_text, make_rows
from attnlab.tasks.answering.report import build_report
from attnlab.tasks.answering.spans import PredictedAnswer
from attnlab.text.tokenizers import Tokenizer

PEOPLE = ("Anna", "Peter", "Clara", "David")
TIMES = ("at noon", "on Monday", "in March", "after lunch")


def question(number: int, text: str, asking: str, *answers: str) -> Asked:
    """A question with answers at their first positions in the text."""
    places = tuple(Answer(text.index(answer), answer) for answer in answers)
    return Asked(f"q{number}", asking, text, places)


def some_questions(count: int, seed: int = 0) -> list[Asked]:
    """Who came, and when: one of two sentences answers."""
    draw = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        people, times = draw.permutation(PEOPLE)[:2], draw.permutation(TIMES)[:2]
        text = " ".join(f"{who} came {when}." for who, when in zip(people, times, strict=True))
        text += f" It was day {len(found)}."
        which = int(draw.integers(2))
        asking = (f"Who came {times[which]}?", str(people[which]))
        if draw.integers(2):
            asking = (f"When did {people[which]} come?", str(times[which]))
        found.append(question(len(found), text, *asking))
    return found


def squad_json(questions: Sequence[Asked]) -> str:
    """The same questions as a file in SQuAD's format."""
    paragraphs = [
        {
            "context": each.text,
            "qas": [
                {
                    "id": each.id,
                    "question": each.question,
                    "answers": [{"text": a.text, "answer_start": a.start} for a in each.answers],
                    "is_impossible": not each.answers,
                }
            ],
        }
        for each in questions
    ]
    return json.dumps({"version": "1.1", "data": [{"title": "made up", "paragraphs": paragraphs}]})


def part(
    questions: Sequence[Asked], tokenizer: Tokenizer, *, places: tuple[int, int] = (8, 24)
) -> AskedPart:
    """Tokenized questions, with these numbers of places for question and text."""
    texts = [cut_text(tokenizer, each.text) for each in questions]
    answers = [
        text.holding(each.answers[0].start, each.answers[0].end) if each.answers else None
        for each, text in zip(questions, texts, strict=True)
    ]
    tokens = [cut_question(tokenizer, each.question) for each in questions]
    sizes = {"question_places": places[0], "text_places": places[1], "stride": 128}
    return AskedPart(questions, texts, make_rows(tokens, texts, answers, **sizes))


def fitted(questions: Sequence[Asked]) -> Tokenizer:
    texts = [text for each in questions for text in (each.question, each.text)]
    return Tokenizer.fit(texts, kind="word", lowercase=True)


def asked_texts(train: Sequence[Asked], test: Sequence[Asked]) -> AskedTexts:
    tokenizer = fitted(train)
    parts = {"train": part(train, tokenizer), "test": part(test, tokenizer)}
    return AskedTexts("made up", "a test", "0" * 64, parts)


def said(questions: Sequence[Asked], right: float, seed: int = 0) -> list[PredictedAnswer]:
    """Answers: about this share is right; the others are the text's first word."""
    draw = np.random.default_rng(seed)
    found = []
    for each in questions:
        word = each.text.split()[0]
        given = each.answers[0] if draw.random() < right else Answer(0, word)
        found.append(
            PredictedAnswer(given.text, given.start, given.end, float(draw.uniform(0.2, 1)))
        )
    return found


def write_answerer(
    runs: Path,
    attention: str,
    answers: Sequence[PredictedAnswer],
    data: AskedTexts,
    *,
    seed: int = 0,
    kept: Mapping[str, np.ndarray] | None = None,
) -> RunDirectory:
    """Write a run with these answers to the test questions."""
    from compared_runs import write_run

    report = build_report(data, "test", answers, 0.5)
    scores = report.scores()
    known: dict[str, Any] = {"test": scores.pop("metrics"), **scores, "notes": report.notes}
    known |= {"monitor": "val_f1", "best_epoch": 2}
    run = write_run(runs, attention, seed, None, task="answer", metrics=known)
    run.write_predictions(report.predictions)
    if kept is not None:
        np.savez(run.path / "attention.npz", **kept)
    return run
