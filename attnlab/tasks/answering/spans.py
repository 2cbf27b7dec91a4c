"""Find the best answers of a text from the logits of starts and ends of all its windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab.tasks.answering.encoding import WindowRows


class Span(NamedTuple):
    """First and last token of an answer; None if the text has no answer."""

    tokens: tuple[int, int] | None
    probability: float


class PredictedAnswer(NamedTuple):
    """An answer, `text[start:end]`; without an answer "" and None."""

    text: str
    start: int | None
    end: int | None
    probability: float


def best_spans(
    logits: np.ndarray,
    rows: WindowRows,
    lengths: list[int],
    *,
    longest: int,
    count: int = 1,
    threshold: float | None = None,
) -> Iterator[list[Span]]:
    """Return the best spans of each question, the best one first.

    A span's score is its start logit + its end logit, end >= start, at most `longest` tokens
    (Devlin et al. 2019, arXiv 1810.04805, section 4.2); if several windows have the span, the
    largest score counts. Its probability is its share of the sum of exp(score) over all spans.
    Difference: BERT takes the score of the window with the most context around the span. If no span
    has a finite score, as in a text without tokens, the result is "no answer" with probability 0.

    With a `threshold`, "no answer" is a candidate, too. Its score is that of START, the smallest of
    all windows, as in run_squad (section 4.3). It comes first if its score exceeds that of the best
    span by more than the threshold.

    Args:
        logits: (W, 2, 1 + P) of starts and ends.
        rows: the W windows.
        lengths: number of tokens of each question's text.
        longest: most tokens of an answer.
        count: number of spans per question.
        threshold: see above; None: every text has an answer.
    """
    borders = np.searchsorted(rows.owners, np.arange(len(lengths) + 1))
    for number, length in enumerate(lengths):
        windows = slice(borders[number], borders[number + 1])
        scores = span_scores(logits[windows], rows.starts[windows], length, longest).ravel()
        some = min(count, int(np.isfinite(scores).sum()))
        places = np.argpartition(-scores, some - 1)[:some] if some else np.arange(0)
        places = places[np.lexsort((places, -scores[places]))]
        candidates: list[tuple[tuple[int, int] | None, float]] = [
            ((place // longest, place // longest + place % longest), float(scores[place]))
            for place in places.tolist()
        ]
        best = float(scores[places[0]]) if some else 0.0
        total = best + np.log(np.exp(scores - best).sum()) if some else -np.inf
        if threshold is not None:
            start_score = float(logits[windows, :, 0].astype(np.float64).sum(axis=1).min())
            total = np.logaddexp(total, start_score)
            # "no answer" is the first of all candidates, or else never better than the best span.
            rank = sum(score >= start_score for _, score in candidates)
            is_first = not candidates or start_score - candidates[0][1] > threshold
            candidates.insert(0 if is_first else max(rank, 1), (None, start_score))
        spans = [Span(tokens, float(np.exp(score - total))) for tokens, score in candidates]
        yield spans[:count] or [Span(None, 0.0)]


def span_scores(logits: np.ndarray, starts: np.ndarray, length: int, longest: int) -> np.ndarray:
    """Return the scores (length, longest) of spans, by first token and number of further tokens.

    -inf if no window has the span.

    Args:
        logits: (W, 2, 1 + P) of the windows of a text.
        starts: (W,) first token of each window.
        length: number of tokens of the text.
        longest: most tokens of a span.
    """
    scores = np.full((length, longest), -np.inf)
    for (begins, ends), start in zip(logits[:, :, 1:].astype(np.float64), starts, strict=True):
        size = min(len(begins), length - start)
        for more in range(min(longest, size)):
            window = scores[start : start + size - more, more]
            np.maximum(window, begins[: size - more] + ends[more:size], out=window)
    return scores
