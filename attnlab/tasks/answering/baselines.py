"""Answers by rules that need no network: what any attention has to be better than."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.tasks.answering.corpora.corpus import Asked
from attnlab.text.sentences import sentence_spans
from attnlab.text.words import split_words, word_spans

_MOST_WORDS = 20_000
# Words that say nothing of what a question is about.
_PLAIN = frozenset("a an the of in on at to by for and or was were is are did do does be".split())


class _Sentence(NamedTuple):
    """A sentence of a text: its number, and where it stands."""

    start: int
    end: int


def baselines(train: Sequence[Asked], asked: Sequence[Asked]) -> dict[str, list[str]]:
    """What is said to each question, by the name of the baseline.

    - `position`: the words at the places where answers to questions with the same first word that
      asks stood most often in train.
    - `sentence`: all of the sentence whose words are most like the question's.
    - `phrase`: of that sentence the longest run of words that the question doesn't have; of equally
      long ones the first.
    - `no_answer`: nothing, where some questions have no answer.
    """
    sentences = best_sentences(train, asked)
    found = {
        "position": most_frequent_place(train, asked),
        "sentence": [each.text[s.start : s.end] for each, s in zip(asked, sentences, strict=True)],
        "phrase": [
            longest_new_run(each.question, each.text[s.start : s.end])
            for each, s in zip(asked, sentences, strict=True)
        ],
    }
    if not all(each.answers for each in (*train, *asked)):
        found["no_answer"] = [""] * len(asked)
    return found


def most_frequent_place(train: Sequence[Asked], asked: Sequence[Asked]) -> list[str]:
    """The words of each text at the most frequent place of answers, the earliest of equals.

    A place is the number of an answer's first word and how many words there are; the last words,
    where the text is too short.
    """
    places: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    everywhere: Counter[tuple[int, int]] = Counter()
    words = _Words()
    for each in train:
        for answer in each.answers[:1]:
            spans = words.of(each.text)
            first = sum(end <= answer.start for _, end in spans)
            place = first, sum(start < answer.end for start, _ in spans) - first
            places[each.group][place] += 1
            everywhere[place] += 1
    usual = {group: _most_frequent(found) for group, found in places.items()}
    any_ = _most_frequent(everywhere)
    found = []
    for each in asked:
        spans = words.of(each.text)
        first, count = usual.get(each.group, any_)
        first = max(min(first, len(spans) - count), 0)
        own = spans[first : first + count]
        found.append(each.text[own[0][0] : own[-1][1]] if own else "")
    return found


def best_sentences(train: Sequence[Asked], asked: Sequence[Asked]) -> list[_Sentence]:
    """Return the sentence of each text whose tf-idf has the largest cosine with the question's.

    Of equal sentences, the first. Word counts are compared with those of the training texts'
    sentences; words are lower-cased and as `split_words` cuts them.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = dict.fromkeys(each.text for each in train)
    known = [text[start:end] for text in texts for start, end in _sentences(text)]
    vectorizer = TfidfVectorizer(analyzer=_words, max_features=_MOST_WORDS).fit(known)
    spans = {text: _sentences(text) for text in dict.fromkeys(each.text for each in asked)}
    firsts = dict(zip(spans, np.cumsum([0, *map(len, spans.values())]), strict=False))
    all_ = [text[start:end] for text, own in spans.items() for start, end in own]
    memory = vectorizer.transform(all_)
    queries = vectorizer.transform([each.question for each in asked])
    found = []
    for number, each in enumerate(asked):
        own, first = spans[each.text], firsts[each.text]
        similar = (memory[first : first + len(own)] @ queries[number].T).toarray().ravel()
        found.append(_Sentence(*own[int(similar.argmax())]))
    return found


def longest_new_run(question: str, sentence: str) -> str:
    """The longest run of words of a sentence that a question doesn't have, the first of equals.

    Articles and the like, which many questions have, don't end it, but it doesn't end with them;
    punctuation ends it. All of the sentence where there is no such run.
    """
    asked = {word.lower() for word in split_words(question)} - _PLAIN
    runs: list[list[tuple[int, int]]] = [[]]
    for start, end in word_spans(sentence):
        word = sentence[start:end].lower()
        if word in asked or not any(map(str.isalnum, word)):
            runs.append([])
        else:
            runs[-1].append((start, end))
    trimmed = [_without_plain_end(sentence, run) for run in runs]
    longest = max(trimmed, key=len)
    return sentence[longest[0][0] : longest[-1][1]] if longest else sentence


def _without_plain_end(sentence: str, run: list[tuple[int, int]]) -> list[tuple[int, int]]:
    while run and sentence[run[-1][0] : run[-1][1]].lower() in _PLAIN:
        run = run[:-1]
    return run


def _sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of a text, all of it where there is none."""
    return sentence_spans(text) or [(0, len(text))]


class _Words:
    """The words of texts, of which many are asked about in turn."""

    def __init__(self) -> None:
        self._last: tuple[str, list[tuple[int, int]]] = ("", [])

    def of(self, text: str) -> list[tuple[int, int]]:
        """The spans of a text's words."""
        if text != self._last[0]:
            self._last = text, word_spans(text)
        return self._last[1]


def _most_frequent(places: Counter[tuple[int, int]]) -> tuple[int, int]:
    return min(places, key=lambda place: (-places[place], place), default=(0, 1))


def _words(text: str) -> list[str]:
    return split_words(text.lower())
