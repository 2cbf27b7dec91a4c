"""Find the best answers of texts from the logits of starts and ends of all their windows."""

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
    logits: np.ndarray, part: QuestionPart, *, longest: int, nullable: bool = False
) -> list[PredictedAnswer]:
    """Return the best answer to each question.

    A span's score is its start logit + its end logit, end >= start, at most `longest` tokens
    (Devlin et al. 2019, arXiv 1810.04805, section 4.2); if several windows have the span, the
    largest score counts. Its probability is its share of the sum of exp(score) over all spans.
    Difference: BERT takes the score of the window with the most context around the span.

    If `nullable`, "no answer" is a candidate. Its score is that of START, the smallest of all
    windows, as in run_squad (section 4.3). If no span has a finite score, as in a text without
    tokens, the result is "no answer", too.

    `logits` are (W, 2, 1 + P), of starts and ends in all windows of the part.
    """
    borders = np.searchsorted(part.rows.owners, np.arange(len(part) + 1))
    answers = []
    for number, (question, text) in enumerate(zip(part.questions, part.texts, strict=True)):
        windows = slice(borders[number], borders[number + 1])
        starts = part.rows.starts[windows]
        scores = span_scores(logits[windows], starts, len(text.tokens), longest).ravel()
        best, none = float(scores.max(initial=-np.inf)), -np.inf
        total = best + np.log(np.exp(scores - best).sum()) if np.isfinite(best) else -np.inf
        if nullable:
            none = float(logits[windows, :, 0].astype(np.float64).sum(axis=1).min())
            total = np.logaddexp(total, none)
        if np.isfinite(best) and best >= none:
            first, more = divmod(int(scores.argmax()), longest)
            start, end = text.characters(first, first + more)
            probability = float(np.exp(best - total))
            answers.append(PredictedAnswer(question.text[start:end], start, end, probability))
        else:
            probability = float(np.exp(none - total)) if np.isfinite(none) else 0.0
            answers.append(PredictedAnswer("", None, None, probability))
    return answers


def span_scores(logits: np.ndarray, starts: np.ndarray, length: int, longest: int) -> np.ndarray:
    """Return the scores (length, longest) of spans, by first token and number of further tokens.

    -inf if no window has the span. `length` counts the tokens of the text, whose W windows start at
    the tokens `starts` and have `logits` (W, 2, 1 + P).
    """
    scores = np.full((length, longest), -np.inf)
    for (begins, ends), start in zip(logits[:, :, 1:].astype(np.float64), starts, strict=True):
        size = min(len(begins), length - start)
        for more in range(min(longest, size)):
            window = scores[start : start + size - more, more]
            np.maximum(window, begins[: size - more] + ends[more:size], out=window)
    return scores
