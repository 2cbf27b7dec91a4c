"""Report answers: scores, baselines, skill, predictions, tests between runs, attention."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np

from attnlab.tasks.answering.baselines import baselines
from attnlab.tasks.answering.corpora import Question
from attnlab.tasks.answering.kind import KIND
from attnlab.tasks.base import Report, skills
from attnlab.tasks.item_tests import Losses, paired_tester
from attnlab.text.cleaning import one_line
from attnlab.text.words import is_unspaced, split_words

if TYPE_CHECKING:
    from attnlab.tasks.answering.data import QuestionPart
    from attnlab.tasks.answering.spans import PredictedAnswer
    from attnlab.tasks.base import TaskData

_MOST_TEXT, _MOST_QUESTION = 60, 24  # tokens for which a figure of attention has room
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalized_answer(text: str) -> str:
    """Normalize an answer: lower case, no ASCII punctuation, no articles, single spaces.

    Source: Rajpurkar et al. 2016 (arXiv 1606.05250), section 6.1, as SQuAD's script does it.
    In scripts without spaces (Chinese, Japanese, Thai) all punctuation is removed and each
    character is a word, as in MLQA's script (Lewis et al. 2020, arXiv 1910.07475, appendix D).
    Difference: MLQA does this only for Chinese.
    """
    bare = text.lower().translate(_PUNCTUATION)
    if is_unspaced(bare):
        return " ".join(
            split_words("".join(letter for letter in bare if category(letter)[0] != "P"))
        )
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact(predicted: str, answer: str) -> float:
    """Return 1 if both are equal after normalization, else 0."""
    return float(normalized_answer(predicted) == normalized_answer(answer))


def f1(predicted: str, answer: str) -> float:
    """Return 2 P R / (P + R) of the shared words, counted with repetitions.

    If one of them has no words, it is 1 if the other has none either, else 0, as in SQuAD 2.0.
    """
    words, right_words = (normalized_answer(text).split() for text in (predicted, answer))
    if not words or not right_words:
        return float(words == right_words)
    shared = sum((Counter(words) & Counter(right_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(words), shared / len(right_words)
    return 2 * precision * recall / (precision + recall)


def best(measure: Callable[[str, str], float], predicted: str, answers: Sequence[str]) -> float:
    """Return the largest value of a measure over all right answers; if there are none, over "".

    Answers that are empty after normalization are ignored, as in version 2.0 of SQuAD.
    """
    right = [answer for answer in answers if normalized_answer(answer)] or [""]
    return max(measure(predicted, answer) for answer in right)


def measure(questions: Sequence[Question], answers: Sequence[str]) -> dict[str, np.ndarray]:
    """Return `exact_match` and `f1` per question, (N,), from 0 to 1, for the best right answer."""
    right = [[answer.text for answer in item.answers] for item in questions]
    return {
        name: np.array([best(score, *pair) for pair in zip(answers, right, strict=True)])
        for name, score in {"exact_match": exact, "f1": f1}.items()
    }


def build_report(
    data: TaskData, part: str, predicted: Sequence[PredictedAnswer], loss: float
) -> Report:
    """Score a model's answers to the questions of a part, and the baselines."""
    questions = data.parts[part].questions
    scores = measure(questions, [answer.text for answer in predicted])
    rules = baselines(data.parts["train"].questions, questions)
    rule_scores = {name: measure(questions, answers) for name, answers in rules.items()}
    error, *errors = (
        1.0 - float(values["exact_match"].mean()) for values in (scores, *rule_scores.values())
    )
    strongest, by_baseline = skills(error, dict(zip(rules, errors, strict=True)))
    return Report(
        metrics={**_percent(scores), "loss": loss if np.isfinite(loss) else None},
        baselines={name: _percent(values) for name, values in rule_scores.items()},
        best_baseline=strongest,
        skill=by_baseline[strongest],
        skills=by_baseline,
        notes=[*data.notes],
        predictions=_predictions(questions, predicted, scores, rules),
        units="percent of the questions",
        metric="exact_match",
    )


def _percent(values: Mapping[str, np.ndarray]) -> dict[str, float | None]:
    return {name: 100.0 * float(column.mean()) for name, column in values.items()}


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
        "id": lines(item.id for item in questions),
        "question": lines(item.question for item in questions),
        "answer": lines(item.answers[0].text if item.answers else "" for item in questions),
        "prediction": lines(answer.text for answer in predicted),
        "start": np.array([-1 if item.start is None else item.start for item in predicted]),
        "end": np.array([-1 if item.end is None else item.end for item in predicted]),
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


def attention_on_questions(
    part: QuestionPart,
    predicted: Sequence[PredictedAnswer],
    question_places: int,
    words: Callable[[np.ndarray], np.ndarray],
    attend: Callable[[np.ndarray], Any],
) -> dict[str, np.ndarray] | None:
    """Return attention in a window of each text, for attention.npz; None if there is none.

    The window is the first one with the right answer, or the first one of a text without an answer.
    At most 60 tokens of it are returned, those around the answer, and 24 of the question.

    `words` returns a label per token, `attend` maps rows (N, 1 + Q + P) to weights (N, H, P, Q).

    Returns:
        `weights` (N, H, 60, 24) float16; words of `text` (N, 60) and `question` (N, 24), "" for
        padding; `answer` and `prediction` (N, 2), first and last place in these words, -1 for none.
    """
    windows = [np.flatnonzero(part.rows.owners == number) for number in range(len(part))]
    rows = np.array([numbers[np.argmax(part.rows.targets[numbers, 0] > 0)] for numbers in windows])
    tokens = part.rows.tokens[rows]
    weights = attend(tokens)
    if weights is None:
        return None
    text = words(tokens[:, 1 + question_places :])
    answers, predictions = part.rows.targets[rows] - 1, np.full((len(part), 2), -1)
    for row, (cut, answer) in enumerate(zip(part.texts, predicted, strict=True)):
        if answer.start is None or answer.end is None:
            continue
        if span := cut.holding(answer.start, answer.end):
            predictions[row] = span - part.rows.starts[rows[row]]
    width = min(text.shape[1], _MOST_TEXT)
    last = np.maximum((text != "").sum(axis=1) - width, 0)
    offsets = np.clip(answers[:, 0] - width // 2, 0, last)[:, None]
    columns = offsets + np.arange(width)  # (N, 60)

    def shift(places: np.ndarray) -> np.ndarray:
        inside = (places[:, :1] >= offsets) & (places[:, 1:] < offsets + width)
        return np.where(inside, places - offsets, -1)

    weights = np.take_along_axis(np.asarray(weights), columns[:, None, :, None], axis=2)
    return {
        "weights": weights[..., :_MOST_QUESTION].astype(np.float16),
        "text": np.take_along_axis(text, columns, axis=1),
        "question": words(tokens[:, 1 : 1 + question_places])[:, :_MOST_QUESTION],
        "answer": shift(answers),
        "prediction": shift(predictions),
    }
