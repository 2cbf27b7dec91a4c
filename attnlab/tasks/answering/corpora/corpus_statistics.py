"""What a corpus has in it: counts and lengths of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from attnlab.tasks.answering.corpora.corpus import Asked, Corpus
from attnlab.tasks.answering.corpora.division import divided
from attnlab.text.words import split_words


def describe(corpus: Corpus, seed: int) -> dict[str, dict[str, Any]]:
    """The numbers of each part of an opened corpus, as a run with this seed divides it.

    Raises:
        RequestError: the corpus can't be read or divided.
    """
    return {part: _counts(questions) for part, questions in divided(corpus, seed).items()}


def _counts(questions: Sequence[Asked]) -> dict[str, Any]:
    texts = [len(split_words(text)) for text in {each.text for each in questions}]
    answers = [len(split_words(each.answers[0].text)) for each in questions if each.answers]
    groups = Counter(each.group for each in questions)
    return {
        "questions": len(questions),
        "texts": len(texts),
        "unanswerable": len(questions) - len(answers),
        "words": fmean(texts),  # of a text; a word is what `split_words` gives
        "longest": max(texts),
        "question_words": fmean(len(split_words(each.question)) for each in questions),
        "answer_words": fmean(answers) if answers else 0.0,
        "groups": dict(sorted(groups.items(), key=lambda each: (-each[1], each[0]))),
    }
