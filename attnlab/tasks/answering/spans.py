"""Find the best answers of a text from the logits of starts and ends of all its windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnlab.tasks.answering.data import QuestionPart


class PredictedAnswer(NamedTuple):
    """An answer, `text[start:end]`; without an answer "" and None."""

    text: str
    start: int | None
    end: int | None
    probability: float


def best_answers(
    logits: np.ndarray,
    part: QuestionPart,
    *,
    longest: int,
    count: int = 1,
    threshold: float | None = None,
) -> list[list[PredictedAnswer]]:
    """Return different answers to each question, the best one first.

    A span's score is its start logit + its end logit, end >= start, at most `longest` tokens
    (Devlin et al. 2019, arXiv 1810.04805, section 4.2); if several windows have the span, the
    largest score counts. Its probability is its share of the sum of exp(score) over all spans.
    Difference: BERT takes the score of the window with the most context around the span. Of spans
    with the same characters, only the best is an answer. If no span has a finite score, as in a
    text without tokens, the result is "no answer" with probability 0.

    With a `threshold`, "no answer" is a candidate, too. Its score is that of START, the smallest of
    all windows, as in run_squad (section 4.3). It comes first if its score exceeds that of the best
    span by more than the threshold.

    Args:
        logits: (W, 2, 1 + P) of starts and ends in all windows of the part.
        part: the questions.
        longest: most tokens of an answer.
        count: most answers per question.
        threshold: see above; None: every text has an answer.
    """
    borders = np.searchsorted(part.rows.owners, np.arange(len(part) + 1))
    answers = []
    for number, (question, text) in enumerate(zip(part.questions, part.texts, strict=True)):
        windows = slice(borders[number], borders[number + 1])
        starts, length = part.rows.starts[windows], len(text.tokens)
        scores = span_scores(logits[windows], starts, length, longest).ravel()
        best = float(scores.max(initial=-np.inf))
        total = best + np.log(np.exp(scores - best).sum()) if np.isfinite(best) else -np.inf
        none = -np.inf
        if threshold is not None:
            none = float(logits[windows, :, 0].astype(np.float64).sum(axis=1).min())
            total = np.logaddexp(total, none)
        order = np.array([scores.argmax()]) if np.isfinite(best) else np.arange(0)
        if count > 1 and len(order):
            order = np.argsort(-scores, kind="stable")[: np.isfinite(scores).sum()]
        ranked: dict[tuple[int, int], float] = {}  # (start, end) -> score
        for place in order.tolist():
            first, more = divmod(place, longest)
            ranked.setdefault(text.characters(first, first + more), float(scores[place]))
            if len(ranked) == count:
                break
        spans = [
            PredictedAnswer(question.text[start:end], start, end, float(np.exp(score - total)))
            for (start, end), score in ranked.items()
        ]
        if threshold is not None or not spans:
            # Unless it is the first, "no answer" is never better than the best span.
            rank = max(1, sum(score >= none for score in ranked.values()))
            is_first = not spans or none - best > (threshold or 0.0)
            probability = float(np.exp(none - total)) if np.isfinite(none) else 0.0
            spans.insert(0 if is_first else rank, PredictedAnswer("", None, None, probability))
        answers.append(spans[:count])
    return answers


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
