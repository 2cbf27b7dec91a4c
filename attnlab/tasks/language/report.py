"""Build the reports of a language model and of masked words: measures, baselines, predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab.tasks.base import Report, skills
from attnlab.tasks.item_tests import Losses, paired_tester
from attnlab.tasks.kinds import NoItemTest
from attnlab.tasks.language.baselines import MOST_TOKENS, KneserNey, word_baselines
from attnlab.tasks.language.data import PADDING, ScoredRows, Stream
from attnlab.tasks.language.generated import HELD_OUT
from attnlab.tasks.language.kind import KIND, MASKED_WORDS
from attnlab.text.cleaning import shorten

if TYPE_CHECKING:
    from attnlab.tasks.language.models.model import Scores

Measures = dict[str, float | None]
_ORDER = 7
_KNESER_NEY = f"kneser_ney_{_ORDER}"
_CHARACTERS = 60  # of a window in predictions.csv
_AROUND = 8  # tokens on each side of an answer in predictions.csv
_MOST_ROWS = 100_000  # rows of train on which baselines of words are counted


def build_report(task: Any, part: str, scores: Scores) -> Report:
    """Compare the predictions of a model for a part with those of the baselines."""
    if isinstance(task.data.parts[part], Stream):
        return _text_report(task, part, scores)
    return (_words_report if task.kind is MASKED_WORDS else _rows_report)(task, part, scores)


def _report(
    metrics: Measures,
    baselines: Mapping[str, Measures],
    predictions: dict[str, np.ndarray],
    notes: list[str],
    metric: str = "accuracy",
    perfect: float = 1.0,
    units: str = "shares of the answers",
) -> Report:
    """Return a report with the skills that follow from a metric and its perfect value."""

    def error(measures: Measures) -> float:
        value = measures[metric]
        return math.inf if value is None else abs(value - perfect)

    best, by_baseline = skills(
        error(metrics), {n: error(scores) for n, scores in baselines.items()}
    )
    return Report(
        metrics=metrics,
        baselines=dict(baselines),
        best_baseline=best,
        skill=by_baseline[best],
        skills=by_baseline,
        metric=metric,
        notes=notes,
        predictions=predictions,
        units=units,
    )


def _exp(nats: float) -> float | None:
    return math.exp(nats) if nats < 700 else None


# Texts


def _text_report(task: Any, part: str, scores: Scores) -> Report:
    """Report on a text by bits per byte, which don't depend on the tokens.

    If the part has unknown tokens, the metric is the perplexity per token: an unknown token stands
    for any text, so the bits of its letters are missing. All baselines predict the same tokens.
    """
    train, stream, size = task.data.parts["train"], task.data.parts[part], task.vocabulary.size
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
    metrics = _text_measures(float(scores.losses.sum(dtype=np.float64)), stream)
    baselines = {
        name: _text_measures(float(losses[1:].sum(dtype=np.float64)), stream)
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
    scored = task.scored_rows(part)
    starts = (task.vocabulary.decode(row) for row in scored.tokens[:, : _CHARACTERS // 2].tolist())
    texts = [" ".join(shorten(text, _CHARACTERS).split()) for text in starts]
    columns = {
        "window": np.arange(len(texts)),
        "text": np.array(texts, object),
        "tokens": scored.has_target.sum(axis=1),
        "bytes": np.round(stream.bytes_of(scored), 3),
        "nats": np.round(scores.losses.sum(axis=1, dtype=np.float64), 6),
    }
    return _report(metrics, baselines, columns, notes, metric, perfect, units)


def _text_measures(nats: float, part: Stream) -> Measures:
    """Return the measures of a text for the sum of its losses."""
    loss = nats / (len(part) - 1)
    measures: Measures = {"loss": loss, "perplexity": _exp(loss)}
    if not part.unknown:
        size = part.size - float(part.sizes[part.tokens(slice(0, 1))][0])
        measures["bits_per_byte"] = nats / (math.log(2) * size)
    return measures


# Rows


def _rows_report(task: Any, part: str, scores: Scores) -> Report:
    """Score the answers of rows; rows that are longer than all of train have their own metrics.

    Baselines: `usual`, always the most frequent answer in train, and `guess`, by the task's rule.
    """
    scored, train = task.scored_rows(part), task.data.parts["train"]
    has_target, right = scored.has_target, scores.tokens == scored.targets
    longer = (np.arange(len(right)) >= HELD_OUT) & (part == "test")
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
            baselines["guess"][f"accuracy{suffix}"] = task.corpus.chance
    if task.corpus.chance is None:
        del baselines["guess"]
    short = has_target & ~longer[:, None]
    metrics["loss"] = float(scores.losses[short].mean(dtype=np.float64))
    names = np.array(task.vocabulary.labels(range(task.vocabulary.size)), object)
    columns = answer_columns(scored, scores, names)
    if longer.any():
        columns["longer"] = longer[columns["row"]].astype(int)
    return _report(metrics, baselines, columns, [*task.data.notes])


def _words_report(task: Any, part: str, scores: Scores) -> Report:
    """Score the predictions for masked words of a part, and the baselines."""
    scored, train = task.scored_rows(part), task.data.parts["train"]
    targets = scored.targets[scored.has_target]

    def measures(words: np.ndarray, losses: np.ndarray) -> Measures:
        perplexity = _exp(float(losses.mean(dtype=np.float64)))
        return {"accuracy": float(np.mean(words == targets)), "perplexity": perplexity}

    count = min(len(train), _MOST_ROWS)
    counted = train.pad(np.arange(count) * len(train) // count, task.width)
    columns, baselines = answer_columns(scored, scores, task.names), {}
    for name, (words, losses) in word_baselines(counted, scored, task.tokenizer.size).items():
        baselines[name] = measures(words, losses)
        columns[name] = task.names[words]
    metrics = measures(scores.tokens[scored.has_target], scores.losses[scored.has_target])
    return _report(metrics, baselines, columns, [*task.data.notes])


def answer_columns(scored: ScoredRows, scores: Scores, names: np.ndarray) -> dict[str, np.ndarray]:
    """Return a row per answer, with the tokens around its place; `names` (V,) labels tokens."""
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
