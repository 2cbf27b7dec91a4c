"""How right answers are: exact match and F1, as the scripts of SQuAD and MLQA compute them.

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
    """What counts of an answer: lower case, no ASCII punctuation, no article, single spaces.

    In Chinese, Japanese, Thai and the like no punctuation counts, and each character is a word, as
    in MLQA's script. Difference: MLQA does so for Chinese alone.
    """
    bare = text.lower().translate(_PUNCTUATION)
    if is_unspaced(bare):
        return " ".join(split_words("".join(each for each in bare if category(each)[0] != "P")))
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact(said: str, answer: str) -> float:
    """1 where both are the same once they are normalized, else 0."""
    return float(normalized_answer(said) == normalized_answer(answer))


def f1(said: str, answer: str) -> float:
    """2 P R / (P + R) of the words that both have, repeated ones as often as both have them.

    Where one of them has no word, 1 if the other has none either, else 0: the rule of version 2.0.
    That of version 1.1 gives 0 for both without one.
    """
    given, right = (normalized_answer(text).split() for text in (said, answer))
    if not given or not right:
        return float(given == right)
    shared = sum((Counter(given) & Counter(right)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def best(measure: Callable[[str, str], float], said: str, answers: Sequence[str]) -> float:
    """The largest value over all right answers; a question without one is answered by nothing.

    Answers of which nothing is left once they are normalized don't count, as in version 2.0.
    """
    known = [answer for answer in answers if normalized_answer(answer)] or [""]
    return max(measure(said, answer) for answer in known)
