"""Report answers: exact match and F1, baselines, skill, predictions, tests between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.answering.baselines import baselines
from attnlab.tasks.answering.corpora import Question
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.answering.measures import best, exact, f1
from attnlab.tasks.base import Report
from attnlab.tasks.item_tests import Losses, paired_tester
from attnlab.text.cleaning import one_line

if TYPE_CHECKING:
    from attnlab.tasks.answering.spans import PredictedAnswer
    from attnlab.tasks.base import TaskData


def measure(questions: Sequence[Question], answers: Sequence[str]) -> dict[str, np.ndarray]:
    """Return `exact_match` and `f1` per question, (N,), from 0 to 1, for the best right answer."""
    right = [[answer.text for answer in each.answers] for each in questions]
    return {
        name: np.array([best(score, *pair) for pair in zip(answers, right, strict=True)])
        for name, score in {"exact_match": exact, "f1": f1}.items()
    }


def build_report(
    data: TaskData, part: str, predicted: Sequence[PredictedAnswer], loss: float
) -> Report:
    """Score a model's answers to the questions of a part, and the baselines.

    The skill is 1 - error / error of the best baseline, with error = 100 - exact match; None if
    that baseline makes no error. `groups` has the results by question word and, if some questions
    have no answer, by whether there is one.
    """
    questions = data.parts[part].questions
    scores = measure(questions, [answer.text for answer in predicted])
    rules = baselines(data.parts["train"].questions, questions)
    rule_scores = {name: measure(questions, answers) for name, answers in rules.items()}

    def skill(name: str) -> float | None:
        error, usual = (
            1.0 - float(values["exact_match"].mean()) for values in (scores, rule_scores[name])
        )
        return 1.0 - error / usual if usual else None

    # Of equally good baselines the last one, which uses more of the texts.
    strongest = max(reversed(rules), key=lambda name: rule_scores[name]["exact_match"].mean())
    return Report(
        metrics={**_percent(scores), "loss": loss if np.isfinite(loss) else None},
        baselines={name: _percent(values) for name, values in rule_scores.items()},
        best_baseline=strongest,
        skill=skill(strongest),
        skills={name: skill(name) for name in rules},
        notes=[*data.notes],
        predictions=_predictions(questions, predicted, scores, rules),
        units="percent of the questions",
        metric="exact_match",
        details={"groups": _groups(questions, scores)},
    )


def _percent(values: Mapping[str, np.ndarray]) -> dict[str, float | None]:
    return {name: 100.0 * float(column.mean()) for name, column in values.items()}


def _groups(
    questions: Sequence[Question], scores: Mapping[str, np.ndarray]
) -> dict[str, dict[str, Any]]:
    """Return counts and scores by question word, and of questions with and without an answer."""
    words = np.array([each.group for each in questions])
    masks = {str(name): words == name for name in sorted(set(words.tolist()))}
    answered = np.array([bool(each.answers) for each in questions])
    if not answered.all():
        masks |= {"with an answer": answered, "without an answer": ~answered}
    return {
        name: {"n": int(mask.sum()), **_percent({key: v[mask] for key, v in scores.items()})}
        for name, mask in masks.items()
        if mask.any()
    }


def _predictions(
    questions: Sequence[Question],
    predicted: Sequence[PredictedAnswer],
    scores: Mapping[str, np.ndarray],
    rules: Mapping[str, Sequence[str]],
) -> dict[str, np.ndarray]:
    """Return a row per question; places are characters of its text, -1 for "no answer"."""

    def lines(texts: Iterable[str]) -> np.ndarray:
        return np.array([one_line(text) for text in texts], object)

    return {
        "index": np.arange(len(questions)),
        "id": lines(each.id for each in questions),
        "question": lines(each.question for each in questions),
        "group": lines(each.group for each in questions),
        "answer": lines(each.answers[0].text if each.answers else "" for each in questions),
        "prediction": lines(answer.text for answer in predicted),
        "start": np.array([-1 if each.start is None else each.start for each in predicted]),
        "end": np.array([-1 if each.end is None else each.end for each in predicted]),
        "probability": np.round([answer.probability for answer in predicted], 6),
        "exact_match": scores["exact_match"].astype(int),
        "f1": np.round(scores["f1"], 6),
        **{name: lines(answers) for name, answers in rules.items()},
    }


def _losses(columns: Mapping[str, np.ndarray], metric: str) -> Losses:
    """Return the questions with their answers, and 1 - exact match or F1 of each."""
    names = (columns[name].tolist() for name in ("id", "question", "answer"))
    return Losses(list(zip(*names, strict=True)), 1.0 - columns[metric], "questions")


item_test = paired_tester(KIND, _losses)
