"""Build the reports of a language model and of masked words: measures, baselines, predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.base import Report
from attnlab.tasks.declaration import NoItemTest
from attnlab.tasks.item_tests import Losses, paired_tester
from attnlab.tasks.language.baselines import MOST_TOKENS, KneserNey
from attnlab.tasks.language.data import PADDING, Rows, ScoredRows, Stream
from attnlab.tasks.language.kind import KIND, MASKED_WORDS
from attnlab.text.cleaning import shortened

if TYPE_CHECKING:
    from attnlab.tasks.language.models.model import Scores

Measures = dict[str, float | None]
_ORDER = 7
_KNESER_NEY = f"kneser_ney_{_ORDER}"
_CHARACTERS = 60  # of a window in predictions.csv
_AROUND = 8  # tokens on each side of an answer in predictions.csv


def build_report(task: Any, part: str, scores: Scores, stride: int | None = None) -> Report:
    """Compare the predictions of a model for a part with those of the baselines."""
    stream = task.data.parts[part]
    if isinstance(stream, Stream):
        return _text_report(task, part, stream, scores, stride)
    report = _words_report if task.kind is MASKED_WORDS else _rows_report
    return report(task, part, scores)


# Texts


def _text_report(
    task: Any, part: str, stream: Stream, scores: Scores, stride: int | None
) -> Report:
    """Report on a text by bits per byte, which don't depend on the tokens.

    If the part has unknown tokens, the metric is the perplexity per token: an unknown token stands
    for any text, so the bits of its letters are missing. All baselines predict the same tokens.
    """
    train, size = task.data.parts["train"], task.vocabulary.size
    assert isinstance(train, Stream)
    notes, tokens = [*task.data.notes], stream.tokens()
    if (count := len(train)) > MOST_TOKENS:
        notes.append(
            f"The baselines are counted on the last {MOST_TOKENS:,} of {count:,} tokens of train: "
            "all would take too long."
        )
    counted = train.tokens(slice(-MOST_TOKENS, None))
    counts = np.bincount(counted, minlength=size) + 1.0
    nats = {
        "unigram": -np.log(counts / counts.sum())[tokens],
        _KNESER_NEY: KneserNey(counted, _ORDER, size).nats(tokens),
    }
    words = task.corpus.words(bytes(task.corpus.parts[part]))
    metrics = _text_measures(float(scores.losses.sum(dtype=np.float64)), stream, words)
    baselines = {
        name: _text_measures(float(losses[1:].sum(dtype=np.float64)), stream, words)
        for name, losses in nats.items()
    }
    metric, units, perfect = "bits_per_byte", "bits per byte", 0.0
    if stream.unknown:
        metric, units, perfect = "perplexity", "perplexity per token", 1.0
        count = len(stream) - 1
        notes.append(
            f"{stream.unknown:,} of {count:,} predicted tokens ({stream.unknown / count:.1%}) are "
            "unknown. What they stand for has no cost, so there are no bits per byte."
        )
    scored = task.scored_rows(part, stride)
    texts = (task.vocabulary.decode(row) for row in scored.tokens[:, : _CHARACTERS // 2].tolist())
    columns = {
        "window": np.arange(len(scored.tokens)),
        "text": np.array(
            [" ".join(shortened(text, _CHARACTERS).split()) for text in texts], object
        ),
        "tokens": scored.has_target.sum(axis=1),
        "bytes": np.round(stream.bytes_of(scored), 3),
        "nats": np.round(scores.losses.sum(axis=1, dtype=np.float64), 6),
    }
    compared = _compared(metrics, baselines, metric, perfect)
    return Report(**compared, notes=notes, predictions=columns, units=units)


def _text_measures(nats: float, part: Stream, words: int) -> Measures:
    """Return the measures of a text for the sum of its losses.

    The perplexity per word is exp(nats / words). Words are divided by white space, which is
    predicted, too, but isn't counted, except the ends of lines of `wikitext2`; see `Text.words`.
    """
    loss = nats / (len(part) - 1)
    measures: Measures = {"loss": loss, "perplexity": math.exp(loss) if loss < 700 else None}
    if not part.unknown:
        size = part.size - float(part.sizes[part.tokens(slice(0, 1))][0])
        by_word = nats / words if words else math.inf
        measures["bits_per_byte"] = nats / (math.log(2) * size)
        measures["word_perplexity"] = math.exp(by_word) if by_word < 700 else None
    return measures


# Rows


def _rows_report(task: Any, part: str, scores: Scores) -> Report:
    """Report on a generated task: `accuracy` over all answers is the metric.

    Rows that are longer than all of train have metrics of their own, `accuracy_longer` and
    `whole_rows_longer`, and count in no other metric.
    """
    scored, train = task.scored_rows(part), task.data.parts["train"]
    assert isinstance(train, Rows)
    has_target = scored.has_target
    right = scores.tokens == scored.targets
    corpus = task.corpus
    lengths, trained = (corpus.lengths(corpus.parts[name]) for name in (part, "train"))
    longer = np.zeros(len(has_target), bool)
    if lengths is not None and trained is not None:
        longer = lengths > trained.max()
    usual = int(np.bincount(train.targets[train.targets != PADDING]).argmax())
    metrics: Measures = {}
    baselines: dict[str, Measures] = {"usual": {}, "guess": {}}
    for suffix, chosen in (("", ~longer), ("_longer", longer)):
        if chosen.any():
            some = has_target & chosen[:, None]
            whole = (right | ~some).all(axis=1)[chosen]
            metrics[f"accuracy{suffix}"] = float(right[some].mean())
            metrics[f"whole_rows{suffix}"] = float(whole.mean())
            baselines["usual"][f"accuracy{suffix}"] = float(np.mean(scored.targets[some] == usual))
            baselines["guess"][f"accuracy{suffix}"] = corpus.chance
    if corpus.chance is None:
        del baselines["guess"]
    short = has_target & ~longer[:, None]
    names = np.array(task.vocabulary.labels(range(task.vocabulary.size)), object)
    metrics["loss"] = float(scores.losses[short].mean(dtype=np.float64))
    columns = answer_columns(scored, scores, names)
    if longer.any():
        columns["longer"] = longer[columns["row"]].astype(int)
    details = {}
    if lengths is not None:
        details["by_length"] = by_length(has_target, right, lengths, longer)
    return _answers_report(task, metrics, baselines, columns, details)


def _words_report(task: Any, part: str, scores: Scores) -> Report:
    """Score the predictions for masked words of a part, and the baselines; see `_rows_report`."""
    scored = task.scored_rows(part)
    targets = scored.targets[scored.has_target]

    def measures(words: np.ndarray, losses: np.ndarray) -> Measures:
        loss = float(losses.mean(dtype=np.float64))
        perplexity = math.exp(loss) if loss < 700 else None
        return {"accuracy": float(np.mean(words == targets)), "perplexity": perplexity}

    columns = answer_columns(scored, scores, task.names)
    baselines = {}
    for name, (words, losses) in task.baselines(part).items():
        baselines[name] = measures(words, losses)
        columns[name] = task.names[words]
    metrics = measures(scores.tokens[scored.has_target], scores.losses[scored.has_target])
    return _answers_report(task, metrics, baselines, columns, {})


def _answers_report(
    task: Any,
    metrics: Measures,
    baselines: Mapping[str, Measures],
    columns: dict[str, np.ndarray],
    details: dict[str, Any],
) -> Report:
    return Report(
        **_compared(metrics, baselines, "accuracy", 1.0),
        notes=[*task.data.notes],
        predictions=columns,
        units="shares of the answers",
        details=details,
    )


def _compared(
    metrics: Measures, baselines: Mapping[str, Measures], metric: str, perfect: float
) -> dict[str, Any]:
    """Return the fields of a report that follow from a metric and its perfect value."""

    def error(measures: Measures) -> float:
        value = measures[metric]
        return math.inf if value is None else abs(value - perfect)

    errors = {name: error(measures) for name, measures in baselines.items()}
    best = min(reversed(errors), key=lambda name: errors[name])
    skills = {
        name: 1.0 - error(metrics) / other if other else None for name, other in errors.items()
    }
    return {
        "metrics": metrics,
        "baselines": dict(baselines),
        "best_baseline": best,
        "skill": skills[best],
        "skills": skills,
        "metric": metric,
    }


def answer_columns(scored: ScoredRows, scores: Scores, names: np.ndarray) -> dict[str, np.ndarray]:
    """Return a row per answer, with the tokens around its place as the model reads them.

    Args:
        scored: the rows.
        scores: the predictions for them.
        names: (V,) a label for each token.
    """
    rows, columns = np.nonzero(scored.has_target)
    places, answers = scored.places[rows, columns], scored.targets[rows, columns]
    predictions, losses = scores.tokens[rows, columns], scores.losses[rows, columns]
    texts = []
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        start = max(place - _AROUND, 0)
        words = names[scored.tokens[row, start : place + _AROUND + 1]]
        words[place - start] = f"»{words[place - start]}«"
        texts.append(" ".join(filter(None, words)))
    return {
        "row": rows,
        "place": places,
        "text": np.array(texts, object),
        "answer": names[answers],
        "prediction": names[predictions],
        "right": (predictions == answers).astype(int),
        "p_answer": np.round(np.exp(-losses.astype(np.float64)), 6),
    }


def by_length(
    has_target: np.ndarray, right: np.ndarray, lengths: np.ndarray, longer: np.ndarray
) -> dict[str, list]:
    """Return the rows, the accuracy and the share of rows without a fault of each length.

    Args:
        has_target: (N, K), where there are targets.
        right: (N, K), which targets are predicted.
        lengths: (N,).
        longer: (N,), whether a row is longer than all of train.
    """
    different, numbers, rows = np.unique(lengths, return_inverse=True, return_counts=True)
    answers = np.bincount(numbers, has_target.sum(axis=1))
    accuracy = np.bincount(numbers, (right & has_target).sum(axis=1)) / answers
    whole = np.bincount(numbers, (right | ~has_target).all(axis=1)) / rows
    return {
        "length": different.tolist(),
        "rows": rows.tolist(),
        "accuracy": np.round(accuracy, 5).tolist(),
        "whole_rows": np.round(whole, 5).tolist(),
        "longer": np.isin(different, lengths[longer]).tolist(),
    }


# Comparisons


def _losses(columns: Mapping[str, np.ndarray], metric: str) -> Losses:
    """Return the losses of the windows of a text, or 1 for each wrong answer."""
    if metric.startswith("accuracy"):
        some = np.full(len(columns["right"]), True)
        if "longer" in columns:
            some = (columns["longer"] > 0) == metric.endswith("_longer")
        items = zip(
            *(columns[name][some].tolist() for name in ("row", "place", "answer")), strict=True
        )
        return Losses([*items], 1.0 - columns["right"][some], "answers")
    if "nats" not in columns:
        raise NoItemTest("no test over test items: runs on rows have no windows of a text")
    sizes = columns["bytes" if metric == "bits_per_byte" else "tokens"]
    items = zip(columns["text"].tolist(), sizes.tolist(), strict=True)
    return Losses([*items], columns["nats"] / sizes, "windows")


item_test = paired_tester(KIND, _losses)
words_test = paired_tester(MASKED_WORDS, _losses)
