"""Baselines of question answering without neural networks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlab.tasks.answering.corpora.corpus import Asked
from attnlab.text.sentences import sentence_spans
from attnlab.text.words import split_words, word_spans

_MOST_WORDS = 20_000
# Words without a topic: they don't help to find the sentence.
_PLAIN = frozenset("a an the of in on at to by for and or was were is are did do does be".split())


class _Sentence(NamedTuple):
    """The (start, end) of a sentence in its text."""

    start: int
    end: int


def baselines(train: Sequence[Asked], asked: Sequence[Asked]) -> dict[str, list[str]]:
    """Return the answers of each baseline by its name.

    - `position`: the words at the most frequent place of answers in train, for questions with the
      same question word.
    - `sentence`: the sentence whose words are most similar to the question's.
    - `phrase`: the longest run of words in that sentence that are not in the question; the first
      of equally long ones.
    - `no_answer`: always "no answer"; only if some questions have none.
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
    """Return the words of each text at the most frequent place of answers.

    A place is the number of an answer's first word, and its number of words; the earliest of
    equally frequent places counts. A text that is too short gives its last words.
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

    The first of equally similar sentences counts. Word frequencies are those of the sentences in
    the training texts. Words are lower-cased words of `split_words`.
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
    """Return the longest run of words of a sentence that are not in the question.

    The first of equally long runs counts. A punctuation mark ends a run. Articles and similar words
    don't end a run, but are removed from its end. Without such a run it is the whole sentence.
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
    """Return (start, end) of each sentence; the whole text if no sentence is found."""
    return sentence_spans(text) or [(0, len(text))]


class _Words:
    """Finds words; the latest text is cached, since consecutive questions share their text."""

    def __init__(self) -> None:
        self._last: tuple[str, list[tuple[int, int]]] = ("", [])

    def of(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each word of a text."""
        if text != self._last[0]:
            self._last = text, word_spans(text)
        return self._last[1]


def _most_frequent(places: Counter[tuple[int, int]]) -> tuple[int, int]:
    return min(places, key=lambda place: (-places[place], place), default=(0, 1))


def _words(text: str) -> list[str]:
    return split_words(text.lower())
