"""Build the report of answers: exact match and F1, baselines, skill, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.answering.baselines import baselines
from attnlab.tasks.answering.corpora.corpus import Asked
from attnlab.tasks.answering.measures import best, exact, f1
from attnlab.tasks.base import Report
from attnlab.text.cleaning import one_line

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import AskedTexts
    from attnlab.tasks.answering.spans import PredictedAnswer

_MEASURES = {"exact_match": exact, "f1": f1}


def measured(asked: Sequence[Asked], said: Sequence[str]) -> dict[str, np.ndarray]:
    """Return `exact_match` and `f1` per question, (N,), from 0 to 1, for the best right answer."""
    texts = [[answer.text for answer in each.answers] for each in asked]
    return {
        name: np.array([best(measure, *pair) for pair in zip(said, texts, strict=True)])
        for name, measure in _MEASURES.items()
    }


def build_report(
    data: AskedTexts, part: str, said: Sequence[PredictedAnswer], loss: float
) -> Report:
    """Score a model's answers to the questions of a part, and the baselines.

    The skill is 1 - error / error of the best baseline, with error = 100 - exact match; None if
    that baseline makes no error. `groups` has the results by question word and, if some questions
    have no answer, by whether there is one.
    """
    asked = data.parts[part].questions
    own = measured(asked, [each.text for each in said])
    rules = baselines(data.parts["train"].questions, asked)
    others = {name: measured(asked, answers) for name, answers in rules.items()}
    metrics = {**_means(own), "loss": loss if np.isfinite(loss) else None}
    scores = {name: _means(each) for name, each in others.items()}
    # Of equally good baselines the last one, which uses more of the texts.
    strongest = max(reversed(scores), key=lambda name: scores[name]["exact_match"] or 0.0)
    skills = {
        name: _skill(own["exact_match"], each["exact_match"]) for name, each in others.items()
    }
    return Report(
        metrics=metrics,
        baselines=scores,
        best_baseline=strongest,
        skill=skills[strongest],
        notes=[*_notes(data), *data.limits(*dict.fromkeys(("train", part)))],
        predictions=_predictions(asked, said, own, rules),
        units="percent of the questions",
        skills=skills,
        metric="exact_match",
        details={
            "groups": _groups(asked, own),
            "best_possible_exact_match": data.best_possible(part),
            **({"left_out": dict(data.left_out)} if data.left_out else {}),
        },
    )


def _means(values: Mapping[str, np.ndarray]) -> dict[str, float | None]:
    return {name: 100.0 * float(each.mean()) for name, each in values.items()}


def _skill(own: np.ndarray, other: np.ndarray) -> float | None:
    error, usual = (1.0 - float(each.mean()) for each in (own, other))
    return 1.0 - error / usual if usual else None


def _groups(asked: Sequence[Asked], own: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Return counts and scores by question word, and of questions with and without an answer."""
    words = np.array([each.group for each in asked])
    chosen = {str(name): words == name for name in sorted(set(words.tolist()))}
    answered = np.array([bool(each.answers) for each in asked])
    if not answered.all():
        chosen |= {"with an answer": answered, "without an answer": ~answered}
    return {
        name: {"n": int(rows.sum()), **_means({key: each[rows] for key, each in own.items()})}
        for name, rows in chosen.items()
        if rows.any()
    }


def _notes(data: AskedTexts) -> list[str]:
    notes = [*data.said]
    if data.cut:
        total = sum(data.counts().values())
        notes.append(f"The end of {data.cut:,} of the {total:,} questions was cut off.")
    windows = sum(len(part.rows.owners) for part in data.parts.values())
    if windows > (total := sum(data.counts().values())):
        notes.append(
            f"Long texts were read in windows: {windows:,} of them for the {total:,} questions."
        )
    return notes


def _predictions(
    asked: Sequence[Asked],
    said: Sequence[PredictedAnswer],
    own: Mapping[str, np.ndarray],
    rules: Mapping[str, Sequence[str]],
) -> dict[str, np.ndarray]:
    """Return a row per question; places are characters of its text, -1 for "no answer"."""
    places = [(-1, -1) if each.start is None else (each.start, each.end) for each in said]
    starts, ends = np.array(places, np.int64).T
    return {
        "index": np.arange(len(asked)),
        "id": _lines(each.id for each in asked),
        "question": _lines(each.question for each in asked),
        "group": _lines(each.group for each in asked),
        "answer": _lines(each.answers[0].text if each.answers else "" for each in asked),
        "prediction": _lines(each.text for each in said),
        "start": starts,
        "end": ends,
        "probability": np.round([each.probability for each in said], 6),
        "exact_match": own["exact_match"].astype(int),
        "f1": np.round(own["f1"], 6),
        **{name: _lines(answers) for name, answers in rules.items()},
    }


def _lines(texts: Any) -> np.ndarray:
    return np.array([one_line(text) for text in texts], object)
