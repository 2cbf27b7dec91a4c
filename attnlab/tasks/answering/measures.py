"""Score answers by exact match and F1, as the scripts of SQuAD and MLQA do.

Rajpurkar et al. 2016 (arXiv 1606.05250), section 6.1; without an answer Rajpurkar et al. 2018
(arXiv 1806.03822); in scripts without spaces between words Lewis et al. 2020 (arXiv 1910.07475),
appendix D. Both are from 0 to 100 over questions.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from unicodedata import category

from attnlab.text.words import is_unspaced, split_words

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalized_answer(text: str) -> str:
    """Normalize an answer: lower case, no ASCII punctuation, no articles, single spaces.

    In scripts without spaces (Chinese, Japanese, Thai) all punctuation is removed and each
    character is a word, as in MLQA's script. Difference: MLQA does this only for Chinese.
    """
    bare = text.lower().translate(_PUNCTUATION)
    if is_unspaced(bare):
        return " ".join(split_words("".join(each for each in bare if category(each)[0] != "P")))
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact(predicted: str, answer: str) -> float:
    """Return 1 if both are equal after normalization, else 0."""
    return float(normalized_answer(predicted) == normalized_answer(answer))


def f1(predicted: str, answer: str) -> float:
    """Return 2 P R / (P + R) of the shared words, counted with repetitions.

    If one of them has no words, it is 1 if the other has none either, else 0, as in version 2.0 of
    SQuAD. Version 1.1 gives 0 if both are empty.
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
