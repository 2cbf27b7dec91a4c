"""Build the report of predicted words: measures, baselines, skill, predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from attnlab.tasks.accuracy_tests import skill
from attnlab.tasks.base import Report
from attnlab.tasks.masked_words.baselines import baselines
from attnlab.tasks.masked_words.masking import kinds_of, marked

if TYPE_CHECKING:
    from attnlab.tasks.masked_words.data import MaskedTexts
    from attnlab.tasks.masked_words.scoring import WordPredictions
    from attnlab.text.tokenizers import Tokenizer

_AROUND = 8  # tokens on each side of a word that predictions.csv shows
_EXAMPLES = 8  # words whose attention is saved


class WordTask(Protocol):
    """What a report needs from its task.

    Attributes:
        data: the task's data.
        tokenizer: the task's tokenizer.
        mask: the token of the mask.
    """

    data: MaskedTexts
    tokenizer: Tokenizer

    @property
    def mask(self) -> int: ...  # noqa: D102

    def words(self, tokens: np.ndarray) -> np.ndarray:
        """Return the words of tokens (N, S)."""

    def labels(self, tokens: np.ndarray) -> list[str]:
        """Return the words of tokens (N,)."""


def build_report(task: WordTask, part: str, predicted: WordPredictions) -> Report:
    """Score the predictions for the chosen words of a part, and the baselines.

    The skill is 1 - error / error of the best baseline, with error = the share of wrong words. For
    pairs of texts, the baselines predict the answer that is more frequent in train.
    """
    data, own = task.data, task.data.parts[part]
    assert own.asked is not None
    right = own.words
    metrics = _measures(predicted.words == right, predicted.losses)
    if predicted.follows is not None:
        metrics["follows"] = float(np.mean((predicted.follows > 0.5) == own.follows))
    counted = data.parts["train"].counted
    rules = baselines(counted, own.asked, right, task.tokenizer.size)
    others = {name: _measures(said == right, losses) for name, (said, losses) in rules.items()}
    if predicted.follows is not None:
        usual = data.parts["train"].follows.mean() >= 0.5
        right_pairs = float(np.mean(own.follows == usual))
        others = {name: {**each, "follows": right_pairs} for name, each in others.items()}
    best = max(reversed(others), key=lambda name: others[name]["accuracy"] or 0.0)
    skills = {name: skill(metrics, other) for name, other in others.items()}
    columns = _predictions(task, part, predicted, {name: said for name, (said, _) in rules.items()})
    return Report(
        metrics=metrics,
        baselines=others,
        best_baseline=best,
        skill=skills[best],
        notes=data.notes(),
        predictions=columns,
        units="shares of the chosen words",
        skills=skills,
        metric="accuracy",
        details={
            "groups": _by_kind(columns),
            **({"left_out": dict(data.left_out)} if data.left_out else {}),
        },
    )


def _measures(right: np.ndarray, losses: np.ndarray) -> dict[str, float | None]:
    perplexity = float(np.exp(np.mean(losses)))
    known = perplexity if np.isfinite(perplexity) else None
    return {"accuracy": float(np.mean(right)), "perplexity": known}


def _by_kind(columns: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return the number and the accuracy of masked, replaced and kept words."""
    found = {}
    for kind in ("masked", "replaced", "kept"):
        own = columns["right"][columns["read"] == kind]
        if len(own):
            found[kind] = {"n": len(own), "accuracy": float(own.mean())}
    return found


def _predictions(
    task: WordTask, part: str, predicted: WordPredictions, rules: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    own = task.data.parts[part]
    asked = own.asked
    assert asked is not None
    rows, columns = np.nonzero(asked.known)
    places = asked.places[rows, columns]
    read = task.words(asked.tokens)

    def words(numbers: np.ndarray) -> np.ndarray:
        return np.array(task.labels(numbers), object)

    kinds = kinds_of(asked.tokens[rows, places], own.tokens[rows, places], task.mask)
    return {
        "row": rows,
        "place": places,
        "text": np.array([_around(read[row], at) for row, at in zip(rows, places, strict=True)]),
        "read": np.array(kinds, object),
        "word": words(own.words),
        "p_word": np.round(np.exp(-predicted.losses.astype(np.float64)), 6),
        "prediction": words(predicted.words),
        "right": (predicted.words == own.words).astype(int),
        "probability": np.round(predicted.probabilities.astype(np.float64), 6),
        **{name: words(said) for name, said in rules.items()},
    }


def _around(words: np.ndarray, place: int) -> str:
    """Return the words around a place as the model reads them, with » « around the place's word."""
    first = max(place - _AROUND, 1)
    before, after = words[first:place], words[place + 1 : place + 1 + _AROUND]
    return " ".join(word for word in (*before, marked(words[place]), *after) if word)


def chosen_words(right: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Choose words at equal distances, at most one per row: half of them wrong if there are enough.

    The wrong ones come first.

    Args:
        right: (M,) whether each word was predicted correctly.
        rows: (M,) the row of each word.
    """
    wrong = _one_of_each(np.flatnonzero(~right), rows)
    correct = np.flatnonzero(right)
    elsewhere = _one_of_each(correct, rows)
    count = max(_EXAMPLES // 2, _EXAMPLES - len(elsewhere))
    some = _spread(wrong, count)
    others = _one_of_each(correct[~np.isin(rows[correct], rows[some])], rows)
    return np.concatenate([some, _spread(others, _EXAMPLES - len(some))])


def _one_of_each(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the first of the numbers in each row."""
    return numbers[np.unique(rows[numbers], return_index=True)[1]]


def _spread(numbers: np.ndarray, most: int) -> np.ndarray:
    count = min(most, len(numbers))
    return numbers[np.linspace(0, len(numbers) - 1, count).astype(int)] if count else numbers[:0]
