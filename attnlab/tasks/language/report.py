"""Build the report of a language model: measures, baselines, skill, predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from attnlab.tasks.accuracy_tests import skill
from attnlab.tasks.base import Report
from attnlab.tasks.language.data import PADDING, Asked, LanguageData, Rows, Stream, asked_rows
from attnlab.tasks.language.kneser_ney import MOST_TOKENS, KneserNey
from attnlab.text.cleaning import shortened

if TYPE_CHECKING:
    from attnlab.tasks.language.scoring import Scores
    from attnlab.tasks.language.text.vocabulary import Vocabulary

Measures = dict[str, float | None]
_ORDER = 7
_KNESER_NEY = f"kneser_ney_{_ORDER}"
_CHARACTERS = 60  # of a window in predictions.csv
_MOST_POSITIONS = 256  # of the loss by position


class ScoredTask(Protocol):
    """What a report needs from its task; see `LanguageTask`."""

    data: LanguageData
    vocabulary: Vocabulary
    chance: float | None

    def asked(self, part: str, stride: int | None = None) -> Asked: ...  # noqa: D102

    def lengths(self, part: str) -> np.ndarray | None: ...  # noqa: D102


def _bytes(stream: Stream) -> float:
    return float(stream.sizes[1:].sum(dtype=np.float64))


def build_report(task: ScoredTask, part: str, scores: Scores, stride: int | None = None) -> Report:
    """Score the predictions for a part, and the baselines."""
    own = task.data.parts[part]
    if isinstance(own, Stream):
        return _of_text(task, part, own, scores, stride)
    return _of_rows(task, part, own, scores)


# Texts


def _of_text(
    task: ScoredTask, part: str, own: Stream, scores: Scores, stride: int | None
) -> Report:
    """Report on a text: `bits_per_byte` is the metric, since it doesn't depend on the tokens."""
    metrics = _text_measures(float(scores.losses.sum(dtype=np.float64)), own)
    baselines, notes = _text_baselines(task, part, own)
    best = min(reversed(baselines), key=lambda name: baselines[name]["bits_per_byte"] or math.inf)
    bits = {name: each["bits_per_byte"] or math.inf for name, each in baselines.items()}
    skills: Measures = {
        name: 1.0 - (metrics["bits_per_byte"] or 0.0) / each for name, each in bits.items()
    }
    asked = task.asked(part, stride)
    return Report(
        metrics=metrics,
        baselines=baselines,
        best_baseline=best,
        skill=skills[best],
        notes=[*task.data.said, *notes],
        predictions=_windows(task, asked, own, scores),
        units="bits per byte",
        metric="bits_per_byte",
        skills=skills,
        details=by_position(asked, scores),
    )


def _text_measures(nats: float, part: Stream) -> Measures:
    """Return the measures of a text for the sum of its losses.

    The perplexity per word is exp(nats / words). Words are divided by white space, which is
    predicted, too, but isn't counted, except the ends of lines of `wikitext2`; see `Corpus.words`.
    """
    loss = nats / (len(part) - 1)
    by_word = nats / part.words if part.words else math.inf
    return {
        "loss": loss,
        "bits_per_byte": nats / (math.log(2) * _bytes(part)),
        "perplexity": _exp(loss),
        "word_perplexity": _exp(by_word),
    }


def _exp(value: float) -> float | None:
    return math.exp(value) if value < 700 else None


def _text_baselines(
    task: ScoredTask, part: str, own: Stream
) -> tuple[dict[str, Measures], list[str]]:
    """Return the measures of frequencies and of counts of n-grams, and notes.

    `unigram` predicts each token by its frequency in train, 1 added to each count.
    """
    stream, size = cast("Stream", task.data.parts["train"]), task.vocabulary.size
    counts, notes = stream.counts(size) + 1.0, []
    if (count := len(stream)) > MOST_TOKENS:
        notes.append(
            f"The baseline {_KNESER_NEY} is counted on the last {MOST_TOKENS:,} of {count:,} "
            "tokens of train: all would take too long."
        )
    nats = {
        "unigram": -np.log(counts / counts.sum())[own.tokens],
        _KNESER_NEY: KneserNey(stream.tokens, _ORDER, size).nats(own.tokens),
    }
    return {
        name: _text_measures(float(each[1:].sum(dtype=np.float64)), own)
        for name, each in nats.items()
    }, notes


def _windows(task: ScoredTask, asked: Asked, own: Stream, scores: Scores) -> dict[str, np.ndarray]:
    """Return a row per window: the start of its text, its targets, their bytes and nats."""
    first = asked.tokens[:, : _CHARACTERS // 2].tolist()
    texts = [shortened(task.vocabulary.decode(tokens), _CHARACTERS) for tokens in first]
    return {
        "window": np.arange(len(texts)),
        "text": np.array([" ".join(text.split()) for text in texts], object),
        "tokens": asked.known.sum(axis=1),
        "bytes": np.round(own.bytes_of(asked), 3),
        "nats": np.round(scores.losses.sum(axis=1, dtype=np.float64), 6),
    }


def by_position(asked: Asked, scores: Scores) -> dict[str, list[Any]]:
    """Return `by_position`, the mean loss at places of a window, and `tokens_before` each place.

    There are at most 256 places, at equal distances.
    """
    width = int(asked.places.max()) + 1
    places = asked.places[asked.known]
    sums = np.bincount(places, scores.losses[asked.known].astype(np.float64), width)
    means = sums / np.maximum(np.bincount(places, minlength=width), 1)
    chosen = np.linspace(0, width - 1, min(width, _MOST_POSITIONS)).astype(int)
    losses = [round(float(mean), 5) for mean in means[chosen]]
    return {"by_position": losses, "tokens_before": (chosen + 1).tolist()}


# Rows


def _of_rows(task: ScoredTask, part: str, own: Rows, scores: Scores) -> Report:
    """Report on rows: `accuracy` over all answers is the metric.

    Rows that are longer than all of train have metrics of their own, `accuracy_longer` and
    `whole_rows_longer`, and count in no other metric.
    """
    asked = asked_rows(own)
    known = asked.known
    right = scores.tokens == asked.targets
    lengths, trained = task.lengths(part), task.lengths("train")
    longer = np.zeros(len(known), bool)
    if lengths is not None and trained is not None:
        longer = lengths > trained.max()
    train = cast("Rows", task.data.parts["train"])
    usual = int(np.bincount(train.targets[train.targets != PADDING]).argmax())
    metrics, baselines = _row_measures(task, asked, right, ~longer, usual)
    metrics["loss"] = float(scores.losses[known & ~longer[:, None]].mean(dtype=np.float64))
    if longer.any():
        of_longer = _row_measures(task, asked, right, longer, usual)
        for name, measures in {"": metrics, **baselines}.items():
            others = of_longer[1][name] if name else of_longer[0]
            measures.update({f"{key}_longer": value for key, value in others.items()})
    best = max(reversed(baselines), key=lambda name: baselines[name]["accuracy"] or 0.0)
    skills = {name: skill(metrics, other) for name, other in baselines.items()}
    rows = np.nonzero(known)[0]
    predictions = {
        "row": rows,
        "place": asked.places[known],
        "answer": np.array(task.vocabulary.labels(asked.targets[known]), object),
        "prediction": np.array(task.vocabulary.labels(scores.tokens[known]), object),
        "right": right[known].astype(int),
        "p_answer": np.round(np.exp(-scores.losses[known].astype(np.float64)), 6),
    }
    if longer.any():
        predictions["longer"] = longer[rows].astype(int)
    return Report(
        metrics=metrics,
        baselines=baselines,
        best_baseline=best,
        skill=skills[best],
        notes=[*task.data.said],
        predictions=predictions,
        units="shares of the answers",
        metric="accuracy",
        skills=skills,
        details={} if lengths is None else {"by_length": by_length(known, right, lengths, longer)},
    )


def _row_measures(
    task: ScoredTask, asked: Asked, right: np.ndarray, chosen: np.ndarray, usual: int
) -> tuple[Measures, dict[str, Measures]]:
    """Return the measures of chosen rows (N,), and those of the baselines.

    Args:
        task: gives the baseline `guess`.
        asked: the rows.
        right: (N, K), which targets are predicted.
        chosen: (N,) bool.
        usual: the most frequent answer of train.
    """
    known = asked.known & chosen[:, None]
    whole = (right | ~asked.known).all(axis=1)[chosen]
    measures: Measures = {"accuracy": float(right[known].mean()), "whole_rows": float(whole.mean())}
    baselines: dict[str, Measures] = {
        "usual": {"accuracy": float(np.mean(asked.targets[known] == usual))}
    }
    if task.chance is not None:
        baselines["guess"] = {"accuracy": task.chance}
    return measures, baselines


def by_length(
    known: np.ndarray, right: np.ndarray, lengths: np.ndarray, longer: np.ndarray
) -> dict[str, list]:
    """Return the rows, the accuracy and the share of rows without a fault of each length.

    Args:
        known: (N, K), where there are targets.
        right: (N, K), which targets are predicted.
        lengths: (N,).
        longer: (N,), whether a row is longer than all of train.
    """
    different, numbers, rows = np.unique(lengths, return_inverse=True, return_counts=True)
    answers = np.bincount(numbers, known.sum(axis=1))
    whole = np.bincount(numbers, (right | ~known).all(axis=1)) / rows
    return {
        "length": different.tolist(),
        "rows": rows.tolist(),
        "accuracy": _rounded(np.bincount(numbers, (right & known).sum(axis=1)) / answers),
        "whole_rows": _rounded(whole),
        "longer": [bool(each) for each in np.isin(different, lengths[longer])],
    }


def _rounded(shares: np.ndarray) -> list[float]:
    return [round(float(share), 5) for share in shares]


def examples(
    task: ScoredTask, tokens: np.ndarray, attend: Callable[[np.ndarray], np.ndarray | None]
) -> dict[str, np.ndarray] | None:
    """Return attention on tokens (T,): `weights` (H, T, T), `ids` (T,) and their texts `tokens`."""
    weights = attend(tokens[None])
    if weights is None:
        return None
    return {
        "weights": np.asarray(weights[0], np.float32),
        "ids": tokens,
        "tokens": np.array(task.vocabulary.labels(tokens)),
    }
